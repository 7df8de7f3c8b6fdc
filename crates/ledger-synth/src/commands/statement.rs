//! One thing that a source said, as `explain` and `conflicts` print it.

use serde::Serialize;
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::time;
use shopfloor_core::ui::Ui;

use crate::plan::history::Statement;
use crate::section::SectionName;

#[derive(Serialize)]
struct StatementAnswer<'a> {
    section: &'a SectionName<'a>,
    key: Option<&'a str>,
    value: Option<&'a str>,
    ts: String,
    time: String,
    agent: &'a str,
    event: Digest,
    beaten: bool,
}

pub fn print(ui: &Ui, statement: &Statement) {
    let Statement { section, source, beaten, is_item, .. } = statement;
    let (key, value) = (statement.key.as_deref(), statement.value.as_deref());
    if ui.is_json() {
        let (value, ts) = (if *is_item { key } else { value }, source.ts.to_string());
        let (agent, event, beaten) = (&*source.agent, source.id, *beaten);
        ui.json(&StatementAnswer { section, key, value, ts, time: time::render(source.ts), agent, event, beaten });
        return;
    }
    let name = match key {
        Some(key) if !is_item => format!("{}.{key}", section.as_str()),
        _ => section.as_str().to_owned(),
    };
    let shown = match (value, key) {
        (Some(value), _) => value,
        (None, Some(key)) if *is_item => key,
        (None, _) => "(removed)",
    };
    let word = if *beaten { " [replaced]" } else { "" };
    let id = &source.id.to_string()[..12];
    let (ts, agent) = (source.ts, printable(&source.agent));
    ui.line(format!("{}: {} ({ts}, {agent}, {id}){word}", printable(&name), printable(shown)));
}
