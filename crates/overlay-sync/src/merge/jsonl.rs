//! Lines of JSON: a set of records, in which each stands once.

use super::lines::{self, ending};
use super::{Input, Merged};

/// Records that both have stay in the overlay's order, the workspace's additions follow; a record that
/// one side took away is gone. There is nothing to conflict about.
pub fn merge(input: &Input<'_>) -> Merged {
    let records = |bytes| -> Vec<&[u8]> { lines::of(bytes).filter(|line| !line.trim_ascii().is_empty()).collect() };
    let base = input.base.map(records).unwrap_or_default();
    let (overlay, workspace) = (records(input.overlay), records(input.workspace));
    let mut merged: Vec<&[u8]> = Vec::new();
    let stays = overlay.iter().filter(|r| workspace.contains(r) || !base.contains(r));
    let added = workspace.iter().filter(|r| !base.contains(r) && !overlay.contains(r));
    for record in stays.chain(added) {
        if !merged.contains(record) {
            merged.push(record);
        }
    }
    let end = ending(input.overlay).or(ending(input.workspace)).unwrap_or(b"\n");
    let bytes = merged.iter().flat_map(|record| [record, end].concat()).collect();
    Merged { bytes, conflicts: Vec::new() }
}

/// Whether every line is a JSON value of its own.
pub fn parses(bytes: &[u8]) -> bool {
    lines::of(bytes)
        .filter(|line| !line.trim_ascii().is_empty())
        .all(|line| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok())
}
