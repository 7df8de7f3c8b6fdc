//! Writes events.

use std::path::PathBuf;

use shopfloor_core::error::{Failure, Result};

use super::files;
use crate::event::LedgerEvent;
use crate::event_file::LIMIT;
use crate::facts::{EVENTS, Ledger};
use crate::record::EventRecord;

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

/// Writes an event.
pub fn write_event(ledger: &Ledger, event: LedgerEvent, is_dry: bool) -> Result<WrittenEvent> {
    let text = render_proven(&event)?;
    let stem = event.file_stem();
    let below = match is_dry {
        true => format!("{EVENTS}/{stem}.md"),
        false => files::create_event(ledger, &stem, text.as_bytes())?,
    };
    Ok(WrittenEvent { path: ledger.dir.join(below), record: EventRecord::new(event) })
}
