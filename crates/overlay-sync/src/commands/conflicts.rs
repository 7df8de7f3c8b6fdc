//! `conflicts`: what was decided, and what is held.

use serde_json::json;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::text::{printable, word};
use shopfloor_core::ui::Ui;

use crate::facts::overlay::Overlay;
use crate::facts::versions;

pub fn run(ui: &Ui, overlay: &Overlay) -> Result<Exit> {
    if !overlay.is_unmade() {
        overlay.require()?;
    }
    for version in versions::conflicts(overlay)? {
        let Some(conflict) = version.conflict() else { continue };
        if ui.is_json() {
            ui.json_of_both(conflict, &json!({ "worktree": conflict.workspace }));
        } else {
            let (state, id, time) = (word(&conflict.state), &conflict.id, &conflict.time);
            let (path, workspace) = (printable(&conflict.path.to_string()), printable(&conflict.workspace));
            ui.line(format!("{state} {id} {time} {path} ({workspace}): {}", printable(&conflict.places.join(", "))));
        }
    }
    Ok(Exit::Done)
}
