//! Changes of the overlay that a person asks for: a sync, the change, and a sync that spreads it.

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::ui::Ui;

use super::disk::Disk;
use super::edits;
use super::outcome::SyncOutcome;
use crate::facts::overlay::Overlay;
use crate::ground::ReadFile;

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
    edits::edit(&disk, &change.path, &change.before, &change.after)?;
    edits::accept_in_all(&disk, &mut workspaces, &change.path, Digest::of(&change.after))?;
    let outcome = disk.sync_workspaces(&mut workspaces)?;
    edits::forget_accepted(&disk, &change.path)?;
    outcome.print(ui);
    Ok((change, Some(outcome)))
}
