//! `--adopt`: a `current.md` that a person wrote becomes an event.

use std::borrow::Cow;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::ui::Ui;

use super::event::write_event;
use crate::event::LedgerEvent;
use crate::event_file;
use crate::facts::author::{agent_name, time_before_all};
use crate::facts::gather::load_events;
use crate::facts::{CURRENT, Current, Ledger};
use crate::front::Meta;
use crate::record::EventRecord;
use crate::settings::Effect;
use crate::{handoff, page, view};

/// Writes what `current.md` says as an event, unless the file is generated or empty.
pub fn adopt_page(ui: &Ui, env: &Env, ledger: &Ledger, current: &Current, effect: Effect) -> Result<()> {
    let text = text(ledger, current)?;
    if view::footer(&text).is_some() || text.trim().is_empty() {
        return Ok(());
    }
    let event = read(env, ledger, &text)?;
    let is_same = |known: &EventRecord| {
        let known = known.decode();
        known.is_some_and(|known| known.meta.kind == event.meta.kind && known.entries == event.entries)
    };
    if load_events(ledger)?.records.iter().any(is_same) {
        // An earlier run ended before it replaced the file.
        return Ok(());
    }
    let written = write_event(ledger, &event, effect)?;
    let adopted = if effect.is_dry() { "would adopt" } else { "adopted" };
    ui.note(format!("{adopted} {CURRENT} as {}", ledger.dir.join(written.below).display()));
    Ok(())
}

fn text(ledger: &Ledger, current: &Current) -> Result<String> {
    let text = event_file::decode(&current.bytes).map_err(|problem| {
        let path = ledger.dir.join(CURRENT);
        Failure::malformed(format!("{}:{}: {}", path.display(), problem.line, problem.why))
            .hint("fix the file, or replace it with `--force`")
    })?;
    Ok(text.into_owned())
}

fn read(env: &Env, ledger: &Ledger, text: &str) -> Result<LedgerEvent<'static>> {
    let entries = handoff::page_entries(text);
    if entries.is_empty() {
        return Err(Failure::malformed(format!("{} has no text for an event", ledger.dir.join(CURRENT).display()))
            .hint("replace it with `ledger-synth --force`"));
    }
    let meta = Meta {
        ts: page::updated(text).or_else(|| page::updated_day(text)).map_or_else(|| time_before_all(env, ledger), Ok)?,
        agent: agent_name(env, ledger, None)?.into(),
        branch: ledger.git.branch(&ledger.repo)?.map(Cow::Owned),
        kind: Some("adopted".into()),
        reason: None,
        title: Some("taken over from current.md".into()),
    };
    Ok(LedgerEvent::new(meta, entries))
}
