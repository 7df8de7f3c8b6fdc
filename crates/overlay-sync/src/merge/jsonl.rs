//! Lines of JSON: a set of records, each of which occurs once.

use std::collections::HashSet;

use super::lines;
use super::texts::{MergeInput, MergedText};

/// Records that both sides have keep the overlay's order, and the workspace's additions follow. A record that one side
/// removed is gone. There are no conflicts.
pub fn merge(input: &MergeInput<'_>) -> MergedText {
    let records = |bytes| -> Vec<&[u8]> { lines::split(bytes).filter(|line| !line.trim_ascii().is_empty()).collect() };
    let (overlay, workspace) = (records(input.overlay), records(input.workspace));
    let base = input.base.map(records).unwrap_or_default();
    let [before, theirs, ours] = [&base, &overlay, &workspace].map(|all| all.iter().copied().collect::<HashSet<_>>());
    let stays = overlay.iter().filter(|r| ours.contains(*r) || !before.contains(*r));
    let added = workspace.iter().filter(|r| !before.contains(*r) && !theirs.contains(*r));
    let mut seen = HashSet::new();
    let merged = stays.chain(added).copied().filter(|record| seen.insert(*record));
    MergedText { bytes: lines::joined(merged, [input.overlay, input.workspace]), conflicts: Vec::new() }
}

/// Whether every line is a JSON value.
pub fn parses(bytes: &[u8]) -> bool {
    lines::split(bytes)
        .filter(|line| !line.trim_ascii().is_empty())
        .all(|line| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok())
}
