//! Workspaces whose worktree is gone.

use shopfloor_core::error::Result;

use crate::conflict::{ConflictRecord, ConflictState};
use crate::facts::overlay::Overlay;
use crate::facts::versions::{Origin, Waiting, waiting};
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
    for version in waiting(std::slice::from_ref(gone)) {
        let Origin::Waiting(_, what, record) = version.origin else { continue };
        let places = match what {
            Waiting::Held(held) => vec![format!("{}; its worktree was removed", held.why)],
            Waiting::Stale(part) => part.places,
        };
        overlay.store.record(&ConflictRecord { state: ConflictState::Recorded, places, ..record })?;
    }
    gone.forget(&overlay.store.workspaces())
}
