//! YAML. The merged tree decides, and one side's text is edited entry by entry in a tree that keeps comments and
//! layout. What an edit needs is copied from the other side's text.

use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_yaml::Value;
use yaml_edit::{Document, Mapping, MappingEntry, Sequence, TextPosition, YamlFile, YamlNode};

use super::comments::Comments;
use super::file_type::FileType;
use super::list;
use super::tree::{Members, Tree};

/// Parsing takes quadratic time in depth, so larger texts are not parsed.
const LIMIT: usize = 100 * 1024;

/// The tree of a document, or of several documents by their numbers; `None` when it has keys that are neither
/// strings nor numbers. What has a tag counts as a whole.
pub fn parse(bytes: &[u8]) -> Option<Tree> {
    if bytes.len() > LIMIT {
        return None;
    }
    let documents =
        serde_yaml::Deserializer::from_slice(without_mark(bytes)).map(|one| tree(&Value::deserialize(one).ok()?));
    let mut documents = documents.collect::<Option<Vec<Tree>>>()?;
    if documents.len() < 2 {
        return documents.pop();
    }
    Some(Tree::Object(documents.into_iter().enumerate().map(|(at, tree)| (document(at), tree)).collect()))
}

/// Whether a reader of YAML takes it. That of a template does not.
pub fn is_read(bytes: &[u8]) -> bool {
    let mut documents = serde_yaml::Deserializer::from_slice(without_mark(bytes));
    bytes.len() <= LIMIT && documents.all(|document| IgnoredAny::deserialize(document).is_ok())
}

/// To the parser a byte order mark is a blank, which would indent the first key.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// The key of a document in a stream.
fn document(at: usize) -> String {
    format!("document {}", at + 1)
}

fn tree(value: &Value) -> Option<Tree> {
    Some(match value {
        Value::Mapping(mapping) => {
            let members = mapping.iter().map(|(key, value)| Some((name(key)?, tree(value)?)));
            let members = members.collect::<Option<Members>>()?;
            // `80` and `"80"` would be one.
            return (members.len() == mapping.len()).then_some(Tree::Object(members));
        }
        Value::Sequence(items) => Tree::Array(items.iter().map(tree).collect::<Option<_>>()?),
        Value::Tagged(tagged) => Tree::Leaf(format!("{} {}", tagged.tag, tree(&tagged.value)?.spelling())),
        // Leaves are spelled as JSON, which cannot express these.
        Value::Number(number) if number.as_f64().is_some_and(|n| !n.is_finite()) => return None,
        leaf => Tree::Leaf(serde_json::to_string(leaf).ok()?),
    })
}

fn name(key: &Value) -> Option<String> {
    match key {
        Value::Number(number) => Some(number.to_string()),
        key => key.as_str().map(str::to_owned),
    }
}

/// Edits a text whose tree is `from` until its tree is `to`. What the text lacks is copied from `donor`, with the
/// comments at it. `None` when that is not possible, or would change a line that is no part of the edit.
pub fn rewrite(text: &[u8], from: &Tree, to: &Tree, donor: &[u8]) -> Option<Vec<u8>> {
    let (text, donor) = (std::str::from_utf8(text).ok()?, std::str::from_utf8(donor).ok()?);
    let (ours, theirs) = (text.parse::<YamlFile>().ok()?, donor.parse::<YamlFile>().ok()?);
    let given = parse(donor.as_bytes())?;
    let (documents, their_documents) = (roots(&ours)?, roots(&theirs)?);
    let [from, to] = [from, to].map(|tree| parts(tree, documents.len()));
    let given: Vec<Given<'_>> = their_documents.iter().zip(parts(&given, their_documents.len())).collect();
    let mut editor = YamlEditor { text, donor, touched: HashSet::new(), copied: String::new() };
    // From the end, so that no edit moves what is before it.
    for (at, document) in documents.iter().enumerate().rev() {
        editor.value(document, from.get(at)?, to.get(at)?, given.get(at).copied())?;
    }
    editor.finish(ours.to_string()).map(String::into_bytes)
}

fn roots(file: &YamlFile) -> Option<Vec<YamlNode>> {
    let root = |document: Document| match document.as_mapping() {
        Some(mapping) => Some(YamlNode::Mapping(mapping)),
        None => document.as_sequence().map(YamlNode::Sequence),
    };
    file.documents().map(root).collect()
}

/// The trees of so many documents.
fn parts(tree: &Tree, documents: usize) -> Vec<&Tree> {
    match documents {
        1 => vec![tree],
        _ => (0..documents).filter_map(|at| tree.key(&document(at))).collect(),
    }
}

/// A node of the donor with its tree.
type Given<'n> = (&'n YamlNode, &'n Tree);

struct YamlEditor<'t> {
    text: &'t str,
    donor: &'t str,
    /// The numbers of the lines that are edited.
    touched: HashSet<usize>,
    /// The donor's lines that are copied, with the comments above them.
    copied: String,
}

impl YamlEditor<'_> {
    /// The edited text with the comments of what was copied; `None` when a line has changed that was not to be edited.
    fn finish(self, edited: String) -> Option<String> {
        let mut lines = self.text.lines().enumerate().filter(|(at, line)| !self.touched.contains(at) && !is_void(line));
        let mut left = edited.lines();
        if !lines.all(|(_, line)| left.any(|other| other == line)) {
            return None;
        }
        let wanted = Comments::wanted(FileType::Yaml, b"", self.text.as_bytes(), self.copied.as_bytes());
        let carried = wanted.carried(edited.as_bytes(), self.donor.as_bytes());
        if parse(&carried) == parse(edited.as_bytes()) { String::from_utf8(carried).ok() } else { Some(edited) }
    }

    fn value(&mut self, ours: &YamlNode, from: &Tree, to: &Tree, theirs: Option<Given<'_>>) -> Option<()> {
        match (ours, from, to) {
            _ if from == to => Some(()),
            (YamlNode::Mapping(ours), Tree::Object(from), Tree::Object(to)) => self.mapping(ours, from, to, theirs),
            (YamlNode::Sequence(ours), Tree::Array(from), Tree::Array(to)) => self.sequence(ours, from, to, theirs),
            _ => None,
        }
    }

    fn mapping(&mut self, ours: &Mapping, from: &Members, to: &Members, theirs: Option<Given<'_>>) -> Option<()> {
        let own = named(ours)?;
        let given = theirs.and_then(|(node, _)| named(node.as_mapping()?)).unwrap_or_default();
        if ours.is_flow_style() {
            self.touch(ours.byte_range());
        }
        let their_tree = |key: &String| theirs.and_then(|(_, tree)| tree.key(key));
        for (key, tree) in to.iter().filter(|(key, _)| !from.contains_key(*key)) {
            let entry = given.get(key)?;
            if !ours.is_flow_style() {
                self.copy(entry.byte_range());
            }
            self.take(ours, &entry.key_node()?, (&entry.value_node()?, their_tree(key)?), tree)?;
        }
        for (key, entry) in own.iter().rev() {
            let (range, old) = (entry.byte_range(), from.get(key)?);
            let Some(new) = to.get(key) else {
                self.touch(range);
                ours.remove(entry.key_node()?);
                continue;
            };
            if new.items().is_some_and(Vec::is_empty) || new.members().is_some_and(Members::is_empty) {
                // What is empty stands in the line of its key.
                self.touch(range);
            }
            let theirs = given.get(key).and_then(MappingEntry::value_node).zip(their_tree(key));
            let theirs = theirs.as_ref().map(|(node, tree)| (node, *tree));
            if entry.value_node().and_then(|value| self.value(&value, old, new, theirs)).is_none() {
                let theirs = theirs?;
                self.touch(range);
                // What is behind a scalar stays.
                if !theirs.0.is_scalar() {
                    self.copy(theirs.0.byte_range());
                }
                self.take(ours, &entry.key_node()?, theirs, new)?;
            }
        }
        Some(())
    }

    /// Copies a value of the donor's, and removes from it what is not wanted.
    fn take(&mut self, ours: &Mapping, key: &YamlNode, theirs: Given<'_>, wanted: &Tree) -> Option<()> {
        let (node, tree) = theirs;
        ours.set(key, node);
        let touched = self.touched.clone();
        self.value(&ours.get(key)?, tree, wanted, None)?;
        // Those lines are not lines of the text.
        self.touched = touched;
        Some(())
    }

    fn sequence(&mut self, ours: &Sequence, from: &[Tree], to: &[Tree], theirs: Option<Given<'_>>) -> Option<()> {
        let own: Vec<YamlNode> = ours.values().collect();
        let theirs: Vec<(YamlNode, &Tree)> = match theirs {
            Some((YamlNode::Sequence(theirs), Tree::Array(items))) => theirs.values().zip(items).collect(),
            _ => Vec::new(),
        };
        if own.len() != from.len() {
            return None;
        }
        if ours.is_flow_style() {
            self.touch(ours.byte_range());
        }
        let given = theirs.iter().map(|(_, tree)| (*tree).clone()).collect::<Vec<_>>();
        let given = list::same(&given, to);
        let mut end = from.len();
        for ((item, stays), given) in to.iter().zip(list::kept(from, to)).zip(given).rev() {
            match stays {
                Some(at) => {
                    self.remove(ours, &own, at + 1..end);
                    let theirs = given.map(|at| (&theirs[at].0, theirs[at].1));
                    self.value(&own[at], &from[at], item, theirs)?;
                    end = at;
                }
                None => {
                    let given = given.map(|at| &theirs[at]).filter(|(_, tree)| *tree == item);
                    if let Some((node, _)) = given.filter(|_| !ours.is_flow_style()) {
                        self.copy(node.byte_range());
                    }
                    // What the other side does not have has moved.
                    let moved = || own.iter().zip(from).find(|(_, tree)| *tree == item);
                    ours.insert(end, given.map(|(node, _)| node).or_else(|| moved().map(|(node, _)| node))?);
                }
            }
        }
        self.remove(ours, &own, 0..end);
        Some(())
    }

    fn remove(&mut self, ours: &Sequence, own: &[YamlNode], range: Range<usize>) {
        for at in range.rev() {
            self.touch(own[at].byte_range());
            ours.remove(at);
        }
    }

    /// Notes the lines of a range of the text.
    fn touch(&mut self, range: TextPosition) {
        self.touched.extend(lines_of(self.text, range));
    }

    /// Notes the lines of a range of the donor, and the comments above them.
    fn copy(&mut self, range: TextPosition) {
        let lines: Vec<&str> = self.donor.lines().collect();
        let range = lines_of(self.donor, range);
        let before = lines.iter().take(*range.start()).rev();
        let above = before.take_while(|line| line.trim().starts_with('#')).count();
        let copied = lines.iter().take(range.end() + 1).skip(range.start() - above);
        copied.for_each(|line| self.copied.extend([line, "\n"]));
    }
}

/// The numbers of the lines of a range, without blank ones at its end.
fn lines_of(text: &str, range: TextPosition) -> RangeInclusive<usize> {
    let count = |bytes: &[u8]| bytes.iter().filter(|b| **b == b'\n').count();
    let (start, end) = (range.start as usize, text.len().min(range.end as usize));
    let first = count(&text.as_bytes()[..start.min(end)]);
    first..=count(text.as_bytes()[..end].trim_ascii_end()).max(first)
}

/// The entries of a mapping by their keys.
fn named(mapping: &Mapping) -> Option<IndexMap<String, MappingEntry>> {
    mapping.entries().map(|entry| Some((entry.key_node()?.as_scalar()?.as_string(), entry))).collect()
}

/// Whether there is nothing but blanks or a comment.
fn is_void(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}
