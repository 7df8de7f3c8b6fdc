//! Sections in a frontmatter, as the first ledger tool and many handoff files have them.

use serde_yaml::{Mapping, Value};

use crate::body::{self, Grammar, NOTES};
use crate::entry::Entry;
use crate::scalar;
use crate::section::{Section, SectionName};

pub const TIME_KEYS: [&str; 5] = ["ts", "timestamp", "date", "updated", "created"];
pub const AGENT_KEYS: [&str; 3] = ["agent", "author", "session"];
const WORD_KEYS: [&str; 2] = ["branch", "type"];
const PROSE_KEYS: [&str; 2] = ["reason", "title"];

/// Limits on a frontmatter that is parsed as YAML, which costs the square of its nesting.
const FRONT_LIMIT: usize = 16 << 10;
const FRONT_DEPTH: usize = 64;

/// The sections in the frontmatter of an event. There are none unless one of them has rules of its own: other keys are
/// not for us.
pub fn of_event(front: &str) -> Vec<Entry<'static>> {
    let is_section = |line: &str| {
        line.split_once(':').is_some_and(|(key, _)| !is_meta(key) && Section::from_spelling(key.trim()).is_some())
    };
    if !front.lines().any(is_section) {
        return Vec::new();
    }
    all(front, &fields(front), Grammar::Event)
}

/// What a frontmatter says besides who, when and what about.
pub fn all(front: &str, fields: &[(String, Value)], grammar: Grammar) -> Vec<Entry<'static>> {
    let own = |text: String| body::parse(&text, grammar).into_iter().map(Entry::into_owned).collect::<Vec<_>>();
    let mut entries = Vec::new();
    for (key, value) in fields.iter().filter(|(key, _)| !is_meta(key)) {
        let name = SectionName::from_spelling(key.into());
        entries.extend(own(section(&name, value)));
    }
    if grammar == Grammar::Whole && is_map(front) {
        let comments = front.lines().filter_map(|line| line.trim_start().strip_prefix('#')).map(str::trim);
        let comments = comments.filter(|text| !text.is_empty());
        entries.extend(comments.map(|text| Entry::Item { section: NOTES.into(), text: text.to_owned().into() }));
    }
    // A frontmatter that is not a YAML map is read line by line, as bodies are.
    if !is_map(front) {
        let is_meta = |line: &&str| line.split_once(':').is_some_and(|(key, _)| is_meta(key.trim()));
        entries.extend(own(front.lines().filter(|line| !is_meta(line)).map(|line| format!("{line}\n")).collect()));
    }
    entries
}

fn is_meta(key: &str) -> bool {
    let all = [&TIME_KEYS[..], &AGENT_KEYS, &WORD_KEYS, &PROSE_KEYS];
    all.into_iter().flatten().any(|known| known.eq_ignore_ascii_case(key))
}

/// Renders a field of the frontmatter as a section of a body: lists as lists, maps as maps.
fn section(name: &SectionName<'_>, value: &Value) -> String {
    let name = scalar::written(name.as_str());
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

/// Parses a text that is one YAML map. None: it is not, or it nests so deeply that parsing would cost too much.
pub fn map_of(text: &str) -> Option<Mapping> {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    match serde_yaml::from_str(if deepest > FRONT_DEPTH { "" } else { text }) {
        Ok(Value::Mapping(map)) => Some(map),
        _ => None,
    }
}

/// Whether a frontmatter is a YAML map or empty.
fn is_map(front: &str) -> bool {
    front.trim().is_empty() || matches!(serde_yaml::from_str(shallow(front)), Ok(Value::Mapping(_)))
}

/// The fields of a frontmatter. If it is not a YAML map, only the fields that take one line each.
pub fn fields(front: &str) -> Vec<(String, Value)> {
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
