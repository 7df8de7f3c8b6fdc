//! What `accept` and `reject` have in common: a person's word on a held text.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::report::{exit_for, print};
use crate::apply::verdict::{HeldVerdict, carry_out};
use crate::facts::kept::find_waiting;
use crate::facts::overlay::Overlay;
use crate::flags::OverlayFlags;
use crate::manifest::Workspace;

#[derive(Serialize)]
struct VerdictAnswer<'a> {
    id: String,
    path: &'a RelPath,
    accepted: bool,
}

pub fn run(ui: &Ui, env: &Env, flags: &OverlayFlags, id: &str, verdict: HeldVerdict) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, flags)?;
    overlay.require()?;
    let (verb, done) = match verdict {
        HeldVerdict::Accept => ("accept", "accepted"),
        HeldVerdict::Reject => ("reject", "rejected"),
    };
    if ui.is_dry() {
        let (_, path, waiting) = find_waiting(&Workspace::load_all(&overlay.store.workspaces())?, id)?;
        match ui.is_json() {
            true => {
                ui.json(&VerdictAnswer { id: waiting.id(&path), path: &path, accepted: verdict == HeldVerdict::Accept })
            }
            false => ui.line(format!("would {verb} {}: {}", printable(&path.to_string()), printable(&waiting.why()))),
        }
        return Ok(Exit::Done);
    }
    let (outcome, path, id) = carry_out(ui, env, &overlay, id, verdict)?;
    print(ui, &outcome);
    if ui.is_json() {
        ui.json(&VerdictAnswer { id, path: &path, accepted: verdict == HeldVerdict::Accept });
    } else {
        ui.line(format!("{done} {}", printable(&path.to_string())));
    }
    Ok(exit_for(&outcome, &path))
}
