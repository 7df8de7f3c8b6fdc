//! Writes events.

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::hash::Digest;

use super::files;
use crate::canonical;
use crate::event::LedgerEvent;
use crate::event_file::LIMIT;
use crate::facts::{EVENTS, Ledger};
use crate::instant::EventTime;
use crate::settings::Effect;

/// A written event.
pub struct WrittenEvent {
    /// Its path below the ledger.
    pub below: String,
    pub id: Digest,
    pub ts: EventTime,
    pub agent: String,
}

/// Renders the file of an event and proves that it reads back as the same event.
pub fn render_proven(event: &LedgerEvent<'_>) -> Result<String> {
    let text = event.render();
    if text.len() > LIMIT {
        return Err(Failure::malformed("the event is larger than 1 MiB").hint("shorten it, or write several events"));
    }
    match LedgerEvent::parse(&text) {
        Ok(read) if canonical::id(&read) == canonical::id(event) => Ok(text),
        Ok(_) => Err(Failure::malformed("the event would not read back as it is, so it was not written")
            .hint("change the text, or write the event's file in `events/` yourself")),
        Err(problem) => Err(Failure::malformed(format!("the event would be skipped: {}", problem.why))
            .hint("change the text, or indent that line")),
    }
}

/// Writes an event.
pub fn write_event(ledger: &Ledger, event: &LedgerEvent<'_>, effect: Effect) -> Result<WrittenEvent> {
    let text = render_proven(event)?;
    let stem = event.file_stem();
    let below = match effect {
        Effect::DryRun => format!("{EVENTS}/{stem}.md"),
        Effect::Write => files::create_event(ledger, &stem, text.as_bytes())?,
    };
    Ok(WrittenEvent { below, id: canonical::id(event), ts: event.meta.ts, agent: event.meta.agent.to_string() })
}
