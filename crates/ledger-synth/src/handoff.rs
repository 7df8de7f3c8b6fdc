//! Handoff files: what people and programs wrote for the next session before there were events.

use std::path::Path;

use jiff::Timestamp;
use serde_yaml::Value;

use crate::entry::Entry;
use crate::section::{Section, SectionName, Shape};
use crate::{body, event_file, instant, page, scalar};

const TIME_KEYS: [&str; 5] = ["ts", "timestamp", "date", "updated", "created"];
const AGENT_KEYS: [&str; 3] = ["agent", "author", "session"];
const WORD_KEYS: [&str; 2] = ["branch", "type"];
const PROSE_KEYS: [&str; 2] = ["reason", "title"];

/// Limits on a frontmatter that is parsed as YAML, which costs the square of its nesting.
const FRONT_LIMIT: usize = 16 << 10;
const FRONT_DEPTH: usize = 64;

/// What a handoff file says.
#[derive(Debug, Default)]
pub struct Handoff {
    /// When it was written: by its frontmatter, its text or its name.
    pub ts: Option<Timestamp>,
    pub agent: Option<String>,
    pub branch: Option<String>,
    pub kind: Option<String>,
    pub reason: Option<String>,
    pub title: Option<String>,
    pub entries: Vec<Entry<'static>>,
}

impl Handoff {
    pub fn parse(path: &Path, text: &str) -> Handoff {
        let (front, rest) = match event_file::split(text) {
            Ok(parts) => (parts.front, parts.body),
            Err(_) => ("", text),
        };
        let fields = fields(front);
        let all = |keys: &'static [&str]| {
            fields.iter().filter(|(key, _)| keys.contains(&&*key.to_lowercase())).map(|(_, value)| scalar::plain(value))
        };
        let field = |keys: &'static [&str]| all(keys).next().filter(|text| !text.is_empty());
        let ts = all(&TIME_KEYS).find_map(|text| instant::parse(&text));
        Handoff {
            ts: ts.or_else(|| page::updated(text)).or_else(|| named_time(path)),
            agent: field(&AGENT_KEYS).filter(|agent| !agent.trim().is_empty()),
            branch: field(&["branch"]),
            kind: field(&["type"]),
            reason: field(&["reason"]),
            title: field(&["title"]),
            entries: entries(front, &fields, rest),
        }
    }
}

fn is_meta(key: &str) -> bool {
    let key = &&*key.to_lowercase();
    TIME_KEYS.contains(key) || AGENT_KEYS.contains(key) || WORD_KEYS.contains(key) || PROSE_KEYS.contains(key)
}

/// What the body says, and what the frontmatter says besides who, when and what about.
fn entries(front: &str, fields: &[(String, Value)], rest: &str) -> Vec<Entry<'static>> {
    let mut entries = page::adopted(rest);
    for (key, value) in fields.iter().filter(|(key, _)| !is_meta(key)) {
        let name = SectionName::from_spelling(key.into());
        entries.extend(body::parse(&section(name.as_str(), value)).into_iter().map(Entry::into_owned));
    }
    // A frontmatter that is not a YAML map is read line by line, as bodies are.
    if !is_map(front) {
        let is_meta = |line: &&str| line.split_once(':').is_some_and(|(key, _)| is_meta(key.trim()));
        let lines: String = front.lines().filter(|line| !is_meta(line)).map(|line| format!("{line}\n")).collect();
        entries.extend(body::parse(&lines).into_iter().map(Entry::into_owned));
    }
    merged_registers(entries.into_iter().map(renamed))
}

/// Renders a field of the frontmatter as a section of a body: lists as lists, maps as maps.
fn section(name: &str, value: &Value) -> String {
    let line = |(key, value): (&Value, &Value)| {
        format!("{}: {}\n", scalar::written(&scalar::plain(key)), scalar::written(&scalar::plain(value)))
    };
    let lines: String = match value {
        Value::Sequence(items) => items
            .iter()
            .map(|item| match item {
                Value::Mapping(map) if !map.is_empty() => {
                    let lines: String = map.iter().map(line).collect();
                    lines
                        .lines()
                        .enumerate()
                        .map(|(n, line)| format!("{} {line}\n", if n == 0 { "-" } else { " " }))
                        .collect()
                }
                item => format!("- {}\n", scalar::written(&scalar::plain(item))),
            })
            .collect(),
        Value::Mapping(map) => map.iter().map(line).map(|line| format!("  {line}")).collect(),
        value => {
            let text = scalar::plain(value);
            return if text.is_empty() { String::new() } else { format!("{name}: {}\n", scalar::written(&text)) };
        }
    };
    format!("{name}:\n{lines}")
}

/// Whether a frontmatter is a YAML map or empty.
fn is_map(front: &str) -> bool {
    front.trim().is_empty() || matches!(serde_yaml::from_str(shallow(front)), Ok(Value::Mapping(_)))
}

/// The fields of a frontmatter. If it is not a YAML map, only the fields that take one line each.
fn fields(front: &str) -> Vec<(String, Value)> {
    if !is_map(front) {
        let fields = front.lines().filter(|line| !line.starts_with([' ', '\t', '-', '#'])).filter_map(|line| {
            let (key, value) = line.split_once(": ")?;
            Some((key.trim().to_owned(), Value::String(value.trim().trim_matches(['"', '\'']).to_owned())))
        });
        let is_prose = |key: &str| PROSE_KEYS.contains(&&*key.to_lowercase());
        return fields.filter(|(key, _)| is_meta(key) && !is_prose(key)).collect();
    }
    let Ok(Value::Mapping(map)) = serde_yaml::from_str(shallow(front)) else { return Vec::new() };
    map.into_iter().map(|(key, value)| (scalar::plain(&key), value)).collect()
}

/// The text, or nothing if it is too expensive to parse.
fn shallow(front: &str) -> &str {
    let is_deep = front.len() > FRONT_LIMIT || front.bytes().filter(|b| matches!(b, b'[' | b'{')).count() > FRONT_DEPTH;
    if is_deep { "" } else { front }
}

/// Parses the time at the beginning of a file's name. A day alone means its beginning.
fn named_time(path: &Path) -> Option<Timestamp> {
    let name = path.file_stem()?.to_string_lossy().into_owned();
    let day = name.get(..10)?;
    let clock = name.get(10..).and_then(|rest| rest.strip_prefix(['T', '_', '-']));
    let digits: Vec<&str> = clock
        .unwrap_or_default()
        .split(['-', '_', 'Z', '.'])
        .take_while(|p| p.len() == 2 && p.bytes().all(|b| b.is_ascii_digit()))
        .collect();
    let time = match digits.as_slice() {
        [h, m, s, ..] => format!("{h}:{m}:{s}"),
        [h, m] => format!("{h}:{m}:00"),
        _ => "00:00:00".to_owned(),
    };
    instant::parse(&format!("{day}T{time}Z")).or_else(|| instant::parse(&format!("{day}T00:00:00Z")))
}

/// The entry under the section that its name means, in the shape of that section.
fn renamed(entry: Entry<'static>) -> Entry<'static> {
    match entry {
        Entry::Text { section, text } => {
            let section = meant(section);
            match section.shape() {
                Some(Shape::List) => Entry::Item { section, text },
                _ => Entry::Text { section, text },
            }
        }
        Entry::Item { section, text } => {
            let section = meant(section);
            match section.shape() {
                Some(Shape::Register) => Entry::Text { section, text },
                _ => Entry::Item { section, text },
            }
        }
        Entry::Pair { section, key, value } => {
            let section = meant(section);
            match section.shape() {
                Some(Shape::List | Shape::Register) => {
                    let text = format!("{key}: {}", value.as_deref().unwrap_or("null"));
                    renamed(Entry::Item { section, text: text.into() })
                }
                _ => Entry::Pair { section, key, value },
            }
        }
        checkpoint @ Entry::Checkpoint(_) => checkpoint,
    }
}

/// The section that a name means in handoff files.
fn meant(name: SectionName<'static>) -> SectionName<'static> {
    let plain = name.as_str().to_lowercase().replace([' ', '-'], "_");
    let section = Section::ALL.into_iter().find(|section| section.aliases().contains(&plain.as_str()));
    section.map_or(name, SectionName::from)
}

/// Several texts of one register as one, because only one of them would be shown.
fn merged_registers(entries: impl Iterator<Item = Entry<'static>>) -> Vec<Entry<'static>> {
    let mut all: Vec<Entry<'static>> = Vec::new();
    for entry in entries {
        let held = all.iter_mut().find_map(|held| match (held, &entry) {
            (Entry::Text { section: a, text }, Entry::Text { section: b, .. }) if a == b => Some(text),
            _ => None,
        });
        match (held, entry) {
            (Some(text), Entry::Text { text: more, .. }) => *text = format!("{text}\n{more}").into(),
            (_, entry) => all.push(entry),
        }
    }
    all
}
