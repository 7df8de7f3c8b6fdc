//! The answers that several commands give.

use serde_json::{Map, Value, json};
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::event::WrittenEvent;
use crate::event_time::EventTime;
use crate::facts::Events;
use crate::joined_ledger::Quote;
use crate::plan::statements::Statement;
use crate::section::Section;
use crate::short_id::ShortId;
use crate::view::{OtherSection, ReachedCheckpoint, View};

/// The whole ledger, which goes to a file or to stdout.
pub fn ledger(view: &View<'_>, events: &Events, path: &str, is_written: bool) -> Value {
    let others = view.others.iter().map(|other| (other.key.to_owned(), shapes(other)));
    json!({
        "goal": view.goal.map(|goal| goal.text),
        "now": view.now().map(|now| now.text),
        "this_session": texts(&view.this_session),
        "decisions": map(&view.decisions),
        "checkpoints": view.checkpoints.iter().map(checkpoint).collect::<Vec<_>>(),
        "open_questions": texts(&view.open_questions),
        "other": others.collect::<Map<_, _>>(),
        "event_count": view.event_count,
        "latest_ts": view.latest.map(|ts| ts.to_string()),
        "latest_at": view.latest.map(EventTime::render),
        "inputs": view.inputs,
        "skipped": events.skipped,
        "written": is_written,
        "path": path,
    })
}

fn texts<'a>(quotes: &[Quote<'a>]) -> Vec<&'a str> {
    quotes.iter().map(|quote| quote.text).collect()
}

fn map(pairs: &[(&str, Quote<'_>)]) -> Map<String, Value> {
    pairs.iter().map(|(key, quote)| ((*key).to_owned(), quote.text.into())).collect()
}

/// What a section without rules of its own says. Almost every such section has one shape; several are listed.
fn shapes(other: &OtherSection<'_>) -> Value {
    let text = other.text.map(|text| text.text.into());
    let items = (!other.items.is_empty()).then(|| texts(&other.items).into());
    let pairs = (!other.pairs.is_empty()).then(|| map(&other.pairs).into());
    let mut shapes: Vec<Value> = [text, items, pairs].into_iter().flatten().collect();
    if shapes.len() == 1 { shapes.remove(0) } else { json!({ "shapes": shapes }) }
}

fn checkpoint(ReachedCheckpoint { checkpoint, by, at }: &ReachedCheckpoint<'_>) -> Value {
    json!({
        "phase": checkpoint.phase,
        "status": checkpoint.status,
        "updated": checkpoint.updated,
        "updated_at": at.map(EventTime::render),
        "agent": by.agent(),
        "more": checkpoint.more,
    })
}

/// An event that a command wrote.
pub fn event(WrittenEvent { path, record }: &WrittenEvent) -> Value {
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
    let mut answer = event(written);
    if let Some((key, value)) = added {
        answer[key] = value;
    }
    ui.json(&answer);
}

/// Prints a statement; `with_id` begins the line with the id of what it is about.
pub fn print_statement(ui: &Ui, statement: &Statement<'_>, with_id: bool) {
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

/// Prints an answer, with the failure of what followed it.
pub fn print(ui: &Ui, mut answer: Value, followed: Result<()>) -> Exit {
    let failure = followed.err();
    if let Some(failure) = &failure {
        answer["error"] = failure.to_json();
    }
    ui.json(&answer);
    failure.map_or(Exit::Done, |failure| failure.exit)
}
