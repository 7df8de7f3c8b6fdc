//! Single entries of a text: a key path (`permissions.allow."Bash(rm:*)"`, whose last part may be an element of an
//! array), a variable, or a line. They are found, taken out, and put back as another text has them, and the rest of the
//! text stays untouched.

use std::collections::BTreeSet;
use std::fmt;

use super::file_type::FileType;
use super::texts::{MergeInput, Rule};
use super::tree::{Members, Tree, join};
use super::{env, json, lines, list};
use crate::execution_risk;

/// The path of an entry: the parts of a key path, or a single part that is a variable or a whole line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryPath(Vec<String>);

impl EntryPath {
    /// Reads a path for a file of this type. Parts are separated by dots and may be quoted as in JSON. A record is an
    /// object in JSON.
    pub fn parse(kind: FileType, text: &str) -> Option<EntryPath> {
        if !kind.is_tree() {
            return (!text.is_empty()).then(|| EntryPath(vec![text.to_owned()]));
        }
        let (mut parts, mut rest) = (Vec::new(), text);
        loop {
            let (part, after) = if rest.starts_with('"') {
                let mut read = serde_json::Deserializer::from_str(rest).into_iter::<String>();
                let part = read.next()?.ok()?;
                (part, &rest[read.byte_offset()..])
            } else if let Some(read) = read_record(rest) {
                read
            } else {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            };
            parts.push(part);
            match after.strip_prefix('.') {
                Some(next) => rest = next,
                None if after.is_empty() => return (!parts.iter().any(String::is_empty)).then_some(EntryPath(parts)),
                None => return None,
            }
        }
    }

    /// The first part: the key at the top.
    pub fn first(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// How often it occurs in a text.
    pub fn count(&self, kind: FileType, bytes: &[u8]) -> usize {
        match kind.tree(bytes) {
            Some(tree) => count(&tree, &self.0),
            None if kind.is_tree() => 0,
            None => lines::split(bytes).filter(|line| self.is_line(kind, line)).count(),
        }
    }

    /// The same entry of a text, if its last part is not an element of an array but the name that conflicts give one.
    pub fn of_name(&self, kind: FileType, bytes: &[u8]) -> Option<EntryPath> {
        let tree = kind.tree(bytes)?;
        let (name, above) = self.0.split_last()?;
        let items = at(&tree, above)?.items()?;
        let [names] = list::identities([items.as_slice()])?;
        let item = items.get(names.iter().position(|known| known == name)?)?;
        Some(EntryPath([above, &[item.name()]].concat()))
    }

    /// Its value in a text, for telling one content from another.
    pub fn value_in(&self, kind: FileType, bytes: &[u8]) -> String {
        if !kind.is_tree() {
            let lines = lines::split(bytes).filter(|line| self.is_line(kind, line));
            return lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        }
        kind.tree(bytes).and_then(|tree| at(&tree, &self.0).map(Tree::spelling)).unwrap_or_default()
    }

    /// Whether this line is the entry, or sets the variable that it names.
    fn is_line(&self, kind: FileType, line: &[u8]) -> bool {
        let word = self.0[0].as_bytes();
        line == word || kind == FileType::Env && env::variable(line) == Some(word)
    }
}

impl fmt::Display for EntryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().fold(String::new(), |path, part| join(&path, part)))
    }
}

/// The record that a path begins with, by its name as an element of an array, and what follows it.
fn read_record(text: &str) -> Option<(String, &str)> {
    let mut read = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    read.next().filter(|_| text.starts_with('{'))?.ok()?;
    let (record, after) = text.split_at(read.byte_offset());
    Some((json::parse(record.as_bytes())?.name(), after))
}

fn count(tree: &Tree, parts: &[String]) -> usize {
    let [part, below @ ..] = parts else { return 1 };
    match tree {
        Tree::Object(_) => tree.key(part).map_or(0, |tree| count(tree, below)),
        Tree::Array(items) if below.is_empty() => items.iter().filter(|item| item.name() == *part).count(),
        Tree::Array(_) | Tree::Leaf(_) => 0,
    }
}

/// A text without these entries; `None` when it has no structure in which to find them. A text that has none of them
/// stays the same byte for byte.
pub fn strip(kind: FileType, bytes: &[u8], entries: &[EntryPath]) -> Option<Vec<u8>> {
    if kind == FileType::Env && !env::is_plain(bytes) {
        // The rest of a value over several lines would stay behind.
        return None;
    }
    if !kind.is_tree() {
        let whole = bytes.split_inclusive(|b| *b == b'\n').zip(lines::split(bytes));
        let kept = whole.filter(|(_, line)| !entries.iter().any(|entry| entry.is_line(kind, line)));
        return Some(kept.flat_map(|(whole, _)| whole).copied().collect());
    }
    let tree = kind.tree(bytes)?;
    let (own, rest) = parted(&tree, entries);
    if own.is_some() { kind.rewrite(bytes, &tree, &rest?, bytes) } else { Some(bytes.to_vec()) }
}

/// The same for one entry that occurs once. Of variables others may repeat or span lines; `None` if this one does, or is
/// in the value of another.
pub fn without(kind: FileType, bytes: &[u8], entry: &EntryPath) -> Option<Vec<u8>> {
    if kind != FileType::Env {
        return strip(kind, bytes, std::slice::from_ref(entry));
    }
    let at = lines::split(bytes).position(|line| entry.is_line(kind, line))?;
    let is_whole = |count| !env::is_unfinished(lines::split(bytes).take(count));
    let others = bytes.split_inclusive(|b| *b == b'\n').enumerate().filter(|(number, _)| *number != at);
    (is_whole(at) && is_whole(at + 1)).then(|| others.flat_map(|(_, line)| line).copied().collect())
}

/// What of a tree is one of these entries, and the rest.
fn parted(tree: &Tree, entries: &[EntryPath]) -> (Option<Tree>, Option<Tree>) {
    tree.parted(&|path| entries.iter().any(|entry| entry.0 == path))
}

/// Puts these entries into `bytes`, which has none of them, as `donor` has them.
pub fn donate(kind: FileType, bytes: &[u8], entries: &[EntryPath], donor: &[u8]) -> Option<Vec<u8>> {
    let stripped = strip(kind, donor, entries)?;
    if stripped == bytes {
        return Some(donor.to_vec());
    }
    // The donor's additional lines are merged into the text, where that gives the right result.
    let input = MergeInput {
        base: Some(&stripped),
        overlay: bytes,
        workspace: donor,
        kind: FileType::Text,
        rule: Rule::Overlay,
    };
    let by_lines = Some(lines::merge(&input)).filter(|merged| merged.conflicts.is_empty()).map(|merged| merged.bytes);
    if !kind.is_tree() {
        return by_lines.or_else(|| Some(donate_lines(kind, bytes, entries, donor)));
    }
    let (tree, given) = (kind.tree(bytes)?, kind.tree(donor)?);
    let wanted = parted(&given, entries).0.map_or_else(|| tree.clone(), |own| own.with(&tree, list::equal));
    if let Some(merged) = by_lines.filter(|merged| kind.tree(merged).as_ref() == Some(&wanted)) {
        return Some(merged);
    }
    if wanted == given {
        return Some(donor.to_vec());
    }
    // The donor's layout is kept; what it lacks comes from the other text.
    kind.rewrite(donor, &given, &wanted, bytes).or_else(|| kind.rewrite(bytes, &tree, &wanted, donor))
}

/// Puts each line of the donor's that is an entry behind the line that it follows there, as far as the text has that
/// line.
fn donate_lines(kind: FileType, bytes: &[u8], entries: &[EntryPath], donor: &[u8]) -> Vec<u8> {
    let known_by = |line| if kind == FileType::Env { env::variable(line).unwrap_or(line) } else { line };
    let mut merged: Vec<&[u8]> = lines::split(bytes).collect();
    let mut at = 0;
    for line in lines::split(donor) {
        if entries.iter().any(|entry| entry.is_line(kind, line)) {
            merged.insert(at, line);
            at += 1;
        } else if let Some(same) = merged.iter().position(|other| known_by(other) == known_by(line)) {
            at = same + 1;
        }
    }
    lines::joined(merged, [bytes, donor])
}

/// The entries under which `bytes` has something that none of the known texts has. A member, or an element of a member
/// that is an array, counts as a whole, because a part of a command is another command.
pub fn additions(kind: FileType, bytes: &[u8], entries: &[EntryPath], known: &[&[u8]]) -> Vec<EntryPath> {
    let Some(tree) = kind.tree(bytes) else { return Vec::new() };
    let known: Vec<Tree> = known.iter().filter_map(|bytes| kind.tree(bytes)).collect();
    let adds = |entry: &&EntryPath| {
        at(&tree, &entry.0).is_some_and(|tree| {
            let known: Vec<&Tree> = known.iter().filter_map(|tree| at(tree, &entry.0)).collect();
            is_more(&below_block(&entry.0).join("."), tree, &known, 2)
        })
    };
    entries.iter().filter(adds).cloned().collect()
}

fn at<'t>(tree: &'t Tree, parts: &[String]) -> Option<&'t Tree> {
    parts.iter().try_fold(tree, |tree, part| tree.key(part))
}

fn is_more(path: &str, tree: &Tree, known: &[&Tree], depth: usize) -> bool {
    let is_known = execution_risk::is_harmless(path) || path.starts_with("env.");
    match tree {
        _ if known.contains(&tree) => false,
        // An empty list is more where a text has to be.
        _ if is_known && !execution_risk::has_known_type(path, &tree.spelling()) => true,
        Tree::Object(members) if depth == 2 => members.iter().any(|(key, tree)| {
            let known: Vec<&Tree> = known.iter().filter_map(|other| other.key(key)).collect();
            let path = format!("{path}.{key}");
            is_more(path.trim_start_matches('.'), tree, &known, depth - 1)
        }),
        Tree::Array(items) if depth > 0 => {
            !items.is_empty()
                && !known.iter().any(|other| {
                    // In another order the words of a command are another command.
                    let Tree::Array(other) = other else { return false };
                    let mut rest = other.iter();
                    items.iter().all(|item| rest.any(|known| known == item))
                })
        }
        _ => true,
    }
}

/// The outermost entries in these texts of settings under which nothing is harmless; `has_dotted` says whether their keys
/// are those of an editor. `None` if one of the texts has no entries, or they have too many to be settings.
pub fn unsafe_entries(kind: FileType, texts: &[&[u8]], has_dotted: bool) -> Option<Vec<EntryPath>> {
    let texts = texts.iter().filter(|bytes| !bytes.trim_ascii().is_empty());
    let trees = texts.map(|bytes| kind.tree(bytes)).collect::<Option<Vec<Tree>>>()?;
    let mut found = Vec::new();
    let is_object = trees.iter().all(|tree| matches!(tree, Tree::Object(_)));
    find_unsafe(has_dotted, &mut Vec::new(), &trees.iter().collect::<Vec<_>>(), &mut found);
    (is_object && found.len() < 1000).then_some(found)
}

/// A path without the block that editors have for each language, as `[rust]`.
fn below_block(path: &[String]) -> &[String] {
    let is_block = path.first().is_some_and(|key| key.starts_with('[') && key.ends_with(']'));
    &path[usize::from(is_block)..]
}

/// Finds them among what the trees have at a path; `true` if something there is harmless.
fn find_unsafe(has_dotted: bool, path: &mut Vec<String>, trees: &[&Tree], found: &mut Vec<EntryPath>) -> bool {
    let parts = below_block(path);
    let (spelled, before) = (parts.join("."), found.len());
    let is_dotted = parts.len() == 1 && parts[0].contains('.');
    // For an agent program it is no path, but one key, which it does not know.
    if !has_dotted && (is_dotted || parts.len() < path.len()) {
        found.push(EntryPath(path.clone()));
        return false;
    }
    let is_harmless =
        |tree: &&Tree| matches!(tree, Tree::Leaf(leaf) if execution_risk::is_harmless_value(&spelled, is_dotted, leaf));
    let has_type = |tree: &&Tree| execution_risk::has_known_type(&spelled, &tree.spelling());
    if execution_risk::is_harmless(&spelled) && trees.iter().all(has_type) || trees.iter().all(is_harmless) {
        return true;
    }
    if execution_risk::has_harmless(&spelled) && trees.iter().all(|tree| matches!(tree, Tree::Object(_))) {
        let keys: BTreeSet<&String> = trees.iter().filter_map(|tree| tree.members()).flat_map(Members::keys).collect();
        let mut is_mixed = path.is_empty();
        for key in keys {
            let below: Vec<&Tree> = trees.iter().filter_map(|tree| tree.key(key)).collect();
            path.push(key.clone());
            is_mixed |= find_unsafe(has_dotted, path, &below, found);
            path.pop();
        }
        if is_mixed {
            return true;
        }
        found.truncate(before);
    }
    found.push(EntryPath(path.clone()));
    false
}

/// The paths of everything in a tree at `path`: elements of arrays and leaves.
pub fn addresses(tree: &Tree, path: &[String]) -> Vec<EntryPath> {
    let below = |part: String| [path, &[part]].concat();
    match tree {
        Tree::Object(members) => members.iter().flat_map(|(key, tree)| addresses(tree, &below(key.clone()))).collect(),
        Tree::Array(items) => items.iter().map(|item| EntryPath(below(item.name()))).collect(),
        Tree::Leaf(_) => vec![EntryPath(path.to_vec())],
    }
}
