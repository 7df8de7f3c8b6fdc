//! `retract`: an event that disowns another one.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::{add, archive};
use crate::cli::Place;
use crate::event::{Entry, Event, Meta};
use crate::facts::gather::everything;
use crate::facts::{Events, Ledger};
use crate::plan::{Filter, RETRACT, join};

pub fn run(ui: &Ui, env: &Env, place: &Place, named: &str, agent: Option<&str>) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, place)?;
    let events = everything(&ledger)?;
    let snapshots = events.snapshots()?;
    let joined = join(&events.records, &snapshots, &Filter::default());
    let id = find(env, &events, &joined.folded.iter().copied().collect(), named)?;
    if joined.folded.contains(&id) {
        return Err(archive::refuse_folded(&id));
    }
    let disowns = |record: &&crate::event::Record| {
        record.id == id && record.event().is_some_and(|event| event.entries.iter().any(is_retraction))
    };
    if events.records.iter().any(|record| disowns(&record)) {
        return Err(Failure::new(Exit::No, "retraction", "that event disowns another one, which cannot be taken back")
            .hint("say again what was disowned, with `ledger-synth add`"));
    }
    if joined.retracted.contains(&id) {
        ui.note(format!("event {} is disowned already", &id.to_string()[..12]));
        if ui.is_json() {
            ui.json(&json!({ "retracted": id }));
        }
        return Ok(Exit::Done);
    }
    let meta = Meta {
        ts: add::stamp(ui, env, &ledger)?,
        agent: add::agent(env, &ledger, agent)?.into(),
        branch: ledger.git.branch(&ledger.repo)?.map(Cow::Owned),
        kind: Some("retract".into()),
        reason: None,
        title: Some(format!("disowned event {}", &id.to_string()[..12]).into()),
    };
    let entries = vec![Entry::Item { section: RETRACT.into(), text: id.to_string().into() }];
    let event = Event::new(meta, entries);
    let written = add::write(&ledger, &event, place.dry_run)?;
    let path = ledger.dir.join(&written.below);
    if ui.is_json() {
        ui.json(&json!({ "path": path.to_string_lossy(), "id": written.id, "ts": event.meta.ts.to_string(), "agent": event.meta.agent, "retracted": id }));
    } else {
        ui.line(printable(&path.to_string_lossy()));
    }
    Ok(Exit::Done)
}

fn is_retraction(entry: &Entry<'_>) -> bool {
    matches!(entry, Entry::Item { section, text } if section == RETRACT && Digest::parse(text).is_some())
}

/// The event somebody means: by its file, its id or the beginning of that.
fn find(env: &Env, events: &Events, folded: &BTreeSet<Digest>, named: &str) -> Result<Digest> {
    let path = env.cwd.join(named).canonicalize().ok();
    let by_path = events.files.iter().position(|file| {
        *file.name == *std::ffi::OsStr::new(named) || (path.is_some() && file.path().canonicalize().ok() == path)
    });
    if let Some(at) = by_path {
        return Ok(events.records[at].id);
    }
    if let Some(skipped) = events.skipped.iter().find(|s| path.is_some() && s.path.canonicalize().ok() == path) {
        return Err(Failure::not_found(format!("{skipped}: so it does not count, and there is nothing to disown"))
            .hint("mend the file or move it away"));
    }
    let all: BTreeSet<Digest> = events.records.iter().map(|record| record.id).chain(folded.iter().copied()).collect();
    let is_hex = named.len() >= 4 && named.bytes().all(|b| b.is_ascii_hexdigit());
    let prefix = named.to_lowercase();
    let found: Vec<&Digest> = all.iter().filter(|id| is_hex && id.to_string().starts_with(&prefix)).collect();
    match found.as_slice() {
        [id] => Ok(**id),
        [] => Err(Failure::not_found(format!("no event is called `{named}`"))
            .hint("name its file, or the id that `ledger-synth explain KEY` shows")),
        _ => {
            Err(Failure::not_found(format!("{} events begin with `{named}`", found.len())).hint("give more of the id"))
        }
    }
}
