//! Changes of the overlay that a person asks for: a sync, the change, and a sync that spreads it.

use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::ui::Ui;

use super::disk_storage::Disk;
use super::user_edits;
use crate::facts::overlay::Overlay;
use crate::storage::{Ground, ReadFile};
use crate::workspace::Workspace;

/// A change of the overlay's text of a file that a person asks for.
pub struct OverlayChange {
    pub path: RelPath,
    pub before: ReadFile,
    pub after: Vec<u8>,
}

/// Syncs, so that the overlay has what workspaces have, makes a change, and syncs that. Prints what the syncs did. Returns
/// the change, and the exit code of the command.
pub fn change(
    ui: &Ui,
    overlay: &Overlay,
    find: impl FnOnce(&dyn Ground) -> Result<OverlayChange>,
) -> Result<(OverlayChange, Exit)> {
    let mut disk = Disk::open(overlay, Some(overlay.lock()?))?;
    let mut workspaces = overlay.workspaces(&[])?;
    let before = disk.sync_workspaces(&mut workspaces)?;
    before.print(ui);
    let change = find(&disk)?;
    make(&disk, &mut workspaces, &change)?;
    let mut outcome = disk.sync_workspaces(&mut workspaces)?;
    user_edits::forget_accepted(&disk, &change.path)?;
    let exit = outcome.exit_for(&change.path);
    outcome.leave_out(&before);
    outcome.print(ui);
    Ok((change, exit))
}

/// Makes a change in the overlay. No gate holds it in a workspace.
pub fn make(ground: &impl Ground, workspaces: &mut [Workspace], change: &OverlayChange) -> Result<()> {
    user_edits::edit(ground, &change.path, &change.before, &change.after)?;
    user_edits::accept_in_all(ground, workspaces, &change.path, Digest::of(&change.after))
}
