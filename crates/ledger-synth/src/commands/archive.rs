//! `archive` and `prune`: many events become one snapshot that says the same; what it covers is kept for a while.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::synth;
use crate::apply;
use crate::cli::Place;
use crate::facts::directory::{self, Content};
use crate::facts::gather::everything;
use crate::facts::{ARCHIVE, EVENTS, Events, Ledger};
use crate::plan::{Filter, Join, join};
use crate::settings::flag_time;
use crate::snapshot;
use crate::view::View;

pub fn archive(ui: &Ui, env: &Env, place: &Place, older_than: Option<&str>) -> Result<Exit> {
    let age = older_than.map(|text| flag_time("--older-than", text)).transpose()?;
    let ledger = Ledger::find(ui, env, place)?;
    let _lock = if place.dry_run { None } else { Some(ledger.lock()?) };
    work(ui, env, &ledger, age, place.dry_run, false)?;
    Ok(Exit::Done)
}

/// A file of `events/` that goes into the archive, and the day it belongs to.
struct Move {
    name: String,
    day: String,
    /// The event in it when it was read; none for a snapshot.
    id: Option<Digest>,
}

/// What an archiving comes to.
#[derive(Default)]
struct Plan {
    /// Name and text of the snapshot, when one has to be written.
    snapshot: Option<(String, String)>,
    moves: Vec<Move>,
}

/// Archives; the caller holds the lock, but in a dry run. `is_aside`: the answer is another command's.
pub fn work(
    ui: &Ui,
    env: &Env,
    ledger: &Ledger,
    age: Option<SignedDuration>,
    is_dry: bool,
    is_aside: bool,
) -> Result<()> {
    let events = everything(ledger)?;
    let plan = plan(env, &events, age)?;
    if !is_dry {
        apply(ledger, &plan)?;
        synth::write_now(ui, env, ledger)?;
    }
    let count = plan.moves.len();
    let snapshot = plan.snapshot.map(|(name, _)| ledger.dir.join(EVENTS).join(name));
    if ui.is_json() && is_aside {
        return Ok(());
    }
    if ui.is_json() {
        ui.json(&json!({ "archived": count, "snapshot": snapshot.map(|path| path.to_string_lossy().into_owned()) }));
        return Ok(());
    }
    let would = if is_dry { "would have " } else { "" };
    match (count, snapshot) {
        (0, _) => ui.note("there is nothing to archive"),
        (count, Some(path)) => ui.line(format!(
            "{would}archived {} into {}",
            synth::counted(count, "file"),
            printable(&path.to_string_lossy())
        )),
        (count, None) => {
            ui.line(format!("{would}archived {}, which a snapshot covers already", synth::counted(count, "file")))
        }
    }
    Ok(())
}

/// What is folded: every event that is old enough and not from the future, and every snapshot.
fn plan(env: &Env, events: &Events, age: Option<SignedDuration>) -> Result<Plan> {
    let snapshots = events.snapshots()?;
    let whole = join(&events.records, &snapshots, &Filter::default());
    // A join cannot be undone: what may yet be disowned for its stamp stays.
    let limit = age.map_or(env.now.checked_add(synth::AHEAD).ok(), |age| env.now.checked_sub(age).ok());
    let is_due = |ts: Timestamp| limit.is_some_and(|limit| ts <= limit);
    let mut chosen = Vec::new();
    let mut plan = Plan::default();
    for (record, file) in events.records.iter().zip(&events.files) {
        let Some(event) = record.event() else { continue };
        let is_covered = whole.folded.contains(&record.id);
        let is_disowned = whole.retracted.contains(&record.id) && !is_covered;
        // What somebody disowned says nothing, and is never part of a snapshot.
        if (is_due(event.meta.ts) || is_covered) && !is_disowned {
            if !is_covered {
                chosen.push(record.clone());
            }
            plan.moves.push(Move {
                name: file.name.to_string_lossy().into_owned(),
                day: day(event.meta.ts),
                id: Some(record.id),
            });
        }
    }
    if chosen.is_empty() && snapshots.len() <= 1 {
        return Ok(plan);
    }
    let folded = join(&chosen, &snapshots, &Filter::default());
    let (file, text) = snapshot::write(&folded);
    prove(&folded, &text)?;
    for (snapshot, from) in snapshots.iter().zip(&events.snapshots) {
        let latest = snapshot.sources.iter().map(|source| source.ts).max().unwrap_or_default();
        if name(&from.path) != file {
            plan.moves.push(Move { name: name(&from.path), day: day(latest), id: None });
        }
    }
    plan.snapshot = Some((file, text));
    Ok(plan)
}

/// What is folded is gone from everywhere else: the snapshot must say the very same.
fn prove(folded: &Join<'_>, text: &str) -> Result<()> {
    let wrong = |why: String| {
        Failure::failed(format!("the snapshot would not read back as it is ({why}), so nothing was archived"))
            .hint("please report it; the events are as they were")
    };
    let read = [snapshot::parse(text).map_err(|problem| wrong(problem.why))?];
    let again = join(&[], &read, &Filter::default());
    let (before, after) = (View::of(folded, None).render(0, None), View::of(&again, None).render(0, None));
    if before == after && folded.sources.len() == again.sources.len() {
        Ok(())
    } else {
        Err(wrong("it says something else".into()))
    }
}

fn apply(ledger: &Ledger, plan: &Plan) -> Result<()> {
    if plan.moves.is_empty() && plan.snapshot.is_none() {
        return Ok(());
    }
    if let Some((name, text)) = &plan.snapshot {
        apply::create_snapshot(ledger, name, text)?;
    }
    for Move { name, day, id } in &plan.moves {
        // What somebody wrote into it meanwhile is in no snapshot.
        if id.is_some() && id_of(ledger, name)? != *id {
            continue;
        }
        apply::archive(ledger, name, day)?;
    }
    let days: BTreeSet<String> = plan.moves.iter().map(|m| m.day.clone()).collect();
    apply::sync(ledger, &days.into_iter().collect::<Vec<_>>())
}

/// The event a file of `events/` holds now.
fn id_of(ledger: &Ledger, name: &str) -> Result<Option<Digest>> {
    let Some((bytes, _)) = ledger.top.read_whole(&ledger.rel(&format!("{EVENTS}/{name}"))?)? else { return Ok(None) };
    Ok(match directory::content(std::ffi::OsStr::new(name), &bytes) {
        Content::Event(record) => Some(record.id),
        _ => None,
    })
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The event's own day: two branches archive it to the same place.
fn day(ts: Timestamp) -> String {
    ts.to_string().chars().take_while(|c| *c != 'T').collect()
}

fn nothing_deleted(ui: &Ui) -> Exit {
    if ui.is_json() {
        ui.json(&json!({ "deleted": [] }));
    }
    Exit::Done
}

pub fn prune(ui: &Ui, env: &Env, place: &Place) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, place)?;
    let Some(retention) = ledger.settings.retention else {
        ui.note("retention is `never`: nothing is deleted");
        return Ok(nothing_deleted(ui));
    };
    let _lock = if place.dry_run { None } else { Some(ledger.lock()?) };
    let Some(archive) = ledger.open(ARCHIVE)? else {
        ui.note("there is no archive");
        return Ok(nothing_deleted(ui));
    };
    let limit = env.now.checked_sub(retention).unwrap_or(Timestamp::MIN);
    let live = everything(&ledger)?;
    let snapshots = live.snapshots()?;
    let covered: HashSet<Digest> = snapshots.iter().flat_map(|s| s.sources.iter().map(|source| source.id)).collect();
    let folded: HashSet<Digest> = snapshots.iter().flat_map(|s| s.folds.iter().copied()).collect();
    let archived = directory::archived(&archive)?;
    let mut doomed = Vec::new();
    for (record, file) in archived.records.iter().zip(&archived.files) {
        let is_old = record.event().is_some_and(|event| event.meta.ts <= limit);
        if is_old && covered.contains(&record.id) {
            doomed.push(file.path());
        }
    }
    let old = archived.snapshots()?;
    for (snapshot, file) in old.iter().zip(&archived.snapshots) {
        let is_old = snapshot.sources.iter().all(|source| source.ts <= limit);
        if is_old && folded.contains(&snapshot.content) {
            doomed.push(file.path.clone());
        }
    }
    for path in &doomed {
        let day = path.parent().map(name).unwrap_or_default();
        if !place.dry_run {
            apply::prune(&ledger, &day, &name(path))?;
        }
    }
    let would = if place.dry_run { "would have " } else { "" };
    if ui.is_json() {
        let paths: Vec<_> = doomed.iter().map(|path| path.to_string_lossy()).collect();
        ui.json(&json!({ "deleted": paths }));
    } else if doomed.is_empty() {
        ui.note("nothing in the archive is covered and old enough");
    } else {
        ui.line(format!("{would}deleted {}", synth::counted(doomed.len(), "file")));
    }
    Ok(Exit::Done)
}

/// What cannot be disowned any more.
pub fn refuse_folded(id: &Digest) -> Failure {
    Failure::new(
        Exit::No,
        "folded",
        format!("event {} is folded into a snapshot, and a join cannot be undone", &id.to_string()[..12]),
    )
    .hint("say something newer instead, with `ledger-synth add`")
}
