//! Lines of JSON: records, each of which occurs once.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::file_type::FileType;
use super::texts::{MergeConflict, MergeInput, MergedText};
use super::tree::{Tree, join};
use super::{json, lines, list, three_way};

/// Records are matched by what identifies them, or else by all that they hold; what both sides changed is merged by key.
/// Records that both sides have keep the overlay's order, and the workspace's additions follow. A record that one side
/// removed is gone.
pub fn merge(input: &MergeInput<'_>) -> MergedText {
    let texts = [input.base.unwrap_or_default(), input.overlay, input.workspace];
    let records = texts.map(records);
    let trees = records.each_ref().map(|records| trees(records));
    let lists = trees.each_ref().map(Vec::as_slice);
    let keys = list::identities(lists).unwrap_or_else(|| list::single_identities(lists));
    let [base, overlay, workspace] = [0, 1, 2].map(|at| {
        let named = keys[at].iter().zip(records[at].iter().copied().zip(&trees[at]));
        named.map(|(key, record)| (key.as_str(), record)).collect::<IndexMap<&str, (&[u8], &Tree)>>()
    });
    let (mut merged, mut conflicts) = (Vec::new(), Vec::new());
    let added = workspace.keys().filter(|key| !overlay.contains_key(*key));
    for key in overlay.keys().chain(added) {
        let [before, theirs, ours] = [&base, &overlay, &workspace].map(|side| side.get(key).copied());
        let [b, o, x] = [before, theirs, ours].map(|record| record.map(|(_, tree)| tree));
        match (theirs, ours) {
            (theirs, _) if o == x || b == x => merged.extend(theirs.map(|(line, _)| line.to_vec())),
            (_, ours) if b == o => merged.extend(ours.map(|(line, _)| line.to_vec())),
            (Some((overlay, _)), Some((workspace, _))) => {
                let base = before.map(|(line, _)| line);
                let one = three_way::by_rule(&MergeInput { base, overlay, workspace, kind: FileType::Json, ..*input });
                merged.push(one.bytes);
                let places = one.conflicts.into_iter().map(|c| MergeConflict { place: join(key, &c.place), ..c });
                conflicts.extend(places);
            }
            (theirs, ours) => {
                let kept = input.rule.of(theirs, ours);
                conflicts.push(MergeConflict { place: join("", key), kept });
                merged.extend(kept.pick(theirs, ours).map(|(line, _)| line.to_vec()));
            }
        }
    }
    MergedText { bytes: lines::joined(merged.iter().map(Vec::as_slice), [input.overlay, input.workspace]), conflicts }
}

/// The list of a text's records.
pub fn tree(bytes: &[u8]) -> Tree {
    Tree::Array(trees(&records(bytes)))
}

/// The records of each of two texts that the other one has not.
pub fn differing(texts: [&[u8]; 2]) -> [Tree; 2] {
    let records = texts.map(records);
    let known = records.each_ref().map(|records| records.iter().copied().collect::<HashSet<_>>());
    [0, 1].map(|at| {
        let own = records[at].iter().copied().filter(|record| !known[1 - at].contains(record));
        Tree::Array(trees(&own.collect::<Vec<_>>()))
    })
}

/// Edits a text until its records are `to`. Those that it lacks come from `donor`.
pub fn rewrite(text: &[u8], to: &[Tree], donor: &[u8]) -> Option<Vec<u8>> {
    let (ours, theirs) = (records(text), records(donor));
    let (from, given) = (trees(&ours), trees(&theirs));
    let found = list::same(&from, to).into_iter().zip(list::same(&given, to));
    let written = to.iter().zip(found).map(|(tree, found)| match found {
        (Some(at), _) if from[at] == *tree => Some(ours[at].to_vec()),
        (_, Some(at)) if given[at] == *tree => Some(theirs[at].to_vec()),
        (Some(at), _) => FileType::Json.rewrite(ours[at], &from[at], tree, donor),
        (None, _) => None,
    });
    let written = written.collect::<Option<Vec<_>>>()?;
    Some(lines::joined(written.iter().map(Vec::as_slice), [text, donor]))
}

/// The records of a text, each with the empty lines before it.
fn records(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut all, mut begin, mut end) = (Vec::new(), 0, 0);
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        end += line.len();
        if !line.trim_ascii().is_empty() {
            all.push(lines::without_ending(&bytes[begin..end]));
            begin = end;
        }
    }
    all
}

/// The trees of records; of one that a merge could not write again, its text.
fn trees(records: &[&[u8]]) -> Vec<Tree> {
    let lines = records.iter().map(|record| record.trim_ascii());
    let text = |line: &[u8]| Tree::Leaf(String::from_utf8_lossy(line).into_owned());
    lines.map(|line| json::parse(line).unwrap_or_else(|| text(line))).collect()
}

/// Whether every line is a JSON value.
pub fn parses(bytes: &[u8]) -> bool {
    lines::split(bytes)
        .filter(|line| !line.trim_ascii().is_empty())
        .all(|line| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok())
}
