//! `KEY=value` lines: variables are told apart by their names, other lines by what they say.

use std::collections::{BTreeMap, BTreeSet};

use super::lines::{self, Disputed, ending};
use super::{Conflict, Input, Merged, Rule};

/// What a line is known by: its variable, or its text and how often that stood before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Id {
    Variable(Vec<u8>),
    Other(Vec<u8>, usize),
}

fn items(bytes: &[u8]) -> Vec<(Id, &[u8])> {
    let mut seen: BTreeMap<&[u8], usize> = BTreeMap::new();
    let mut items: Vec<Option<(Id, &[u8])>> = Vec::new();
    let mut at: BTreeMap<Id, usize> = BTreeMap::new();
    for line in lines::of(bytes) {
        let id = match variable(line) {
            Some(name) => Id::Variable(name.to_vec()),
            None => {
                let count = seen.entry(line).or_default();
                *count += 1;
                Id::Other(line.to_vec(), *count)
            }
        };
        // Of several lines for one variable the last counts, as it does for the reader.
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

/// Whether lines can be told apart by their variables: each stands once, and no quote spans lines.
pub fn is_plain(bytes: &[u8]) -> bool {
    let mut seen = BTreeSet::new();
    let once = lines::of(bytes).filter_map(variable).all(|name| seen.insert(name));
    let closed = |line: &[u8]| {
        let quotes = |quote| line.iter().filter(|b| **b == quote).count() % 2 == 0;
        variable(line).is_none() || quotes(b'"') && quotes(b'\'')
    };
    once && lines::of(bytes).all(closed)
}

pub fn merge(input: &Input<'_>) -> Merged {
    if ![input.base.unwrap_or_default(), input.overlay, input.workspace].into_iter().all(is_plain) {
        // A value spans lines, or a name is set twice: then lines must do.
        return lines::merge_with(input, Disputed::BothAdded);
    }
    let base = items(input.base.unwrap_or_default());
    let (overlay, workspace) = (items(input.overlay), items(input.workspace));
    let by_id = |side: &[(Id, &[u8])]| -> BTreeMap<Id, Vec<u8>> {
        side.iter().map(|(id, line)| (id.clone(), line.to_vec())).collect()
    };
    let (base, theirs, ours) = (by_id(&base), by_id(&overlay), by_id(&workspace));
    let mut conflicts = Vec::new();
    let mut merged: Vec<Vec<u8>> = Vec::new();
    let added = workspace.iter().filter(|(id, _)| !theirs.contains_key(id));
    for (id, _) in overlay.iter().chain(added) {
        let find = |side: &BTreeMap<Id, Vec<u8>>| side.get(id).cloned();
        let (b, o, x) = (find(&base), find(&theirs), find(&ours));
        let line = if o == x || b == x {
            o
        } else if b == o {
            x
        } else {
            let name = if let Id::Variable(name) = id { name } else { b"line".as_slice() };
            conflicts.push(Conflict { place: String::from_utf8_lossy(name).into_owned() });
            match (o, x, input.rule) {
                // Delete against modify: the modification stays.
                (Some(line), None, _) | (None, Some(line), _) => Some(line),
                (_, x, Rule::Workspace) => x,
                (o, _, Rule::Overlay) => o,
            }
        };
        merged.extend(line);
    }
    let end = ending(input.overlay).or(ending(input.workspace)).unwrap_or(b"\n");
    Merged { bytes: merged.iter().flat_map(|line| [line.as_slice(), end].concat()).collect(), conflicts }
}
