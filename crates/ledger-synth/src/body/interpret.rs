//! Turns the pieces of a section into entries, by the name of the section or the shape of the pieces.

use super::read::{Field, Piece, WrittenSection, bold, sections};
use crate::entry::{Checkpoint, Entry};
use crate::event_time;
use crate::section::{SectionName, Shape};
use crate::yaml_scalar;

/// Parses everything a body says.
pub fn parse(body: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    for section in sections(body) {
        interpret(section, &mut entries);
    }
    // Empty text says nothing.
    entries.retain(|entry| !matches!(entry, Entry::Text { text, .. } | Entry::Item { text, .. } if text.is_empty()));
    entries
}

/// Turns a section into entries, by its name or the shape of its pieces.
fn interpret(section: WrittenSection, entries: &mut Vec<Entry>) {
    let WrittenSection { name, pieces, .. } = section;
    let item = |piece: Piece| Entry::Item { section: name.clone(), text: one_text(piece) };
    match name.shape() {
        Some(Shape::Register) => {
            let texts: Vec<_> = pieces.into_iter().map(one_text).filter(|text| !text.trim().is_empty()).collect();
            if !texts.is_empty() {
                entries.push(Entry::Text { section: name, text: texts.join("\n") });
            }
        }
        Some(Shape::List) => entries.extend(pieces.into_iter().map(item)),
        Some(Shape::Map) => pieces.into_iter().for_each(|piece| decision(&name, piece, entries)),
        Some(Shape::Checkpoints) => checkpoints(pieces, entries),
        None => entries.extend(pieces.into_iter().map(|piece| match piece {
            Piece::Text(text) => Entry::Text { section: name.clone(), text },
            Piece::Pair(key, value) => Entry::Pair { section: name.clone(), key, value },
            Piece::Item(..) => item(piece),
        })),
    }
}

fn checkpoints(pieces: Vec<Piece>, entries: &mut Vec<Entry>) {
    let is_part = |(key, _): &Field| is_checkpoint_field(key);
    let shown = |text: &str| (!text.is_empty()).then(|| shown_checkpoint(text).into());
    if let Some(all) = whole_map(&pieces) {
        return entries.extend(checkpoint(&all));
    }
    for piece in pieces {
        entries.extend(match piece {
            Piece::Pair(phase, status) => checkpoint(&[("phase".into(), Some(phase)), ("status".into(), status)]),
            Piece::Item(fields, _) if fields.len() > 1 || fields.iter().any(is_part) => checkpoint(&fields),
            Piece::Item(_, text) | Piece::Text(text) => shown(&text),
        });
    }
}

/// The text of a piece. An item with a `task` has that as its text.
fn one_text(piece: Piece) -> String {
    match piece {
        Piece::Text(text) => text,
        Piece::Item(fields, text) => {
            let mut tasks = fields.into_iter().filter(|(key, _)| key == "task").filter_map(|(_, task)| task);
            tasks.find(|task| !task.is_empty()).unwrap_or(text)
        }
        Piece::Pair(key, Some(value)) if !value.is_empty() => format!("{key}: {value}"),
        Piece::Pair(key, _) => format!("{key}:"),
    }
}

/// Fields that only mark an item as a decision; what it is about is their value.
const NAMES: [&str; 6] = ["decision", "what", "choice", "key", "title", "name"];

/// Turns a piece into a decision. A decision without a key is its own key.
fn decision(section: &SectionName, piece: Piece, entries: &mut Vec<Entry>) {
    let mut push = |key: String, value| entries.push(Entry::Pair { section: section.clone(), key, value });
    match piece {
        Piece::Pair(key, value) => push(key, value),
        Piece::Item(_, text) | Piece::Text(text) if bold(&text).is_some() => {
            let (key, rest) = bold(&text).unwrap_or_default();
            push(key.to_owned(), Some(rest.to_owned()));
        }
        Piece::Item(mut fields, _) if fields.len() == 1 => {
            let (key, value) = fields.remove(0);
            push(key, value);
        }
        Piece::Item(mut fields, _) if fields.len() > 1 => {
            let (name, first) = fields.remove(0);
            let more = fields.iter().map(|(key, value)| format!("{key}: {}", value.as_deref().unwrap_or("null")));
            let more: Vec<String> = more.collect();
            // `- decision: X` with reasons below. The key is X, because other items have a field of the same name.
            if NAMES.contains(&&*name.to_lowercase()) && first.as_ref().is_some_and(|first| !first.is_empty()) {
                return push(first.unwrap_or_default(), Some(more.join("\n")));
            }
            let all = first.into_iter().chain(more);
            push(name, Some(all.collect::<Vec<_>>().join("\n")));
        }
        Piece::Item(_, text) | Piece::Text(text) if !text.is_empty() => push(text, Some(String::new())),
        Piece::Item(..) | Piece::Text(_) => {}
    }
}

fn is_checkpoint_field(key: &str) -> bool {
    matches!(key, "phase" | "status" | "updated")
}

/// The fields of a section that is one checkpoint: a map with a phase.
fn whole_map(pieces: &[Piece]) -> Option<Vec<Field>> {
    let field = |piece: &Piece| match piece {
        Piece::Pair(key, value) => Some((key.clone(), value.clone())),
        _ => None,
    };
    let all: Vec<_> = pieces.iter().map(field).collect::<Option<_>>()?;
    all.iter().any(|(key, _)| key == "phase").then_some(all)
}

fn checkpoint(fields: &[Field]) -> Option<Entry> {
    let value = |name: &str| fields.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.clone());
    let more = fields.iter().filter(|(key, _)| !is_checkpoint_field(key)).map(|(key, value)| {
        let value = value.as_ref().map_or("null".to_owned(), |value| yaml_scalar::written(value));
        format!("{}: {value}", yaml_scalar::written(key))
    });
    let checkpoint = Checkpoint {
        phase: value("phase").unwrap_or_default(),
        status: value("status").unwrap_or_default(),
        updated: value("updated").unwrap_or_default(),
        more: more.collect::<Vec<_>>().join("\n"),
    };
    (!fields.is_empty()).then(|| checkpoint.into())
}

/// Parses a checkpoint in the form of `current.md`, `Phase 5: validated (2026-01-10T13:00:00Z, toast)`, or any text.
pub fn shown_checkpoint(text: &str) -> Checkpoint {
    let (phase, status) = match yaml_scalar::pair(text) {
        Some((phase, status)) => (phase.into_owned(), status),
        None => (text.to_owned(), ""),
    };
    let phase = phase.strip_prefix("Phase ").or(phase.strip_prefix("phase ")).unwrap_or(&phase).to_owned();
    let reached = status.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")).and_then(|(status, inside)| {
        let (updated, agent) = inside.split_once(", ").unwrap_or((inside, ""));
        event_time::parse_note(updated).map(|_| (status, updated, agent))
    });
    let (status, updated, agent) = reached.unwrap_or((status, "", ""));
    let more = if agent.is_empty() { String::new() } else { format!("agent: {}", yaml_scalar::written(agent)) };
    Checkpoint { phase, status: status.to_owned(), updated: updated.to_owned(), more }
}
