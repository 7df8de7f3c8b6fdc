//! `prune`: deletes archived files that are old enough and covered by a snapshot.

use std::collections::HashSet;

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::ui::Ui;

use super::answer::WithError;
use crate::apply::archive as execute;
use crate::counted::counted;
use crate::facts::gather::{each_archived, load_events};
use crate::facts::{ARCHIVE, Ledger};
use crate::instant::EventTime;
use crate::plan::KnownJoin;
use crate::plan::archive::DoomedFile;
use crate::record::EventRecord;
use crate::settings::{Effect, LedgerArgs};

/// Delete archived events that a snapshot covers and that are older than --retention
///
/// An event is as old as its time says. Prune on one branch only: if one branch deletes a file and another
/// moves it, git sees a conflict.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  ledger-synth prune --retention 30d")]
pub struct Args {}

/// The files that were deleted.
#[derive(Serialize)]
struct PruneAnswer {
    deleted: Vec<String>,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let Some(retention) = ledger.settings.retention else {
        ui.detail("retention is `never`: nothing is deleted");
        return Ok(nothing_deleted(ui));
    };
    let effect = Effect::of(ui);
    let _lock = if effect.is_dry() { None } else { Some(ledger.lock()?) };
    if ledger.open(ARCHIVE)?.is_none() {
        ui.detail("there is no archive");
        return Ok(nothing_deleted(ui));
    }
    let limit = env.now.checked_sub(retention).map_or(EventTime::MIN, EventTime::from);
    let doomed = doomed(&ledger, limit)?;
    let count = doomed.len();
    let mut deleted = Vec::new();
    let outcome = match effect.is_dry() {
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
        let deleted = deleted.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let failure = outcome.err();
        ui.json(&WithError { answer: PruneAnswer { deleted }, error: failure.as_ref().map(Failure::to_json) });
        return Ok(failure.map_or(Exit::Done, |failure| failure.exit));
    }
    if count == 0 {
        ui.detail("nothing in the archive is covered and old enough");
    } else if outcome.is_ok() || !deleted.is_empty() {
        let would = if effect.is_dry() { "would have " } else { "" };
        ui.line(format!("{would}deleted {}", counted(deleted.len(), "file")));
    }
    outcome.map(|()| Exit::Done)
}

fn nothing_deleted(ui: &Ui) -> Exit {
    if ui.is_json() {
        ui.json(&PruneAnswer { deleted: Vec::new() });
    }
    Exit::Done
}

/// The archived files that are not newer than the limit, and that a snapshot in `events/` covers.
fn doomed(ledger: &Ledger, limit: EventTime) -> Result<Vec<DoomedFile>> {
    let live = load_events(ledger)?;
    let snapshots = live.snapshots()?;
    let covered = live.covered()?;
    let folded: HashSet<Digest> = snapshots.iter().flat_map(|s| s.folds.iter().copied()).collect();
    let known = KnownJoin::of(&[], &snapshots);
    // An event that is covered may still say what no snapshot says.
    let is_doomed = |record: &EventRecord| {
        let is_old = || record.parts().is_some_and(|(source, _)| source.ts <= limit);
        covered.contains(&record.id()) && is_old() && known.says(record)
    };
    let (mut doomed, mut doomed_snapshots) = (Vec::new(), Vec::new());
    each_archived(ledger, |mut part| {
        part.retain(is_doomed);
        let hash = |record: &EventRecord| Digest::of(record.bytes());
        let files = part.files.iter().zip(&part.records);
        doomed.extend(files.map(|(file, record)| DoomedFile { path: file.path(), read: hash(record) }));
        for (snapshot, file) in part.snapshots()?.iter().zip(&part.snapshots) {
            let is_old = snapshot.events.sources().all(|source| source.ts <= limit);
            if is_old && folded.contains(&snapshot.content) {
                doomed_snapshots.push(DoomedFile { path: file.path.clone(), read: snapshot.content });
            }
        }
        Ok(())
    })?;
    doomed.append(&mut doomed_snapshots);
    Ok(doomed)
}
