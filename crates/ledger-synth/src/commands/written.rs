//! An event that a command wrote, as it is printed.

use serde::Serialize;
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::event::WrittenEvent;
use crate::facts::Ledger;
use crate::short_id::ShortId;

#[derive(Serialize)]
pub struct EventAnswer<'a> {
    path: String,
    id: Digest,
    short_id: ShortId,
    ts: String,
    time: String,
    agent: &'a str,
}

impl<'a> EventAnswer<'a> {
    pub fn new(ledger: &Ledger, written: &'a WrittenEvent) -> EventAnswer<'a> {
        EventAnswer {
            path: path(ledger, written),
            id: written.id,
            short_id: ShortId::of_event(written.id),
            ts: written.ts.to_string(),
            time: written.ts.render(),
            agent: &written.agent,
        }
    }
}

/// The absolute path of an event.
pub fn path(ledger: &Ledger, written: &WrittenEvent) -> String {
    ledger.dir.join(&written.below).to_string_lossy().into_owned()
}

/// Prints an event: its path, or all of it in JSON.
pub fn print_event(ui: &Ui, ledger: &Ledger, written: &WrittenEvent) {
    match ui.is_json() {
        true => ui.json(&EventAnswer::new(ledger, written)),
        false => ui.line(printable(&path(ledger, written))),
    }
}
