//! `--adopt`: a `current.md` that a person wrote becomes an event.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::ui::Ui;

use super::event::{WrittenEvent, write_event};
use crate::event::LedgerEvent;
use crate::event_file;
use crate::facts::author::{agent_name, time_before_all};
use crate::facts::gather::load_events;
use crate::facts::{CURRENT, EventFile, Ledger};
use crate::front::Meta;
use crate::stored_event::EventRecord;
use crate::{foreign_page, handoff};

/// Writes what `current.md` says as an event, unless the file is generated or empty. A dry run returns the event that
/// would be written.
pub fn adopt_page(ui: &Ui, env: &Env, ledger: &Ledger, is_dry: bool) -> Result<Option<EventFile>> {
    let Some(current) = ledger.current()? else { return Ok(None) };
    let text = event_file::decode(&current.bytes).map_err(|problem| {
        problem.in_file(ledger.dir.join(CURRENT).display()).hint("fix the file, or replace it with `--force`")
    })?;
    if current.footer().is_some() || current.is_blank() {
        return Ok(None);
    }
    let event = read(env, ledger, &text)?;
    let is_same =
        |known: &EventRecord| known.event.meta.kind == event.meta.kind && known.event.entries == event.entries;
    if load_events(ledger)?.records().any(is_same) {
        // An earlier run ended before it replaced the file.
        return Ok(None);
    }
    let WrittenEvent { path, record } = write_event(env, ledger, event, is_dry)?;
    let adopted = if is_dry { "would adopt" } else { "adopted" };
    ui.note(format!("{adopted} {CURRENT} as {}", path.display()));
    Ok(is_dry.then(|| EventFile { path, record: Box::new(record) }))
}

fn read(env: &Env, ledger: &Ledger, text: &str) -> Result<LedgerEvent> {
    let entries = handoff::page_entries(text);
    if entries.is_empty() {
        return Err(Failure::malformed(format!("{} has no text for an event", ledger.dir.join(CURRENT).display()))
            .hint("replace it with `ledger-synth --force`"));
    }
    let meta = Meta {
        ts: foreign_page::updated(text)
            .or_else(|| foreign_page::updated_day(text))
            .map_or_else(|| time_before_all(env, ledger), Ok)?,
        agent: agent_name(env, ledger, None)?,
        branch: ledger.git.branch(&ledger.repo)?,
        kind: Some("adopted".into()),
        title: Some("taken over from current.md".into()),
        ..Meta::default()
    };
    Ok(LedgerEvent::new(meta, entries))
}
