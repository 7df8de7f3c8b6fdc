//! What set-up commands make of the files that they use, which would else hold the next set-up back.

use std::collections::BTreeMap;

use shopfloor_core::error::Result;
use shopfloor_core::fs::Found;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::applied::Record;
use crate::facts;
use crate::layer::MergedLayers;
use crate::worktree::OpenWorktree;

/// Records the untracked files that these commands use, as they are once the commands have ended. Before that each was
/// approved, or was not there; and what approved commands make of approved files is as approved as they are. An agent may
/// work by the time that set-up runs again: then only what set-up had `made` before is recorded anew, and nothing of a step
/// in the background.
pub fn record(worktree: &OpenWorktree, merged: &MergedLayers, before: &Record) -> Result<()> {
    // What an agent wrote in a sandbox is used nowhere else. A command may have removed the worktree.
    if !worktree.path.is_dir() || worktree.is_contained()? {
        return Ok(());
    }
    let is_first = before.setup.is_none() && !before.is_begun && before.steps.is_empty();
    let merged = MergedLayers { files: BTreeMap::new(), ..merged.clone() };
    let used = facts::read_used(worktree, &merged, &BTreeMap::new(), &before.made)?;
    let used = used
        .into_iter()
        .filter(|(path, file)| !file.is_approved && !file.is_tracked && (is_first || before.made.contains_key(path)));
    // The record is JSON.
    let used = used.filter(|(path, file)| file.content.is_some() && path.as_path().to_str().is_some());
    let made: BTreeMap<RelPath, Digest> = used.map(|(path, file)| (path, file.digest)).collect();
    if made.is_empty() {
        return Ok(());
    }
    Record::change(worktree, |record| {
        record.made.retain(|path, _| !matches!(worktree.root.look(path), Ok(Found::Missing)));
        record.made.extend(made);
    })
}
