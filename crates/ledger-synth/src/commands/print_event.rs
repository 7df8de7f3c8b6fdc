//! An event that a command wrote, as it is printed.

use serde_json::{Value, json};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::event::WrittenEvent;
use crate::short_id::ShortId;

pub fn answer(WrittenEvent { path, record }: &WrittenEvent) -> Value {
    json!({
        "path": path.to_string_lossy(),
        "id": record.id,
        "short_id": ShortId::of_event(record.id),
        "ts": record.ts().to_string(),
        "time": record.ts().render(),
        "agent": record.agent(),
    })
}

/// Prints an event: its path, or all of it in JSON, with a key that this command adds.
pub fn print_event(ui: &Ui, written: &WrittenEvent, added: Option<(&str, Value)>) {
    if !ui.is_json() {
        return ui.line(printable(&written.path.to_string_lossy()));
    }
    let mut answer = answer(written);
    if let Some((key, value)) = added {
        answer[key] = value;
    }
    ui.json(&answer);
}
