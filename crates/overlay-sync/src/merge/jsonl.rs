//! Lines of JSON: a set of records, each of which occurs once.

use std::collections::HashSet;

use super::lines::{self, ending};
use super::texts::{MergeInput, MergedText};

/// Records that both sides have keep the overlay's order, and the workspace's additions follow. A record that one side
/// removed is gone. There are no conflicts.
pub fn merge(input: &MergeInput<'_>) -> MergedText {
    let records = |bytes| -> Vec<&[u8]> { lines::split(bytes).filter(|line| !line.trim_ascii().is_empty()).collect() };
    let (overlay, workspace) = (records(input.overlay), records(input.workspace));
    let set = |records: &[&'_ [u8]]| -> HashSet<Vec<u8>> { records.iter().map(|record| record.to_vec()).collect() };
    let base = set(&input.base.map(records).unwrap_or_default());
    let (theirs, ours) = (set(&overlay), set(&workspace));
    let stays = overlay.iter().filter(|r| ours.contains(**r) || !base.contains(**r));
    let added = workspace.iter().filter(|r| !base.contains(**r) && !theirs.contains(**r));
    let mut seen = HashSet::new();
    let merged: Vec<&[u8]> = stays.chain(added).copied().filter(|record| seen.insert(*record)).collect();
    let end = ending(input.overlay).or(ending(input.workspace)).unwrap_or(b"\n");
    let bytes = merged.iter().flat_map(|record| [record, end].concat()).collect();
    MergedText { bytes, conflicts: Vec::new() }
}

/// Whether every line is a JSON value.
pub fn parses(bytes: &[u8]) -> bool {
    lines::split(bytes)
        .filter(|line| !line.trim_ascii().is_empty())
        .all(|line| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok())
}
