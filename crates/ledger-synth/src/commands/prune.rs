//! `prune`: deletes archived files that are old enough and covered by a snapshot.

use std::collections::HashSet;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::ui::Ui;

use super::answer::with_error;
use crate::apply::archive as execute;
use crate::counted::counted;
use crate::event_time::EventTime;
use crate::facts::Ledger;
use crate::facts::gather::{load_archive, load_events};
use crate::plan::archive::DoomedFile;
use crate::settings::LedgerArgs;

/// Delete archived events that a snapshot covers and that are older than --retention
///
/// An event is as old as its time says. Prune on one branch only: if one branch deletes a file and another
/// moves it, git sees a conflict.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  ledger-synth prune --retention 30d")]
pub struct Args {}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let is_dry = ui.is_dry();
    let _lock = if is_dry { None } else { Some(ledger.lock()?) };
    let doomed = match ledger.settings.retention {
        Some(retention) => doomed(&ledger, env.now.checked_sub(retention).map_or(EventTime::MIN, EventTime::from))?,
        None => Vec::new(),
    };
    let count = doomed.len();
    let mut deleted = Vec::new();
    let outcome = match is_dry {
        true => {
            deleted.extend(doomed.into_iter().map(|file| file.path));
            Ok(())
        }
        false => execute::delete(&ledger, doomed, |path| deleted.push(path)),
    };
    let stays = if outcome.is_ok() { count - deleted.len() } else { 0 };
    if stays > 0 {
        let verb = if stays == 1 { "stays" } else { "stay" };
        ui.note(format!("{} changed meanwhile and {verb} in the archive", counted(stays, "file")));
    }
    if ui.is_json() {
        let paths: Vec<_> = deleted.iter().map(|path| path.to_string_lossy()).collect();
        let failure = outcome.err();
        ui.json(&with_error(json!({ "deleted": paths }), failure.as_ref()));
        return Ok(failure.map_or(Exit::Done, |failure| failure.exit));
    }
    if count == 0 {
        ui.detail("nothing in the archive is covered and old enough");
    } else if outcome.is_ok() || !deleted.is_empty() {
        let would = if is_dry { "would have " } else { "" };
        ui.line(format!("{would}deleted {}", counted(deleted.len(), "file")));
    }
    outcome.map(|()| Exit::Done)
}

/// The archived files that are not newer than the limit, and that a snapshot in `events/` covers.
fn doomed(ledger: &Ledger, limit: EventTime) -> Result<Vec<DoomedFile>> {
    let live = load_events(ledger)?;
    let covered = live.covered()?;
    let folded: HashSet<Digest> =
        live.snapshots()?.iter().flat_map(|snapshot| snapshot.folds.iter().copied()).collect();
    let archived = load_archive(ledger)?;
    let files = archived.files.iter().filter(|file| file.record.ts() <= limit);
    let files = files.map(|file| DoomedFile { path: file.path.clone(), read: file.record.id });
    let snapshots = archived.snapshots()?.into_iter().zip(&archived.snapshots);
    let snapshots = snapshots.filter(|(snapshot, _)| snapshot.events.iter().all(|event| event.ts() <= limit));
    let snapshots = snapshots.map(|(snapshot, file)| DoomedFile { path: file.path.clone(), read: snapshot.content });
    let files = files.filter(|file| covered.contains(&file.read));
    Ok(files.chain(snapshots.filter(|file| folded.contains(&file.read))).collect())
}
