//! Writes events.

use std::path::PathBuf;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::ui::Ui;

use super::files;
use crate::entry::Entry;
use crate::event::LedgerEvent;
use crate::event_file::LIMIT;
use crate::event_time::EventTime;
use crate::facts::author::{next_time, speaker_name};
use crate::facts::{EVENTS, Ledger};
use crate::front::Meta;
use crate::short_id::ShortId;
use crate::stored_event::EventRecord;

/// A written event.
pub struct WrittenEvent {
    pub path: PathBuf,
    pub record: EventRecord,
}

/// Renders the file of an event and proves that it reads back as the same event.
pub fn render_proven(event: &LedgerEvent) -> Result<String> {
    let text = event.render();
    if text.len() > LIMIT {
        return Err(Failure::malformed("the event is larger than 1 MiB").hint("shorten it, or write several events"));
    }
    match LedgerEvent::parse(&text) {
        Ok(read) if read == *event => Ok(text),
        Ok(_) => Err(Failure::malformed("the event would not read back as it is, so it was not written")
            .hint("change the text, or write the event's file in `events/` yourself")),
        Err(problem) => Err(Failure::malformed(format!("the event would be skipped: {}", problem.why))
            .hint("change the text, or indent that line")),
    }
}

/// Writes an event of the agent that calls, with the time of now.
pub fn write_new_event(
    ui: &Ui,
    env: &Env,
    ledger: &Ledger,
    agent: Option<&str>,
    [kind, title]: [&str; 2],
    entries: Vec<Entry>,
) -> Result<WrittenEvent> {
    let meta = Meta {
        ts: next_time(ui, env, ledger)?,
        agent: speaker_name(env, ledger, agent)?,
        branch: ledger.git.branch(&ledger.repo)?,
        kind: Some(kind.into()),
        title: Some(title.into()),
        ..Meta::default()
    };
    write_event(env, ledger, LedgerEvent::new(meta, entries), ui.is_dry())
}

/// Writes an event.
pub fn write_event(env: &Env, ledger: &Ledger, event: LedgerEvent, is_dry: bool) -> Result<WrittenEvent> {
    let text = render_proven(&event)?;
    let record = EventRecord::new(event);
    let mut stem = record.event.file_stem();
    // Other clones may take the same time from the newest event, and files of one name would conflict in a merge.
    if record.ts() > EventTime::from(env.now) {
        stem = format!("{stem}-{}", ShortId::of_event(record.id).as_str());
    }
    let below = match is_dry {
        true => format!("{EVENTS}/{stem}.md"),
        false => files::create_event(ledger, &stem, text.as_bytes())?,
    };
    Ok(WrittenEvent { path: ledger.dir.join(below), record })
}
