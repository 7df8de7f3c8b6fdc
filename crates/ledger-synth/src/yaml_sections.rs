//! The sections of a text that is one YAML map, as handoff files have them: lists, maps, and lists of maps.

use serde_yaml::{Mapping, Value};

use crate::body::NOTES;
use crate::entry::{Checkpoint, Entry};
use crate::front_sections::{as_written, fields, map_of, meant};
use crate::scalar;
use crate::section::{Section, SectionName};

/// Keys that name what a map is about, and keys that say it.
const NAMES: [&str; 6] = ["topic", "name", "title", "key", "id", "phase"];
const TEXTS: [&str; 6] = ["task", "decision", "choice", "what", "text", "value"];

/// The entries of a YAML map, its comments included. None: the text is not one.
pub fn entries(text: &str) -> Option<Vec<Entry<'static>>> {
    // A text that is too large or too deep to be parsed has no fields.
    let map = map_of(text).filter(|map| !map.is_empty())?;
    let fields = fields(&as_written(text));
    if fields.len() != map.len() {
        return None;
    }
    let mut all: Vec<_> = fields.iter().flat_map(|(key, value)| section(key, value)).collect();
    join_repeated_keys(&mut all);
    let comments = comments(text, &all);
    all.extend(comments);
    Some(all)
}

/// The comments of a text as notes, at the ends of lines too, unless an entry has the same words with their `#`.
fn comments(text: &str, entries: &[Entry<'static>]) -> Vec<Entry<'static>> {
    let said: String = entries.iter().flat_map(texts).map(|text| format!("{text}\n")).collect();
    let comment = |line: &str| {
        let own = Some(line.trim()).filter(|line| line.starts_with('#'));
        let marked = own.or_else(|| line.find(" #").map(|at| &line[at + 1..]))?.trim().trim_end_matches(['"', '\'']);
        let comment = marked.trim_start_matches('#').trim();
        (!comment.is_empty() && !said.contains(marked)).then(|| item(NOTES.into(), comment.to_owned()))
    };
    text.lines().filter_map(comment).collect()
}

/// What an entry says.
fn texts<'e>(entry: &'e Entry<'static>) -> Vec<&'e str> {
    match entry {
        Entry::Text { text, .. } | Entry::Item { text, .. } => vec![text],
        Entry::Pair { key, value, .. } => vec![key, value.as_deref().unwrap_or_default()],
        Entry::Checkpoint(Checkpoint { phase, status, updated, more }) => vec![phase, status, updated, more],
    }
}

/// Joins the values of a key that several maps of a list have, because only one of them would be shown.
fn join_repeated_keys(entries: &mut Vec<Entry<'static>>) {
    let mut joined: Vec<Entry<'static>> = Vec::new();
    for entry in entries.drain(..) {
        let held = joined.iter_mut().find_map(|held| match (held, &entry) {
            (Entry::Pair { section: a, key: k, value }, Entry::Pair { section: b, key: l, .. }) if a == b && k == l => {
                value.as_mut()
            }
            _ => None,
        });
        match (held, entry) {
            (Some(value), Entry::Pair { value: Some(more), .. }) => *value = format!("{value}\n{more}").into(),
            (_, entry) => joined.push(entry),
        }
    }
    *entries = joined;
}

fn item(section: SectionName<'static>, text: String) -> Entry<'static> {
    Entry::Item { section, text: text.into() }
}

fn section(key: &str, value: &Value) -> Vec<Entry<'static>> {
    let name = SectionName::from_spelling(key.to_owned().into());
    let entry = |value: &Value| match (meant(name.clone()).section(), value) {
        (_, Value::Null) => None,
        (Some(Section::Decisions), Value::Mapping(map)) => {
            let (key, value) = decision(map);
            Some(Entry::Pair { section: name.clone(), key: key.into(), value: Some(value.into()) })
        }
        (Some(Section::Checkpoints), Value::Mapping(map)) => Some(checkpoint(map)),
        (_, value) => Some(item(name.clone(), text(value))),
    };
    let pair = |(key, value): (&Value, &Value)| Entry::Pair {
        section: name.clone(),
        key: scalar::plain(key).into(),
        value: Some(text(value).into()),
    };
    match value {
        Value::Sequence(items) => items.iter().filter_map(entry).collect(),
        Value::Mapping(map) if meant(name.clone()).section() == Some(Section::Checkpoints) => {
            map.iter().map(phase).collect()
        }
        Value::Mapping(map) => map.iter().map(pair).collect(),
        Value::Null => Vec::new(),
        value => vec![Entry::Text { section: name.clone(), text: text(value).into() }],
    }
}

/// A value in words: a list in brackets, the fields of a map in lines.
fn text(value: &Value) -> String {
    match value {
        Value::Sequence(items) if items.iter().all(|item| !matches!(item, Value::Mapping(_))) => {
            format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(", "))
        }
        Value::Sequence(items) => items.iter().map(text).collect::<Vec<_>>().join("\n"),
        Value::Mapping(map) => said(map, &TEXTS[..1]),
        Value::Null => "null".to_owned(),
        Value::Tagged(tagged) => text(&tagged.value),
        value => scalar::plain(value),
    }
}

/// The fields of a map in lines, the first that is in `bare` without its name.
fn said(map: &Mapping, bare: &[&str]) -> String {
    let is_bare = |key: &&Value| bare.iter().any(|name| scalar::plain(key).eq_ignore_ascii_case(name));
    let first = map.keys().find(is_bare);
    let field = |(key, value): (&Value, &Value)| format!("{}: {}", scalar::plain(key), text(value));
    let rest = map.iter().filter(|(key, _)| Some(*key) != first).map(field);
    first.and_then(|key| map.get(key)).map(text).into_iter().chain(rest).collect::<Vec<_>>().join("\n")
}

/// The key and the value of a decision: what the map is about, and the rest of it.
fn decision(map: &Mapping) -> (String, String) {
    let has =
        |names: &[&str]| map.keys().find(|key| names.iter().any(|name| scalar::plain(key).eq_ignore_ascii_case(name)));
    let named = has(&NAMES).filter(|_| map.len() > 1).or_else(|| has(&TEXTS));
    let rest = |key: &Value| map.iter().filter(|(own, _)| *own != key).map(|(k, v)| (k.clone(), v.clone())).collect();
    match (named, map.iter().next()) {
        (Some(key), _) => (map.get(key).map(text).unwrap_or_default(), said(&rest(key), &TEXTS)),
        (None, Some((key, value))) => {
            let more = said(&rest(key), &[]);
            let gap = if more.is_empty() { "" } else { "\n" };
            (scalar::plain(key), format!("{}{gap}{more}", text(value)))
        }
        (None, None) => (String::new(), String::new()),
    }
}

/// A checkpoint from its fields. What has no place in a checkpoint stands below it.
fn checkpoint(map: &Mapping) -> Entry<'static> {
    let mut rest = map.clone();
    let mut take = |names: &[&str]| {
        let is_it = |key: &&Value| names.iter().any(|name| scalar::plain(key).eq_ignore_ascii_case(name));
        let key = rest.keys().find(is_it).cloned();
        key.and_then(|key| rest.shift_remove(&key)).map(|value| text(&value)).unwrap_or_default()
    };
    let (phase, status) = (take(&["phase", "name", "id", "title"]), take(&["status", "state"]));
    let updated = take(&["updated", "time", "ts", "date"]);
    // As the grammar of events has it.
    let more = |(key, value): (&Value, &Value)| {
        format!("{}: {}", scalar::written(&scalar::plain(key)), scalar::written(&text(value)))
    };
    Entry::Checkpoint(Checkpoint {
        phase: phase.into(),
        status: status.into(),
        updated: updated.into(),
        more: rest.iter().map(more).collect::<Vec<_>>().join("\n").into(),
    })
}

/// A checkpoint from its phase and the rest.
fn phase((key, value): (&Value, &Value)) -> Entry<'static> {
    let mut map = match value {
        Value::Mapping(map) => map.clone(),
        value => Mapping::from_iter([("status".into(), value.clone())]),
    };
    map.insert("phase".into(), key.clone());
    checkpoint(&map)
}
