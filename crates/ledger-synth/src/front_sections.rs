//! Sections in a frontmatter, as the first ledger tool and many handoff files have them.

use std::borrow::Cow;

use serde_yaml::{Mapping, Value};

use crate::body;
use crate::entry::Entry;
use crate::section::{Section, SectionName, Shape};
use crate::yaml_scalar;

const TIME_KEYS: [&str; 5] = ["ts", "timestamp", "date", "updated", "created"];
const AGENT_KEYS: [&str; 3] = ["agent", "author", "session"];
const WORD_KEYS: [&str; 2] = ["branch", "type"];
const PROSE_KEYS: [&str; 2] = ["reason", "title"];

/// The deepest nesting of a text that is parsed as YAML, which costs the square of it, and the most aliases.
const DEPTH: usize = 64;

/// The sections in the frontmatter of an event. There are none unless one of them has rules of its own: other keys are
/// not for us.
pub fn of_event(front: &str) -> Vec<Entry> {
    let is_section = |key: &str| !is_meta(key) && Section::from_spelling(key).is_some();
    let begins_one =
        |line: &str| line.split_once(':').is_some_and(|(key, _)| is_section(key.trim().trim_matches(['"', '\''])));
    let is_flow = front.trim_start().starts_with('{');
    if !is_flow && !front.split_terminator('\n').any(begins_one) {
        return Vec::new();
    }
    let front = &*as_written(front);
    let fields = fields(front);
    // A map in brackets has no lines of its own.
    if is_flow && !fields.iter().any(|(key, _)| is_section(key)) {
        return Vec::new();
    }
    let others = fields.iter().filter(|(key, _)| !is_meta(key));
    let mut entries: Vec<Entry> =
        others.flat_map(|(key, value)| body::parse(&section(&SectionName::from_spelling(key.into()), value))).collect();
    // A frontmatter that is not a YAML map is read line by line, as bodies are.
    if !is_map(front) {
        let is_other = |line: &&str| line.split_once(':').is_none_or(|(key, _)| !is_meta(key.trim()));
        entries
            .extend(body::parse(&front.lines().filter(is_other).map(|line| format!("{line}\n")).collect::<String>()));
    }
    entries
}

fn is_meta(key: &str) -> bool {
    let all = [&TIME_KEYS[..], &AGENT_KEYS, &WORD_KEYS, &PROSE_KEYS];
    all.into_iter().flatten().any(|known| known.eq_ignore_ascii_case(key))
}

/// Renders a field of the frontmatter as a section of a body: lists as lists, maps as maps.
fn section(name: &SectionName, value: &Value) -> String {
    let is_text = !matches!(name.shape(), Some(Shape::Map | Shape::Checkpoints));
    let name = yaml_scalar::written(name.as_str());
    let written = |value: &Value| yaml_scalar::written(&yaml_scalar::plain(value));
    // An item that is a text is read as it is written.
    let field = |(key, value): (&Value, &Value)| match yaml_scalar::plain(value) {
        value if is_text && yaml_scalar::is_verbatim(&value) => format!("{}: {value}", written(key)),
        value => format!("{}: {}", written(key), yaml_scalar::written(&value)),
    };
    let item = |item: &Value| match item {
        Value::Mapping(map) if !map.is_empty() => map.iter().map(field).collect::<Vec<_>>().join("\n  "),
        item => written(item),
    };
    let lines: String = match value {
        Value::Sequence(items) => items.iter().map(|one| format!("- {}\n", item(one))).collect(),
        Value::Mapping(map) => map.iter().map(|(k, v)| format!("  {}: {}\n", written(k), written(v))).collect(),
        value if yaml_scalar::plain(value).is_empty() => return String::new(),
        value => return format!("{name}: {}\n", written(value)),
    };
    format!("{name}:\n{lines}")
}

/// Parses a text that is one YAML map. None: it is not, or it nests so deeply that parsing would cost too much.
pub fn map_of(text: &str) -> Option<Mapping> {
    match serde_yaml::from_str(shallow(text)) {
        Ok(Value::Mapping(map)) => Some(map),
        _ => None,
    }
}

/// Whether a frontmatter is a YAML map or empty.
pub fn is_map(front: &str) -> bool {
    front.trim().is_empty() || map_of(front).is_some()
}

/// The fields of a frontmatter. If it is not a YAML map, only the fields that take one line each.
pub fn fields(front: &str) -> Vec<(String, Value)> {
    match map_of(front) {
        Some(map) => map.into_iter().map(|(key, value)| (yaml_scalar::plain(&key), value)).collect(),
        None => front.lines().filter_map(line_field).collect(),
    }
}

/// The field of one line, if it tells who, when or where.
fn line_field(line: &str) -> Option<(String, Value)> {
    let (key, value) = line.split_once(": ").filter(|_| !line.starts_with([' ', '\t', '-', '#']))?;
    let is_prose = PROSE_KEYS.contains(&&*key.trim().to_lowercase());
    let value = Value::String(value.trim().trim_matches(['"', '\'']).to_owned());
    (is_meta(key.trim()) && !is_prose).then(|| (key.trim().to_owned(), value))
}

/// A frontmatter in which YAML reads words as they are written: numbers such as `3.10`, and ` #12`, which YAML takes for
/// a comment. Unchanged if it is no YAML map.
pub fn as_written(front: &str) -> Cow<'_, str> {
    if front.is_empty() || !is_map(front) {
        return front.into();
    }
    let mut fields: Vec<Vec<&str>> = Vec::new();
    for line in front.lines() {
        match fields.last_mut().filter(|_| line.is_empty() || line.starts_with([' ', '\t', '-', '#'])) {
            Some(field) => field.push(line),
            None => fields.push(vec![line]),
        }
    }
    let parsed = |text: &str| serde_yaml::from_str::<Value>(text).ok();
    let field = |lines: &Vec<&str>| {
        let as_is: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let written = field_as_written(lines);
        match (parsed(&as_is), parsed(&written)) {
            (Some(before), Some(after)) if says_the_same(&before, &after) => written,
            _ => as_is,
        }
    };
    fields.iter().map(field).collect::<String>().into()
}

/// The lines of one field, with all values as they are written.
fn field_as_written(lines: &[&str]) -> String {
    let mut block = None;
    let line = |line: &&str| {
        let is_inside = block.is_some_and(|margin| line.trim().is_empty() || yaml_scalar::indent(line) > margin);
        let value = yaml_scalar::value_of(line);
        let head = line.trim_end_matches([' ', '\t']).strip_suffix(value).filter(|_| !is_inside);
        let Some(head) = head else { return format!("{line}\n") };
        block = value.starts_with(['|', '>']).then(|| yaml_scalar::indent(line));
        format!("{}{}\n", key_as_written(head), yaml_scalar::as_written(value))
    };
    lines.iter().map(line).collect()
}

/// What stands before a value, with the key in quotes if YAML would spell it in another way: `3.10: pinned`.
fn key_as_written(head: &str) -> Cow<'_, str> {
    let key = head.trim_start_matches([' ', '\t', '-']).trim_end();
    let Some(key) = key.strip_suffix(':').filter(|key| !key.is_empty()) else { return head.into() };
    head.replacen(key, &yaml_scalar::as_written(key), 1).into()
}

/// Whether two values differ only in how words are spelled and in what YAML takes for comments.
fn says_the_same(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Mapping(before), Value::Mapping(after)) => {
            let is_same =
                |(a, b): ((&Value, &Value), (&Value, &Value))| says_the_same(a.0, b.0) && says_the_same(a.1, b.1);
            before.len() == after.len() && before.iter().zip(after).all(is_same)
        }
        (Value::Sequence(before), Value::Sequence(after)) => {
            before.len() == after.len() && before.iter().zip(after).all(|(a, b)| says_the_same(a, b))
        }
        (Value::String(before), Value::String(after)) => {
            after.strip_prefix(&**before).is_some_and(|tail| tail.is_empty() || tail.trim_start().starts_with('#'))
        }
        (Value::Number(_) | Value::Bool(_), Value::String(after)) => {
            let word = after.split([' ', '\t']).next().unwrap_or_default();
            serde_yaml::from_str::<Value>(word).is_ok_and(|value| value == *before)
        }
        (before, after) => before == after,
    }
}

/// The text, or nothing if it nests so deeply that parsing would cost too much.
fn shallow(text: &str) -> &str {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    // A line may open many lists: `- - - a`.
    let opened = |line: &str| {
        line.split(' ').filter(|word| !word.is_empty()).take_while(|word| matches!(*word, "-" | "?")).count()
    };
    let opened = text.lines().map(opened).max().unwrap_or_default();
    // An alias repeats what its anchor holds. Both stand where a value begins.
    let begins_value = |at: &usize| {
        let before = text[..*at].trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with(['\n', ':', '-', '[', '{', ','])
    };
    let count = |mark: u8| text.match_indices(char::from(mark)).filter(|(at, _)| begins_value(at)).count();
    let aliases = if count(b'&') > 0 { count(b'*') } else { 0 };
    if deepest.max(opened).max(aliases) > DEPTH { "" } else { text }
}
