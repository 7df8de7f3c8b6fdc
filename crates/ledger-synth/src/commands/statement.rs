//! One thing that a source said, as `explain` and `conflicts` print it.

use serde::Serialize;
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::plan::history::Statement;
use crate::section::{Section, SectionName};
use crate::short_id::ShortId;

#[derive(Serialize)]
struct StatementAnswer<'a> {
    id: ShortId,
    section: &'a SectionName<'a>,
    key: Option<&'a str>,
    value: Option<&'a str>,
    ts: String,
    time: String,
    agent: &'a str,
    event: Digest,
    beaten: bool,
}

/// Prints a statement; `with_id` begins the line with the id of what it is about.
pub fn print(ui: &Ui, statement: &Statement<'_>, with_id: bool) {
    let Statement { section, source, beaten, is_item, .. } = statement;
    let (key, value) = (statement.key, statement.value);
    if ui.is_json() {
        let (value, ts) = (if *is_item { key } else { value }, source.ts.to_string());
        let (agent, event, beaten) = (source.agent, source.id, *beaten);
        let (id, time) = (statement.id(), source.ts.render());
        ui.json(&StatementAnswer { id, section, key, value, ts, time, agent, event, beaten });
        return;
    }
    let shown = match (value, key) {
        (Some(value), _) => value,
        (None, Some(key)) if *is_item => key,
        (None, _) => "(removed)",
    };
    let word = match beaten {
        false => "",
        true if **section == Section::OpenQuestions => " [resolved]",
        true => " [replaced]",
    };
    let begin = if with_id { format!("{} ", statement.id()) } else { String::new() };
    let (ts, agent, event) = (source.ts, printable(source.agent), ShortId::of_event(source.id));
    ui.line(format!("{begin}{}: {} ({ts}, {agent}, {event}){word}", printable(&statement.name()), printable(shown)));
}
