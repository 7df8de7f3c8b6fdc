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
    let exit = if ui.is_dry() {
        preview_verdict(ui, overlay, &waiting, verdict)?
    } else {
        let outcome = carry_out(ui, overlay, &waiting, verdict)?;
        outcome.print(ui);
        outcome.exit_for(&waiting.path)
    };
    let is_accepted = verdict == Verdict::Accept;
    let (path, verb) = (printable(&waiting.path.to_string()), if is_accepted { "accept" } else { "reject" });
    if ui.is_json() {
        ui.json(&json!({ "id": waiting.id, "path": waiting.path, "accepted": is_accepted && !ui.is_dry() }));
    } else if ui.is_dry() {
        ui.line(format!("would {verb} {path}: {}", printable(&waiting.why())));
    } else {
        ui.line(format!("{verb}ed {path}"));
    }
    Ok(exit)
}
