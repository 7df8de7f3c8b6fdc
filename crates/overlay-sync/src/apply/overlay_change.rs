//! Changes of the overlay that a person asks for: a sync, the change, and a sync that spreads it.

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::ui::Ui;

use super::disk_storage::Disk;
use super::outcome::SyncOutcome;
use super::user_edits;
use crate::facts::overlay::Overlay;
use crate::storage::ReadFile;

/// A change of the overlay's text of a file that a person asks for.
pub struct OverlayChange {
    pub path: RelPath,
    pub before: ReadFile,
    pub after: Vec<u8>,
}

/// Syncs, so that the overlay has what workspaces have, makes a change, and syncs that. Prints what the syncs did. A dry
/// run only finds the change, and has no outcome.
pub fn change(
    ui: &Ui,
    overlay: &Overlay,
    find: impl FnOnce(&Disk<'_>) -> Result<OverlayChange>,
) -> Result<(OverlayChange, Option<SyncOutcome>)> {
    overlay.require()?;
    if ui.is_dry() {
        return Ok((find(&Disk::open(overlay, None)?)?, None));
    }
    let mut disk = Disk::open(overlay, Some(overlay.lock()?))?;
    let mut workspaces = overlay.workspaces(&[])?;
    disk.sync_workspaces(&mut workspaces)?.print(ui);
    let change = find(&disk)?;
    user_edits::edit(&disk, &change.path, &change.before, &change.after)?;
    user_edits::accept_in_all(&disk, &mut workspaces, &change.path, Digest::of(&change.after))?;
    let outcome = disk.sync_workspaces(&mut workspaces)?;
    user_edits::forget_accepted(&disk, &change.path)?;
    outcome.print(ui);
    Ok((change, Some(outcome)))
}
