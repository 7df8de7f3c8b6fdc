//! `accept` and `reject`: a person's word on a text that waits.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::report::{exit_for, print};
use crate::apply::verdict::{Verdict, carry_out};
use crate::facts::overlay::Overlay;
use crate::facts::versions::find_waiting;
use crate::manifest::Workspace;
use crate::settings::OverlayFlags;

#[derive(clap::Args, Debug)]
pub struct Args {
    /// The id that `conflicts` prints, or its beginning
    id: String,
}

#[derive(Serialize)]
struct VerdictAnswer<'a> {
    id: &'a str,
    path: &'a RelPath,
    accepted: bool,
}

pub fn run(ui: &Ui, env: &Env, flags: &OverlayFlags, args: &Args, verdict: Verdict) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, flags)?;
    overlay.require()?;
    let mut waiting = find_waiting(&Workspace::load_all(&overlay.store.workspaces())?, &args.id)?;
    let mut exit = Exit::Done;
    if !ui.is_dry() {
        let (outcome, decided) = carry_out(ui, env, &overlay, &args.id, verdict)?;
        print(ui, &outcome);
        (exit, waiting) = (exit_for(&outcome, &decided.path), decided);
    }
    let path = printable(&waiting.path.to_string());
    match (ui.is_json(), ui.is_dry(), verdict) {
        (true, ..) => {
            ui.json(&VerdictAnswer { id: &waiting.id, path: &waiting.path, accepted: verdict == Verdict::Accept });
        }
        (_, true, Verdict::Accept) => ui.line(format!("would accept {path}: {}", printable(&waiting.why()))),
        (_, true, Verdict::Reject) => ui.line(format!("would reject {path}: {}", printable(&waiting.why()))),
        (_, false, Verdict::Accept) => ui.line(format!("accepted {path}")),
        (_, false, Verdict::Reject) => ui.line(format!("rejected {path}")),
    }
    Ok(exit)
}
