//! A whole sync of an overlay: passes until all is in step, and the housekeeping around them.

use shopfloor_core::error::Result;
use shopfloor_core::time;

use super::converge::converge;
use super::disk_storage::Disk;
use super::outcome::SyncOutcome;
use crate::conflict::{ConflictRecord, ConflictState};
use crate::facts::overlay::Overlay;
use crate::facts::versions::{Origin, waiting};
use crate::storage::Ground;
use crate::workspace::Workspace;

impl Disk<'_> {
    /// Forgets workspaces that are gone, brings the others in step, and collects old contents. The overlay's lock is
    /// held before and after.
    pub fn sync_workspaces(&mut self, workspaces: &mut Vec<Workspace>) -> Result<SyncOutcome> {
        let overlay = self.overlay;
        workspaces.extract_if(.., |workspace| workspace.is_gone()).try_for_each(|gone| forget(overlay, &gone))?;
        if workspaces.iter().any(|workspace| workspace.files.len() >= 2) && self.overlay()?.is_empty() {
            return Err(overlay.gone("was emptied"));
        }
        self.git.workspaces = workspaces.iter().filter(|workspace| workspace.far.is_none()).cloned().collect();
        let outcome = converge(self, &overlay.settings, &time::render(overlay.env.now), workspaces)?;
        self.save_fingerprint(if outcome.is_silent() { workspaces } else { &[] });
        overlay.store.collect(&overlay.env, || Workspace::load_all(&overlay.store.workspaces()))?;
        Ok(outcome)
    }
}

/// Syncs all workspaces of an overlay under its lock.
pub fn sync_all(overlay: &Overlay) -> Result<SyncOutcome> {
    let mut disk = Disk::open(overlay, Some(overlay.lock()?))?;
    disk.sync_workspaces(&mut overlay.workspaces(&[])?)
}

/// Forgets a workspace; what was held of it stays among the conflicts.
pub fn forget(overlay: &Overlay, gone: &Workspace) -> Result<()> {
    for version in waiting(std::slice::from_ref(gone)) {
        let Origin::Waiting(_, held, record) = version.origin else { continue };
        let end = if gone.far.is_some() { "its machine was detached" } else { "its worktree was removed" };
        let places = if held.is_stale() { held.places } else { vec![format!("{}; {end}", held.why)] };
        overlay.store.record(&ConflictRecord { state: ConflictState::Recorded, places, ..record })?;
    }
    gone.forget(&overlay.store.workspaces())
}
