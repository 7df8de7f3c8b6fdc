//! The sections of a text that is one YAML map, as handoff files have them: lists, maps, and lists of maps.

use std::collections::{HashMap, HashSet, hash_map};

use serde_yaml::{Mapping, Value};

use crate::body::NOTES;
use crate::entry::{Checkpoint, Entry};
use crate::front_sections::{as_written, fields, map_of};
use crate::section::{Section, SectionName, meant};
use crate::{markdown, scalar};

/// Keys that name what a map is about, and keys that say it.
const NAMES: [&str; 4] = ["topic", "name", "title", "key"];
const TEXTS: [&str; 6] = ["task", "decision", "choice", "what", "text", "value"];
/// Keys that number maps. Other files have the same numbers.
const NUMBERS: [&str; 2] = ["id", "phase"];

/// How many marks of comments in one line are looked at.
const MARKS: usize = 8;

/// The entries of a YAML map, its comments included. None: the text is not one.
pub fn entries(text: &str) -> Option<Vec<Entry>> {
    let map = map_of(text).filter(|map| !map.is_empty())?;
    let fields = fields(&as_written(text));
    (fields.len() == map.len()).then(|| of_fields(text, &fields))
}

/// The entries of some fields of a YAML map, and its comments.
pub fn of_fields<'f>(text: &str, fields: impl IntoIterator<Item = &'f (String, Value)>) -> Vec<Entry> {
    let nulls = nulls(text);
    let mut all = Vec::new();
    for (key, value) in fields {
        all.extend(section(key, value, &nulls));
    }
    // Empty text says nothing.
    all.retain(|entry| !matches!(entry, Entry::Text { text, .. } | Entry::Item { text, .. } if text.trim().is_empty()));
    let mut all = joined_keys(all);
    let comments = comments(text, &all);
    all.extend(comments);
    all
}

/// The keys whose value is written as null. An empty value is null for YAML too, but removes nothing.
fn nulls(text: &str) -> HashSet<&str> {
    let null = |line: &str| scalar::pair(line).is_some_and(|(_, value)| matches!(value, "null" | "~"));
    let key = |line: &'_ str| line.split_once(':').map_or("", |(key, _)| key).len();
    text.lines()
        .map(str::trim)
        .filter(|line| null(line))
        .map(|line| line[..key(line)].trim_matches(['"', '\'']))
        .collect()
}

/// The comments of a text as notes, at the ends of lines too, unless an entry has the same words with their `#`.
fn comments(text: &str, entries: &[Entry]) -> Vec<Entry> {
    let bare = |text: &'_ str| text.trim().trim_end_matches(['"', '\'']).len();
    let said = entries.iter().flat_map(texts).flat_map(str::lines);
    let marked = said.flat_map(|line| line.match_indices('#').take(MARKS).map(|(at, _)| &line[at..]));
    let said: HashSet<&str> = marked.map(|text| &text[..bare(text)]).collect();
    let comment = |line: &str| {
        let line = line.trim();
        let own = Some(line).filter(|line| line.starts_with('#'));
        let marked = own.or_else(|| line.find(" #").or(line.find("\t#")).map(|at| &line[at + 1..]))?;
        let marked = &marked[..bare(marked)];
        let comment = marked.trim_start_matches('#').trim();
        (!comment.is_empty() && !said.contains(marked)).then(|| item(NOTES.into(), comment.to_owned()))
    };
    text.lines().filter_map(comment).collect()
}

/// What an entry says.
fn texts(entry: &Entry) -> Vec<&str> {
    match entry {
        Entry::Text { text, .. } | Entry::Item { text, .. } => vec![text],
        Entry::Pair { key, value, .. } => vec![key, value.as_deref().unwrap_or_default()],
        Entry::Checkpoint(Checkpoint { phase, status, updated, more }) => vec![phase, status, updated, more],
    }
}

/// Joins the values that one key has several times, because only one of them would be shown.
pub fn joined_keys(entries: Vec<Entry>) -> Vec<Entry> {
    let mut joined: Vec<Entry> = Vec::new();
    let mut places: HashMap<(SectionName, String), usize> = HashMap::new();
    for entry in entries {
        let Entry::Pair { section, key, value: Some(more) } = &entry else {
            joined.push(entry);
            continue;
        };
        match places.entry((section.clone(), key.clone())) {
            hash_map::Entry::Occupied(at) => {
                if let Entry::Pair { value: Some(value), .. } = &mut joined[*at.get()]
                    && value != more
                {
                    value.push_str(&format!("\n{more}"));
                }
            }
            hash_map::Entry::Vacant(place) => {
                place.insert(joined.len());
                joined.push(entry);
            }
        }
    }
    joined
}

fn item(section: SectionName, text: String) -> Entry {
    Entry::Item { section, text }
}

fn section(key: &str, value: &Value, nulls: &HashSet<&str>) -> Vec<Entry> {
    let name = SectionName::from_spelling(key.to_owned());
    let known = meant(name.clone()).section();
    let entry = |value: &Value| match (known, value) {
        (_, Value::Null) => None,
        (Some(Section::Decisions), Value::Mapping(map)) => {
            let (key, value) = decision(map);
            Some(Entry::Pair { section: name.clone(), key, value: Some(value) })
        }
        (Some(Section::Checkpoints), Value::Mapping(map)) => Some(checkpoint(map)),
        (Some(Section::Decisions), value) => markdown::decision(name.clone(), &text(value)),
        (Some(Section::Checkpoints), value) => markdown::checkpoint(&text(value)),
        (_, value) => Some(item(name.clone(), text(value))),
    };
    let pair = |(key, value): (&Value, &Value)| {
        let key = scalar::plain(key);
        let value = match value {
            Value::Null => (!nulls.contains(&*key)).then(String::new),
            value => Some(text(value)),
        };
        Entry::Pair { section: name.clone(), key, value }
    };
    match value {
        Value::Sequence(items) => items.iter().filter_map(entry).collect(),
        Value::Mapping(map) if known == Some(Section::Checkpoints) => map.iter().map(phase).collect(),
        Value::Mapping(map) => map.iter().map(pair).collect(),
        Value::Null => Vec::new(),
        value if matches!(known, Some(Section::Decisions | Section::Checkpoints)) => entry(value).into_iter().collect(),
        value => vec![Entry::Text { section: name.clone(), text: text(value) }],
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
    let named = named.or_else(|| has(&NUMBERS).filter(|_| map.len() > 1));
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
fn checkpoint(map: &Mapping) -> Entry {
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
        format!("{}: {}", scalar::written(&scalar::plain(key)), scalar::written(&text(value).replace('\n', "; ")))
    };
    Entry::Checkpoint(Checkpoint { phase, status, updated, more: rest.iter().map(more).collect::<Vec<_>>().join("\n") })
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
