//! One thing that a source said, as `explain` and `conflicts` print it.

use serde_json::json;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::plan::statements::Statement;
use crate::section::Section;
use crate::short_id::ShortId;

/// Prints a statement; `with_id` begins the line with the id of what it is about.
pub fn print(ui: &Ui, statement: &Statement<'_>, with_id: bool) {
    let Statement { by, beaten, .. } = *statement;
    let (key, value) = (statement.key(), statement.value());
    // The text of an item is its key.
    let said = if statement.is_item() { key } else { value };
    if ui.is_json() {
        ui.json(&json!({
            "id": statement.id(),
            "section": statement.section(),
            "key": key,
            "value": said,
            "ts": by.ts().to_string(),
            "time": by.ts().render(),
            "agent": by.agent(),
            "event": by.id,
            "beaten": beaten,
        }));
        return;
    }
    let word = match beaten {
        false => "",
        true if *statement.section() == Section::OpenQuestions => " [resolved]",
        true => " [replaced]",
    };
    let begin = if with_id { format!("{} ", statement.id()) } else { String::new() };
    let (name, said) = (printable(&statement.name()), printable(said.unwrap_or("(removed)")));
    let (ts, agent, event) = (by.ts(), printable(by.agent()), ShortId::of_event(by.id));
    ui.line(format!("{begin}{name}: {said} ({ts}, {agent}, {event}){word}"));
}
