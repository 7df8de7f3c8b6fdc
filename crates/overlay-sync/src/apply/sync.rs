//! A whole sync of an overlay: passes until quiet, and the housekeeping around them.

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::time;

use super::converge::converge;
use super::disk::Disk;
use super::forget::forget_gone;
use super::outcome::SyncOutcome;
use crate::facts::overlay::Overlay;
use crate::ground::Ground;
use crate::manifest::Workspace;

/// Forgets workspaces that are gone, brings the others in step, and collects old contents. The disk holds the
/// overlay's lock before and after.
pub fn sync(env: &Env, overlay: &Overlay, disk: &mut Disk<'_>, workspaces: &mut Vec<Workspace>) -> Result<SyncOutcome> {
    forget_gone(overlay, workspaces)?;
    if workspaces.iter().any(|workspace| workspace.files.len() >= 2) && disk.overlay()?.is_empty() {
        return Err(overlay.gone("was emptied"));
    }
    disk.expect(workspaces);
    let outcome = converge(disk, &overlay.settings, &time::render(env.now), workspaces)?;
    disk.finish(if outcome.is_silent() { workspaces } else { &[] });
    overlay.store.collect(env, || Workspace::load_all(&overlay.store.workspaces()))?;
    Ok(outcome)
}
