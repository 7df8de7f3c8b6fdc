//! `--adopt`: a `current.md` that a person wrote becomes an event.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::ui::Ui;

use super::add;
use super::synth::Options;
use crate::event::{self, Event, Meta, Record};
use crate::facts::gather::everything;
use crate::facts::{CURRENT, Current, Ledger};
use crate::{body, view};

/// How much older than all others the event is.
const STEP: SignedDuration = SignedDuration::from_millis(1);

/// Does it, where that is asked for and there is such a file.
pub fn first(ui: &Ui, env: &Env, ledger: &Ledger, options: &Options) -> Result<()> {
    let Some(current) = ledger.current()?.filter(|_| options.adopt) else { return Ok(()) };
    let text = text(ledger, &current)?;
    if view::footer(&text).is_some() || text.trim().is_empty() {
        return Ok(());
    }
    let event = read(env, ledger, &text)?;
    let is_said = |known: &Record| {
        let known = known.event();
        known.is_some_and(|known| known.meta.kind == event.meta.kind && known.entries == event.entries)
    };
    if everything(ledger)?.records.iter().any(is_said) {
        // An earlier run was ended before it replaced the file.
        return Ok(());
    }
    let written = add::write(ledger, &event, options.is_dry)?;
    let would = if options.is_dry { "would take" } else { "took" };
    ui.note(format!("{would} {CURRENT} over as {}", ledger.dir.join(written.below).display()));
    Ok(())
}

fn text(ledger: &Ledger, current: &Current) -> Result<String> {
    let text = event::text(&current.bytes).map_err(|problem| {
        let path = ledger.dir.join(CURRENT);
        Failure::malformed(format!("{}:{}: {}", path.display(), problem.line, problem.why))
            .hint("mend the file, or replace it with `--force`")
    })?;
    Ok(text.into_owned())
}

fn read(env: &Env, ledger: &Ledger, text: &str) -> Result<Event<'static>> {
    let entries = body::adopted(text);
    if entries.is_empty() {
        return Err(Failure::malformed(format!("{} says nothing an event could", ledger.dir.join(CURRENT).display()))
            .hint("replace it with `ledger-synth --force`"));
    }
    let meta = Meta {
        ts: stamp(env, ledger, text)?,
        agent: add::agent(env, ledger, None)?.into(),
        branch: ledger.git.branch(&ledger.repo)?.map(Cow::Owned),
        kind: Some("adopted".into()),
        reason: None,
        title: Some("taken over from current.md".into()),
    };
    Ok(Event::new(meta, entries))
}

/// When it was written: as it says itself (`Updated: ...`), else before every event, so that it beats none.
fn stamp(env: &Env, ledger: &Ledger, text: &str) -> Result<Timestamp> {
    if let Some(ts) = updated(text) {
        return Ok(ts);
    }
    let events = everything(ledger)?;
    let snapshots = events.snapshots()?;
    let folded = snapshots.iter().flat_map(|snapshot| snapshot.sources.iter().map(|source| source.ts));
    let live = events.records.iter().filter_map(|record| record.event()).map(|event| event.meta.ts);
    let oldest = live.chain(folded).min();
    Ok(oldest.and_then(|ts| ts.checked_sub(STEP).ok()).unwrap_or(env.now))
}

/// What a line such as `Updated: 2026-01-10T13:00:00Z` says.
pub fn updated(text: &str) -> Option<Timestamp> {
    text.lines().take(40).find_map(|line| {
        let line = line.trim_matches(['*', '_', '>', '-', '#', ' ', '\t']);
        let (key, value) = line.split_once(':')?;
        let is_it =
            matches!(&*key.trim_matches(['*', '_', ' ']).to_lowercase(), "updated" | "last updated" | "last_updated");
        event::instant(value.trim_matches(['*', '_', '`', '"', ' ', '\t'])).filter(|_| is_it)
    })
}
