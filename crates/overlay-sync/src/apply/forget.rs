//! Workspaces whose worktree is gone.

use shopfloor_core::error::Result;

use crate::conflict::{ConflictRecord, ConflictState};
use crate::facts::overlay::Overlay;
use crate::manifest::Workspace;

/// Forgets the workspaces whose worktree git has removed. The caller holds the overlay's lock.
pub fn forget_gone(overlay: &Overlay, workspaces: &mut Vec<Workspace>) -> Result<()> {
    let (gone, there) = std::mem::take(workspaces).into_iter().partition(Workspace::is_gone);
    *workspaces = there;
    let gone: Vec<Workspace> = gone;
    gone.iter().try_for_each(|gone| forget(overlay, gone))
}

/// Forgets a workspace; what was held of it stays among the conflicts.
pub fn forget(overlay: &Overlay, gone: &Workspace) -> Result<()> {
    for (path, held) in &gone.held {
        let places = vec![format!("{}; its worktree was removed", held.why)];
        let state = ConflictState::Recorded;
        overlay.store.record(&ConflictRecord { state, places, ..ConflictRecord::from_held(gone, path, held) })?;
    }
    for (path, part) in &gone.stale {
        let state = ConflictState::Recorded;
        overlay.store.record(&ConflictRecord { state, ..ConflictRecord::from_stale(gone, path, part) })?;
    }
    gone.forget(&overlay.store.workspaces())
}
