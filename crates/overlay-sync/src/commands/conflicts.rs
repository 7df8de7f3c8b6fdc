//! `conflicts`: what was decided, and what is held.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::conflict::ConflictRecord;
use crate::facts::overlay::Overlay;
use crate::flags::OverlayFlags;
use crate::manifest::Workspace;
use crate::store::RecordAnswer;

/// What was decided, oldest first, then what is held.
pub fn all(overlay: &Overlay) -> Result<Vec<ConflictRecord>> {
    if !overlay.is_unmade() {
        overlay.require()?;
    }
    let mut all = overlay.store.conflicts()?;
    for workspace in Workspace::load_all(&overlay.store.workspaces())? {
        let held = workspace.held.iter();
        all.extend(held.map(|(path, held)| ConflictRecord::from_held(&workspace, path, held)));
        let stale = workspace.stale.iter();
        all.extend(stale.map(|(path, part)| ConflictRecord::from_stale(&workspace, path, part)));
    }
    Ok(all)
}

pub fn run(ui: &Ui, env: &Env, flags: &OverlayFlags) -> Result<Exit> {
    for conflict in all(&Overlay::find(ui, env, flags)?)? {
        if ui.is_json() {
            ui.json(&RecordAnswer { record: &conflict, worktree: &conflict.workspace });
        } else {
            let (state, id, time) = (conflict.state.word(), &conflict.id, &conflict.time);
            let (path, workspace) = (printable(&conflict.path.to_string()), printable(&conflict.workspace));
            ui.line(format!("{state} {id} {time} {path} ({workspace}): {}", printable(&conflict.places.join(", "))));
        }
    }
    Ok(Exit::Done)
}
