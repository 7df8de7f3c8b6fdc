//! The sections of a YAML map, as handoff files have them: lists, maps, and lists of maps.

use std::collections::HashSet;

use serde_yaml::{Mapping, Value};

use crate::entry::{Checkpoint, Entry};
use crate::entry_from_text::entry_from_text;
use crate::section::{Section, SectionName};
use crate::yaml_scalar;

/// Keys that name what a map is about, and keys that say it.
const NAMES: [&str; 4] = ["topic", "name", "title", "key"];
const TEXTS: [&str; 6] = ["task", "decision", "choice", "what", "text", "value"];
/// Keys that number maps. Other files have the same numbers.
const NUMBERS: [&str; 2] = ["id", "phase"];
/// Keys of a checkpoint that have a place in it.
const STATUS: [&str; 2] = ["status", "state"];
const REACHED: [&str; 4] = ["updated", "time", "ts", "date"];

/// The entries of a YAML map, given as its text and its fields. `said` is what of it is told elsewhere, and `is_label`
/// is true for the keys of that.
pub fn entries(text: &str, fields: &[(String, Value)], said: &[&str], is_label: impl Fn(&str) -> bool) -> Vec<Entry> {
    let nulls = nulls(text);
    let entries: Vec<Entry> = fields.iter().flat_map(|(key, value)| section(key, value, &nulls)).collect();
    let notes = unread(text, &entries, said, is_label);
    [entries, notes].concat()
}

/// The keys whose value is written as null. An empty value is null for YAML too, but removes nothing.
fn nulls(text: &str) -> HashSet<String> {
    let null = text.lines().filter_map(yaml_scalar::pair).filter(|(_, value)| matches!(*value, "null" | "~"));
    null.map(|(key, _)| key.into_owned()).collect()
}

/// What of a text no entry says, as notes: comments, and lines that YAML reads in other words.
fn unread(text: &str, entries: &[Entry], said: &[&str], is_label: impl Fn(&str) -> bool) -> Vec<Entry> {
    let pieces = entries.iter().flat_map(|entry| {
        let phase = matches!(entry, Entry::Checkpoint(_)).then_some("Phase");
        [entry.section().as_str()].into_iter().chain(phase).chain(entry.texts())
    });
    let held = pieces.chain(said.iter().copied()).collect::<Vec<_>>().join("\n");
    let held_words = words(&held);
    let is_held = |text: &str| held_words.contains(&words(text));
    let is_told = |pair: &str| {
        let pair = pair.trim();
        let value = yaml_scalar::value_of(pair);
        let key = pair.strip_suffix(value).unwrap_or_default().trim_matches(['-', ' ', ':', '"', '\'']);
        let is_one_of = |names: &&[&str]| names.contains(&&*key.to_lowercase());
        let is_name = || is_label(key) || LABELS.iter().any(is_one_of) || Section::meant(key).is_some();
        is_held(value) && (is_held(key) || is_name())
    };
    let mut notes = Vec::new();
    for line in text.lines().map(str::trim) {
        let (line, comment) = without_comment(line);
        let begins = [line.trim_start_matches(['-', ' ']), yaml_scalar::value_of(line)];
        let pieces = match begins.into_iter().find(|text| text.starts_with(['[', '{'])) {
            Some(flow) => flow.split([',', '[', ']', '{', '}']).chain(line.strip_suffix(flow)).collect(),
            None => vec![line],
        };
        if !pieces.into_iter().all(&is_told) {
            notes.push(Entry::note(line));
        }
        if !held.contains(comment.trim_end_matches(['"', '\''])) {
            notes.push(Entry::note(comment.trim_start_matches('#').trim()));
        }
    }
    notes.retain(|note| !note.texts().concat().is_empty());
    notes
}

/// A line of YAML, and the comment behind it.
fn without_comment(line: &str) -> (&str, &str) {
    let value = yaml_scalar::value_of(line);
    // A quote may have ` #` in it.
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let from = line.len() - value.len() + quote.and_then(|quote| value.rfind(quote)).unwrap_or(0);
    match line[from..].find(" #").or_else(|| line[from..].find("\t#")) {
        _ if line.starts_with('#') => ("", line),
        Some(at) => (&line[..from + at], &line[from + at + 1..]),
        None => (line, ""),
    }
}

/// Keys that an entry may not repeat.
const LABELS: [&[&str]; 5] = [&NAMES, &TEXTS, &NUMBERS, &STATUS, &REACHED];

/// The words of a text with one blank around each. Marks and quotes are not words.
fn words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(String::from(" "), |all, word| all + word + " ")
}

fn section(key: &str, value: &Value, nulls: &HashSet<String>) -> Vec<Entry> {
    let name = SectionName::meant(key);
    let known = name.section();
    let entry = |value: &Value| match (known, value) {
        (Some(Section::Decisions), Value::Mapping(map)) => {
            let (key, value) = decision(map);
            Some(Entry::Pair { section: name.clone(), key, value: Some(value) })
        }
        (Some(Section::Checkpoints), Value::Mapping(map)) => Some(checkpoint(map)),
        (_, Value::Null) => None,
        (_, value) => Some(text(value)).filter(|text| !text.trim().is_empty()).map(|text| entry_from_text(&name, text)),
    };
    let pair = |(key, value): (&Value, &Value)| {
        let key = yaml_scalar::plain(key);
        let is_null = value.is_null() && nulls.contains(&key);
        let value = if value.is_null() && !is_null { String::new() } else { text(value) };
        match known {
            Some(Section::Decisions) => {
                Entry::Pair { section: name.clone(), key, value: Some(value).filter(|_| !is_null) }
            }
            _ => entry_from_text(&name, format!("{key}: {value}")),
        }
    };
    let entries: Vec<Entry> = match value {
        Value::Sequence(items) => items.iter().filter_map(entry).collect(),
        Value::Mapping(map) if known == Some(Section::Checkpoints) => map.iter().map(phase).collect(),
        Value::Mapping(map) => map.iter().map(pair).collect(),
        value => entry(value).into_iter().collect(),
    };
    match entries.is_empty() && known.is_none() {
        // It may be all that somebody wrote.
        true => vec![Entry::note(key)],
        false => entries,
    }
}

/// A value in words: a list in brackets, the fields of a map in lines.
fn text(value: &Value) -> String {
    match value {
        Value::Sequence(items) if items.iter().all(|item| !matches!(item, Value::Mapping(_))) => {
            format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(", "))
        }
        Value::Sequence(items) => items.iter().map(text).collect::<Vec<_>>().join("\n"),
        Value::Mapping(map) => in_lines(map, &TEXTS[..1]),
        Value::Null => "null".to_owned(),
        Value::Tagged(tagged) => text(&tagged.value),
        value => yaml_scalar::plain(value),
    }
}

/// The fields of a map in lines, the first that is in `bare` without its name.
fn in_lines(map: &Mapping, bare: &[&str]) -> String {
    let first = key_of(map, bare);
    let field = |(key, value): (&Value, &Value)| format!("{}: {}", yaml_scalar::plain(key), text(value));
    let rest = map.iter().filter(|(key, _)| Some(*key) != first).map(field);
    first.and_then(|key| map.get(key)).map(text).into_iter().chain(rest).collect::<Vec<_>>().join("\n")
}

/// The first key that has one of these names.
fn key_of<'m>(map: &'m Mapping, names: &[&str]) -> Option<&'m Value> {
    map.keys().find(|key| names.iter().any(|name| yaml_scalar::plain(key).eq_ignore_ascii_case(name)))
}

/// Takes the value of the first key that has one of these names, in words.
fn take(map: &mut Mapping, names: &[&str]) -> Option<String> {
    let key = key_of(map, names)?.clone();
    map.shift_remove(&key).map(|value| text(&value))
}

/// The key and the value of a decision: what the map is about, and the rest of it.
fn decision(map: &Mapping) -> (String, String) {
    let mut rest = map.clone();
    let is_more = map.len() > 1;
    let named = if is_more { take(&mut rest, &NAMES) } else { None }.or_else(|| take(&mut rest, &TEXTS));
    match named.or_else(|| if is_more { take(&mut rest, &NUMBERS) } else { None }) {
        Some(key) => (key, in_lines(&rest, &TEXTS)),
        None => {
            let first = map.keys().next().map(yaml_scalar::plain).unwrap_or_default();
            let value = in_lines(map, &[&first]);
            (first, value)
        }
    }
}

/// A checkpoint from its fields. What has no place in a checkpoint stands below it.
fn checkpoint(map: &Mapping) -> Entry {
    let mut rest = map.clone();
    let mut part = |names: &[&str]| take(&mut rest, names).unwrap_or_default();
    let (phase, status, updated) = (part(&["phase", "name", "id", "title"]), part(&STATUS), part(&REACHED));
    // As the grammar of events has it.
    let more = |(key, value): (&Value, &Value)| {
        let value = text(value).replace('\n', "; ");
        format!("{}: {}", yaml_scalar::written(&yaml_scalar::plain(key)), yaml_scalar::written(&value))
    };
    Checkpoint { phase, status, updated, more: rest.iter().map(more).collect::<Vec<_>>().join("\n") }.into()
}

/// A checkpoint from its phase and the rest.
fn phase((key, value): (&Value, &Value)) -> Entry {
    let mut map = match value {
        Value::Mapping(map) => map.clone(),
        value => Mapping::from_iter([("status".into(), value.clone())]),
    };
    // It may have a phase of its own.
    let name = if map.contains_key("phase") { "name" } else { "phase" };
    map.insert(name.into(), key.clone());
    checkpoint(&map)
}
