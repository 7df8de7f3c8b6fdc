//! `env snapshot`: remembers `.sweatshop-env` as it is.

use serde_json::json;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use super::diff::require_usable;
use crate::env_file;
use crate::layout;
use crate::snapshot;
use crate::worktree::OpenWorktree;

/// Takes a snapshot. One that was never reviewed stays, so that a crash does not hide changes.
pub fn run(ui: &Ui, worktree: &OpenWorktree) -> Result<Exit> {
    let dry_run = ui.is_dry();
    let _lock = if dry_run { None } else { Some(worktree.lock()?) };
    let is_kept = snapshot::load(worktree)?.is_some();
    if is_kept {
        ui.note("the earlier snapshot stays until `sweatfile-apply env review` has finished with it");
    } else if !dry_run {
        snapshot::save(worktree, Some(&require_usable(worktree)?.variables()))?;
    }
    let took = if dry_run { "would take" } else { "took" };
    if ui.is_json() {
        let path = layout::snapshot(&worktree.repo).to_string_lossy().into_owned();
        ui.json(&json!({ "path": path, "created": !is_kept && !dry_run }));
    } else if !is_kept {
        ui.done(format!("{took} a snapshot of {}", env_file::FILE));
    }
    Ok(Exit::Done)
}
