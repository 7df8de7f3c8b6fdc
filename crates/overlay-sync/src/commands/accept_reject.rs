//! `accept` and `reject`: a person's word on a text that waits.

use serde_json::json;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::preview::preview_verdict;
use crate::apply::verdict::{Verdict, carry_out};
use crate::facts::overlay::Overlay;
use crate::facts::versions::find_waiting;
use crate::workspace::Workspace;

#[derive(clap::Args, Debug)]
pub struct Args {
    /// The id that `conflicts` prints, or its beginning
    id: String,
}

pub fn run(ui: &Ui, overlay: &Overlay, args: &Args, verdict: Verdict) -> Result<Exit> {
    overlay.require()?;
    let waiting = find_waiting(&Workspace::load_all(&overlay.store.workspaces())?, &args.id)?;
    let (exit, is_done) = match ui.is_dry() {
        true => (preview_verdict(ui, overlay, &waiting, verdict)?, false),
        false => carry_out(ui, overlay, &waiting, verdict)?,
    };
    let is_accepted = verdict == Verdict::Accept;
    let (path, verb) = (printable(&waiting.path.to_string()), if is_accepted { "accept" } else { "reject" });
    if ui.is_json() {
        ui.json(&json!({ "id": waiting.id, "path": waiting.path, "accepted": is_accepted && is_done }));
    } else if ui.is_dry() {
        ui.line(format!("would {verb} {path}: {}", printable(&waiting.why())));
    } else if is_done {
        ui.line(format!("{verb}ed {path}"));
    }
    Ok(exit)
}
