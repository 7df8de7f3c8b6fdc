//! `prune`: deletes archived files that are old enough and covered by a snapshot.

use std::collections::HashSet;
use std::iter::{empty, once};

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::ui::Ui;

use super::output;
use crate::apply::archive as execute;
use crate::counted::counted;
use crate::event_time::EventTime;
use crate::facts::Ledger;
use crate::facts::gather::{load_archive, load_events};
use crate::plan::archive::{DoomedFile, are_in};
use crate::settings::LedgerArgs;

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
            deleted.extend(doomed.into_iter().map(|(path, _)| path));
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
        return Ok(output::print(ui, json!({ "deleted": paths }), outcome));
    }
    if count == 0 {
        ui.detail("nothing in the archive is covered and old enough");
    } else if outcome.is_ok() || !deleted.is_empty() {
        let would = if is_dry { "would have " } else { "" };
        ui.line(format!("{would}deleted {}", counted(deleted.len(), "file")));
    }
    outcome.map(|()| Exit::Done)
}

/// The archived files that are not newer than the limit, and that snapshots in `events/` cover and have the texts of.
fn doomed(ledger: &Ledger, limit: EventTime) -> Result<Vec<DoomedFile>> {
    let live = load_events(ledger)?;
    let (covered, counted) = (live.covered()?, live.snapshots()?);
    let folded: HashSet<Digest> = counted.iter().flat_map(|snapshot| snapshot.folds.iter().copied()).collect();
    let archived = load_archive(ledger)?;
    let files = archived.files.iter().map(|file| (&*file.record, file));
    let files: Vec<_> = files.filter(|(record, _)| record.ts() <= limit && covered.contains(&record.id)).collect();
    let snapshots = archived.snapshots()?.into_iter().zip(&archived.snapshots).filter(|(snapshot, _)| {
        folded.contains(&snapshot.content) && snapshot.events.iter().all(|event| event.ts() <= limit)
    });
    let snapshots: Vec<_> = snapshots.collect();
    // All at once first: nearly always nothing is missing.
    let folds: Vec<_> = snapshots.iter().map(|(snapshot, _)| *snapshot).collect();
    let are_all_in = are_in(&counted, files.iter().map(|(record, _)| *record), &folds);
    let files = files.into_iter().filter(|(record, _)| are_all_in || are_in(&counted, once(*record), &[]));
    let snapshots = snapshots.into_iter().filter(|(snapshot, _)| are_all_in || are_in(&counted, empty(), &[snapshot]));
    let files = files.map(|(record, file)| (file.path.clone(), record.id));
    let snapshots = snapshots.map(|(snapshot, file)| (file.path.clone(), snapshot.content));
    Ok(files.chain(snapshots).collect())
}
