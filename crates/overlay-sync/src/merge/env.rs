//! `KEY=value` lines. Variables are identified by their names, other lines by their text.

use std::collections::{BTreeMap, BTreeSet};

use super::lines::{self, Disputed, ending};
use super::texts::{MergeConflict, MergeInput, MergedText, Rule};

/// What identifies a line: its variable, or its text and how often that text occurred before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LineId {
    Variable(Vec<u8>),
    Other(Vec<u8>, usize),
}

fn items(bytes: &[u8]) -> Vec<(LineId, &[u8])> {
    let mut seen: BTreeMap<&[u8], usize> = BTreeMap::new();
    let mut items: Vec<Option<(LineId, &[u8])>> = Vec::new();
    let mut at: BTreeMap<LineId, usize> = BTreeMap::new();
    for line in lines::split(bytes) {
        let id = match variable(line) {
            Some(name) => LineId::Variable(name.to_vec()),
            None => {
                let count = seen.entry(line).or_default();
                *count += 1;
                LineId::Other(line.to_vec(), *count)
            }
        };
        // Of several lines for one variable the last one counts, as for programs that read the file.
        if let Some(earlier) = at.insert(id.clone(), items.len()) {
            items[earlier] = None;
        }
        items.push(Some((id, line)));
    }
    items.into_iter().flatten().collect()
}

pub fn variable(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    let line = line.strip_prefix(b"export ").unwrap_or(line).trim_ascii_start();
    let name = &line[..line.iter().position(|b| *b == b'=')?];
    let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    (!name.is_empty() && name.iter().all(word)).then_some(name)
}

/// A text with each variable spelled alike: without `export`, and without quotes around the value.
pub fn canonical(bytes: &[u8]) -> Vec<u8> {
    let line = |line: &[u8]| match variable(line) {
        Some(name) => {
            let at = line.iter().position(|b| *b == b'=').map_or(line.len(), |at| at + 1);
            let value = line[at..].trim_ascii();
            let quoted = [b'"', b'\''].iter().find_map(|quote| value.strip_prefix(&[*quote])?.strip_suffix(&[*quote]));
            [name, b"=", quoted.unwrap_or(value)].concat()
        }
        None => line.to_vec(),
    };
    lines::split(bytes).map(line).collect::<Vec<_>>().join(&b'\n')
}

/// Whether variables identify their lines: each is set once, and no quoted value spans lines.
pub fn is_plain(bytes: &[u8]) -> bool {
    let mut seen = BTreeSet::new();
    let once = lines::split(bytes).filter_map(variable).all(|name| seen.insert(name));
    once && lines::split(bytes).all(|line| variable(line).is_none() || is_closed(line))
}

/// Whether a value that begins with a quote ends in this line. Any other quote is an ordinary character.
fn is_closed(line: &[u8]) -> bool {
    let value = line.iter().position(|b| *b == b'=').map_or(line, |at| &line[at + 1..]).trim_ascii_start();
    let Some((quote @ (b'"' | b'\''), rest)) = value.split_first() else { return true };
    let mut is_escaped = false;
    rest.iter().any(|b| {
        let closes = b == quote && !is_escaped;
        is_escaped = *b == b'\\' && *quote == b'"' && !is_escaped;
        closes
    })
}

/// How often each variable is set.
fn most_set(bytes: &[u8]) -> BTreeMap<&[u8], usize> {
    let mut counts = BTreeMap::new();
    lines::split(bytes).filter_map(variable).for_each(|name| *counts.entry(name).or_default() += 1);
    counts
}

pub fn merge(input: &MergeInput<'_>) -> MergedText {
    if ![input.base.unwrap_or_default(), input.overlay, input.workspace].into_iter().all(is_plain) {
        // A value spans lines, or a name is set twice, so the file is merged by lines.
        if input.base.is_none() {
            return lines::merge_text(input);
        }
        let merged = lines::merge_with(input, Disputed::BothAdded);
        let (theirs, ours) = (most_set(input.overlay), most_set(input.workspace));
        let allowed = |name: &[u8]| theirs.get(name).max(ours.get(name)).copied().unwrap_or(0);
        let is_once = most_set(&merged.bytes).iter().all(|(name, count)| *count <= allowed(name));
        return if is_once { merged } else { lines::merge(input) };
    }
    let base = items(input.base.unwrap_or_default());
    let (overlay, workspace) = (items(input.overlay), items(input.workspace));
    let by_id = |side: &[(LineId, &[u8])]| -> BTreeMap<LineId, Vec<u8>> {
        side.iter().map(|(id, line)| (id.clone(), line.to_vec())).collect()
    };
    let (base, theirs, ours) = (by_id(&base), by_id(&overlay), by_id(&workspace));
    let mut conflicts = Vec::new();
    let mut merged: Vec<Vec<u8>> = Vec::new();
    let added = workspace.iter().filter(|(id, _)| !theirs.contains_key(id));
    for (id, _) in overlay.iter().chain(added) {
        let find = |side: &BTreeMap<LineId, Vec<u8>>| side.get(id).cloned();
        let (b, o, x) = (find(&base), find(&theirs), find(&ours));
        let line = if o == x || b == x {
            o
        } else if b == o {
            x
        } else {
            let name = if let LineId::Variable(name) = id { name } else { b"line".as_slice() };
            let place = String::from_utf8_lossy(name).into_owned();
            // In a conflict between a deletion and a change the change is kept.
            let kept = match (&o, &x) {
                _ if input.rule == Rule::Person => Rule::Person,
                (None, Some(_)) => Rule::Workspace,
                (Some(_), None) => Rule::Overlay,
                _ => input.rule,
            };
            conflicts.push(MergeConflict { place, kept });
            kept.pick(o, x)
        };
        merged.extend(line);
    }
    // The line merge keeps lines in their places; it is taken when it has the same lines.
    let by_lines = lines::merge(input);
    let mut got: Vec<&[u8]> = lines::split(&by_lines.bytes).collect();
    let mut wanted: Vec<&[u8]> = merged.iter().map(Vec::as_slice).collect();
    got.sort_unstable();
    wanted.sort_unstable();
    if by_lines.conflicts.is_empty() && got == wanted {
        return MergedText { conflicts, ..by_lines };
    }
    let end = ending(input.overlay).or(ending(input.workspace)).unwrap_or(b"\n");
    MergedText { bytes: merged.iter().flat_map(|line| [line.as_slice(), end].concat()).collect(), conflicts }
}
