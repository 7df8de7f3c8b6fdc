//! The body of an event: a line grammar that takes what agents really write. It looks like YAML, and is
//! read like YAML where YAML would read text; but no line can spoil the others, and nothing is dropped.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_yaml::Value;

use crate::event::{Checkpoint, Entry};
use crate::scalar;

/// Sections whose merging is defined by name; all others are merged by their shape.
pub const KNOWN: [&str; 7] = ["now", "goal", "this_session", "decisions", "checkpoints", "open_questions", "resolved"];

/// A key at the margin is not longer, in characters, unless it is quoted.
const LONG_KEY: usize = 80;

/// Where text goes that stands in no section.
const NOTES: &str = "notes";

/// The name a section is merged under: known ones however they are spelt, others as written.
pub fn section_name(key: &str) -> Cow<'_, str> {
    if KNOWN.contains(&key) {
        return Cow::Borrowed(key);
    }
    let plain: String = key.to_lowercase().replace([' ', '-'], "_");
    match KNOWN.iter().find(|known| **known == plain) {
        Some(known) => Cow::Borrowed(*known),
        None => Cow::Borrowed(key),
    }
}

/// A field of a map in a list: its key, and its value unless that is null.
type Field = (String, Option<String>);

/// One section as it was written.
struct Section<'a> {
    name: Cow<'a, str>,
    parts: Vec<Part<'a>>,
    /// Whether it has a value of its own, which ends it for prose.
    has_text: bool,
}

/// A piece of a section.
enum Part<'a> {
    /// A value of the section itself.
    Text(Cow<'a, str>),
    /// A list item: its fields, where it is a map, and its text.
    Item(Vec<Field>, Cow<'a, str>),
    /// An entry of a map; no value is a tombstone.
    Pair(Cow<'a, str>, Option<Cow<'a, str>>),
}

/// Everything a body says.
pub fn parse(body: &str) -> Vec<Entry<'_>> {
    let lines: Vec<&str> = body.split('\n').map(|line| line.trim_end_matches([' ', '\t', '\r'])).collect();
    // The whole may be indented, or stand in a fence that says it is YAML.
    let lines = scalar::dedented(&lines);
    let lines = unfenced(&lines);
    let mut reader = Reader { lines, at: 0, sections: Vec::new(), unclosed: [usize::MAX; 2] };
    while reader.at < reader.lines.len() {
        reader.line();
    }
    let mut entries = Vec::new();
    for section in reader.sections {
        interpret(section, &mut entries);
    }
    // Empty text says nothing.
    entries.retain(|entry| !matches!(entry, Entry::Text { text, .. } | Entry::Item { text, .. } if text.is_empty()));
    entries
}

/// The lines between the marks, where all there is stands between them.
fn unfenced<'l, 'a>(lines: &'l [&'a str]) -> &'l [&'a str] {
    let from = lines.iter().take_while(|line| line.is_empty()).count();
    let to = lines.len() - lines[from..].iter().rev().take_while(|line| line.is_empty()).count();
    match &lines[from..to] {
        ["```yaml" | "```yml", inside @ .., "```"] | ["~~~yaml" | "~~~yml", inside @ .., "~~~"]
            if !inside.iter().any(|line| line.starts_with("```") || line.starts_with("~~~")) =>
        {
            inside
        }
        _ => lines,
    }
}

struct Reader<'l, 'a> {
    lines: &'l [&'a str],
    at: usize,
    sections: Vec<Section<'a>>,
    /// From which length on fences of backticks, and of tildes, are never closed.
    unclosed: [usize; 2],
}

impl<'l, 'a> Reader<'l, 'a> {
    /// Reads what begins at the current line.
    fn line(&mut self) {
        let line = self.lines[self.at];
        let indent = scalar::indent(line);
        if line.is_empty() || (indent == 0 && matches!(line, "---" | "...")) {
            self.at += 1;
        } else if indent > 0 {
            self.inside(line, indent);
        } else if let Some(close) = self.fence(line) {
            let text = self.lines[self.at..=close].join("\n");
            self.at = close + 1;
            self.push(Part::Item(Vec::new(), text.into()));
        } else if let Some(title) = heading(line) {
            self.at += 1;
            if let Some(title) = title {
                self.open(title.into());
            }
        } else if let Some(first) = scalar::bullet(line) {
            self.item(first, 0);
        } else if let Some((key, rest)) = scalar::pair(line).filter(|_| is_key_like(line)) {
            self.at += 1;
            self.section(key, rest);
        } else if let Some((key, rest)) = bold(line).filter(|(key, _)| KNOWN.contains(&&*section_name(key))) {
            // As `current.md` shows it.
            self.at += 1;
            self.section(key.into(), rest);
        } else {
            self.paragraph();
        }
    }

    /// An indented line that continues nothing: it belongs to the block of its section.
    fn inside(&mut self, line: &'a str, indent: usize) {
        if let Some(first) = scalar::bullet(&line[indent..]) {
            return self.item(first, indent);
        }
        if let Some((key, rest)) = scalar::pair(line) {
            self.at += 1;
            let block = self.block(indent);
            let value = match (rest.is_empty(), scalar::is_null(rest, block)) {
                (_, true) => None,
                (true, _) => Some(scalar::nested(block)),
                (false, _) => Some(scalar::text(rest, block)),
            };
            return self.push(Part::Pair(key, value));
        }
        let block = {
            let from = self.at;
            self.at = self.end_of(from, |line| scalar::indent(line) > 0);
            &self.lines[from..self.at]
        };
        self.push(Part::Text(scalar::nested(block)));
    }

    fn item(&mut self, first: &'a str, indent: usize) {
        self.at += 1;
        let rest = self.block(indent);
        let fields = fields(first, rest);
        if !first.is_empty() || !rest.is_empty() {
            let text = if first.is_empty() { scalar::nested(rest) } else { scalar::text(first, rest) };
            self.push(Part::Item(fields, text));
        }
    }

    /// `key:` or `key: value` at the left margin.
    fn section(&mut self, key: Cow<'a, str>, rest: &'a str) {
        self.open(key);
        if rest.is_empty() {
            return;
        }
        let block = self.block(0);
        let is_register = self.sections.last().is_some_and(|section| matches!(&*section.name, "now" | "goal"));
        match scalar::flow(rest, block).filter(|_| !is_register) {
            Some(Value::Sequence(items)) => {
                for item in &items {
                    self.push(Part::Item(pairs(item), scalar::plain(item).into()));
                }
            }
            Some(value) => {
                for (key, value) in pairs(&value) {
                    self.push(Part::Pair(key.into(), value.map(Cow::Owned)));
                }
            }
            None if scalar::is_null(rest, block) => {}
            None => self.push(Part::Text(scalar::text(rest, block))),
        }
    }

    /// Prose at the left margin: an item of the section that is open for it, else a note.
    fn paragraph(&mut self) {
        let (from, lines) = (self.at, self.lines);
        let goes_on = |line: &str| {
            scalar::indent(line) > 0
                || (scalar::bullet(line).is_none() && heading(line).is_none() && !is_key_like(line) && line != "---")
        };
        let end = from + 1 + lines[from + 1..].iter().take_while(|line| !line.is_empty() && goes_on(line)).count();
        self.at = end;
        let text = Part::Item(Vec::new(), scalar::text(lines[from], &lines[from + 1..end]));
        match self.sections.last_mut().filter(|section| !section.has_text) {
            Some(section) => section.parts.push(text),
            None => self.sections.push(Section { name: NOTES.into(), parts: vec![text], has_text: false }),
        }
    }

    /// The lines that are indented further, without blank ones at their end.
    fn block(&mut self, indent: usize) -> &'l [&'a str] {
        let from = self.at;
        self.at = self.end_of(from, |line| scalar::indent(line) > indent);
        let lines: &'l [&'a str] = self.lines;
        &lines[from..self.at]
    }

    fn end_of(&self, from: usize, belongs: impl Fn(&str) -> bool) -> usize {
        let all = self.lines[from..].iter().take_while(|line| line.is_empty() || belongs(line)).count();
        let blank = self.lines[from..from + all].iter().rev().take_while(|line| line.is_empty()).count();
        from + all - blank
    }

    /// Where the fence that this line opens is closed.
    fn fence(&mut self, line: &str) -> Option<usize> {
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = |line: &str| line.len() - line.trim_start_matches(mark).len();
        let open = length(line);
        let shortest = if mark == '`' { &mut self.unclosed[0] } else { &mut self.unclosed[1] };
        if open < 3 || open >= *shortest {
            return None;
        }
        let closes = |line: &str| length(line.trim_start()) >= open && line.trim_start_matches([' ', mark]).is_empty();
        let close = (self.at + 1..self.lines.len()).find(|at| closes(self.lines[*at]));
        if close.is_none() {
            // Nor will any later one be that is as long.
            *shortest = open;
        }
        close
    }

    fn open(&mut self, key: Cow<'a, str>) {
        let name = match section_name(&key) {
            Cow::Borrowed(known) if KNOWN.contains(&known) => {
                Cow::Borrowed(KNOWN[KNOWN.iter().position(|k| *k == known).unwrap_or(0)])
            }
            _ => key,
        };
        self.sections.push(Section { name, parts: Vec::new(), has_text: false });
    }

    fn push(&mut self, part: Part<'a>) {
        match self.sections.last_mut() {
            Some(section) => {
                section.has_text |= matches!(part, Part::Text(_));
                section.parts.push(part);
            }
            None => self.sections.push(Section { name: NOTES.into(), parts: vec![part], has_text: false }),
        }
    }
}

/// A Markdown heading, which opens a section; `Some(None)` for a YAML comment, which says nothing.
fn heading(line: &str) -> Option<Option<&str>> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let title = line[level..].trim();
    // Marks behind the title belong to it unless there is a blank before them.
    let bare = title.trim_end_matches('#');
    let title = if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { title };
    let title = title.trim_end_matches(':').trim_end();
    if level == 0 || level > 6 || !(line.len() == level || line[level..].starts_with([' ', '\t'])) {
        return None;
    }
    let is_section = !title.is_empty() && (level > 1 || KNOWN.contains(&&*section_name(title)));
    Some(is_section.then_some(title))
}

/// Whether a line at the left margin begins a section rather than a sentence.
fn is_key_like(line: &str) -> bool {
    let starts =
        line.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '\'' | '.' | '/' | '(' | '$'));
    let is_short = |key: &str| line.starts_with(['"', '\'']) || key.chars().count() <= LONG_KEY;
    starts && scalar::pair(line).is_some_and(|(key, _)| is_short(&key))
}

/// `**key:** text`, as `current.md` has it and people write it.
fn bold(line: &str) -> Option<(&str, &str)> {
    let inside = line.strip_prefix("**")?;
    let (key, rest) = inside.split_once(":**").or_else(|| inside.split_once("**:"))?;
    (!key.contains("**") && !key.is_empty()).then(|| (key, rest.trim()))
}

/// The fields of a list item that is a map, in the order written.
fn fields(first: &str, rest: &[&str]) -> Vec<Field> {
    if let Some(value) = scalar::flow(first, rest) {
        return pairs(&value);
    }
    // Most items are text: they are told without looking for more.
    let Some((key, value)) = scalar::pair(first) else { return Vec::new() };
    let lines = scalar::dedented(rest);
    let mut fields = Vec::new();
    let (mut key, mut value, mut from) = (key.into_owned(), value, 0);
    for at in 0..=lines.len() {
        let next = lines.get(at);
        if next.is_some_and(|line| line.is_empty() || scalar::indent(line) > 0) {
            continue;
        }
        let block = &lines[from..at];
        let text = match (value.is_empty(), scalar::is_null(value, block)) {
            (_, true) => None,
            (true, _) => Some(scalar::nested(block).into_owned()),
            (false, _) => Some(scalar::text(value, block).into_owned()),
        };
        fields.push((std::mem::take(&mut key), text));
        if let Some(line) = next {
            let Some((k, v)) = scalar::pair(line) else { return Vec::new() };
            (key, value, from) = (k.into_owned(), v, at + 1);
        }
    }
    fields
}

fn pairs(value: &Value) -> Vec<Field> {
    let Value::Mapping(map) = value else { return Vec::new() };
    map.iter().map(|(key, value)| (scalar::plain(key), (!value.is_null()).then(|| scalar::plain(value)))).collect()
}

/// What a section comes to, by its name or its shape.
fn interpret<'a>(section: Section<'a>, entries: &mut Vec<Entry<'a>>) {
    let Section { name, parts, .. } = section;
    match &*name {
        "now" | "goal" => {
            let texts: Vec<_> = parts.into_iter().map(one_text).filter(|text| !text.trim().is_empty()).collect();
            if let [_] = texts.as_slice() {
                entries.extend(texts.into_iter().map(|text| Entry::Text { section: name.clone(), text }));
            } else if !texts.is_empty() {
                entries.push(Entry::Text { section: name, text: texts.join("\n").into() });
            }
        }
        "decisions" => parts.into_iter().for_each(|part| decision(part, entries)),
        "checkpoints" => {
            if let Some(all) = whole_map(&parts) {
                return entries.extend(checkpoint(&all));
            }
            for part in parts {
                entries.extend(match part {
                    Part::Item(fields, _) if fields.len() > 1 => checkpoint(&fields),
                    Part::Pair(phase, status) => checkpoint(&[
                        ("phase".into(), Some(phase.into_owned())),
                        ("status".into(), status.map(Cow::into_owned)),
                    ]),
                    Part::Item(fields, text) if fields.iter().all(|(key, _)| !is_checkpoint_field(key)) => {
                        shown_checkpoint(&text)
                    }
                    Part::Item(fields, _) => checkpoint(&fields),
                    Part::Text(text) => shown_checkpoint(&text),
                });
            }
        }
        _ => {
            let is_list = matches!(&*name, "this_session" | "open_questions" | "resolved");
            for part in parts {
                entries.push(match part {
                    Part::Text(text) if !is_list => Entry::Text { section: name.clone(), text },
                    Part::Pair(key, value) if !is_list => Entry::Pair { section: name.clone(), key, value },
                    part => Entry::Item { section: name.clone(), text: one_text(part) },
                });
            }
        }
    }
}

/// A piece as text. Of an item with a `task` that is its text.
fn one_text(part: Part<'_>) -> Cow<'_, str> {
    match part {
        Part::Text(text) => text,
        Part::Item(fields, text) => {
            let task = fields.into_iter().find(|(key, _)| key == "task").and_then(|(_, task)| task);
            task.filter(|task| !task.is_empty()).map_or(text, Cow::Owned)
        }
        Part::Pair(key, Some(value)) if !value.is_empty() => format!("{key}: {value}").into(),
        Part::Pair(key, _) => format!("{key}:").into(),
    }
}

/// Fields that are not what a decision is about, but say that it is one.
const NAMES: [&str; 6] = ["decision", "what", "choice", "key", "title", "name"];

/// A decision, however it is written. One without a key is its own key.
fn decision<'a>(part: Part<'a>, entries: &mut Vec<Entry<'a>>) {
    let mut push = |key: Cow<'a, str>, value| entries.push(Entry::Pair { section: "decisions".into(), key, value });
    match part {
        Part::Pair(key, value) => push(key, value),
        Part::Item(_, text) | Part::Text(text) if bold(&text).is_some() => {
            let (key, rest) = bold(&text).map(|(key, rest)| (key.to_owned(), rest.to_owned())).unwrap_or_default();
            push(key.into(), Some(rest.into()));
        }
        Part::Item(mut fields, _) if fields.len() == 1 => {
            let (key, value) = fields.remove(0);
            push(key.into(), value.map(Cow::Owned));
        }
        Part::Item(mut fields, _) if fields.len() > 1 => {
            let (name, first) = fields.remove(0);
            let more = fields.iter().map(|(key, value)| format!("{key}: {}", value.as_deref().unwrap_or("null")));
            let more: Vec<String> = more.collect();
            // `- decision: X` with reasons below: other items have a field of the same name.
            if NAMES.contains(&&*name.to_lowercase()) && first.as_ref().is_some_and(|first| !first.is_empty()) {
                return push(first.unwrap_or_default().into(), Some(more.join("\n").into()));
            }
            push(name.into(), Some(first.into_iter().chain(more).collect::<Vec<_>>().join("\n").into()));
        }
        Part::Item(_, text) | Part::Text(text) if !text.is_empty() => push(text, Some("".into())),
        Part::Item(..) | Part::Text(_) => {}
    }
}

fn is_checkpoint_field(key: &str) -> bool {
    matches!(key, "phase" | "status" | "updated")
}

/// A checkpoint that is the whole section: a map with a phase.
fn whole_map(parts: &[Part<'_>]) -> Option<Vec<Field>> {
    let field = |part: &Part<'_>| match part {
        Part::Pair(key, value) => Some((key.to_string(), value.as_deref().map(str::to_owned))),
        _ => None,
    };
    let all: Vec<_> = parts.iter().map(field).collect::<Option<_>>()?;
    all.iter().any(|(key, _)| key == "phase").then_some(all)
}

fn checkpoint<'a>(fields: &[Field]) -> Option<Entry<'a>> {
    let value = |name: &str| fields.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.clone());
    let more = fields.iter().filter(|(key, _)| !is_checkpoint_field(key)).map(|(key, value)| {
        let value = value.as_ref().map_or("null".to_owned(), |value| scalar::written(value));
        format!("{}: {value}", scalar::written(key))
    });
    let checkpoint = Checkpoint {
        phase: value("phase").unwrap_or_default().into(),
        status: value("status").unwrap_or_default().into(),
        updated: value("updated").unwrap_or_default().into(),
        more: more.collect::<Vec<_>>().join("\n").into(),
    };
    (!fields.is_empty()).then_some(Entry::Checkpoint(checkpoint))
}

/// `Phase 5: validated (2026-01-10T13:00:00Z)`, as `current.md` shows one, or any text.
fn shown_checkpoint<'a>(text: &str) -> Option<Entry<'a>> {
    if text.is_empty() {
        return None;
    }
    let (phase, status) = match scalar::pair(text) {
        Some((phase, status)) => (phase.into_owned(), status),
        None => (text.to_owned(), ""),
    };
    let phase = phase.strip_prefix("Phase ").or(phase.strip_prefix("phase ")).unwrap_or(&phase).to_owned();
    let (status, updated) = match status.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        Some((status, inside)) if inside.starts_with("20") => (status, inside.split(", ").next().unwrap_or_default()),
        _ => (status, ""),
    };
    let own = |text: &str| Cow::Owned(text.to_owned());
    Some(Entry::Checkpoint(Checkpoint {
        phase: phase.into(),
        status: own(status),
        updated: own(updated),
        more: "".into(),
    }))
}

/// A body that reads back as these entries; known sections first.
pub fn write(entries: &[Entry<'_>]) -> String {
    let mut sections: BTreeMap<(usize, &str), Vec<&Entry<'_>>> = BTreeMap::new();
    for entry in entries {
        let name = match entry {
            Entry::Text { section, .. } | Entry::Item { section, .. } | Entry::Pair { section, .. } => section,
            Entry::Checkpoint(_) => "checkpoints",
        };
        let place = KNOWN.iter().position(|known| *known == name).unwrap_or(KNOWN.len());
        sections.entry((place, name)).or_default().push(entry);
    }
    let mut out = String::new();
    for ((_, name), mut entries) in sections {
        // A long line with a colon would pass for a sentence.
        let key = if name.chars().count() > LONG_KEY { scalar::in_quotes(name) } else { scalar::written(name) };
        out.push('\n');
        // Of several shapes the map comes first, for what is indented belongs to what stands above it; a text opens
        // the section once more.
        let rank = |entry: &Entry<'_>| match entry {
            Entry::Pair { .. } => 0,
            Entry::Item { .. } | Entry::Checkpoint(_) => 1,
            Entry::Text { .. } => 2,
        };
        entries.sort_by_key(|entry| rank(entry));
        if !matches!(entries[0], Entry::Text { .. }) {
            out.push_str(&format!("{key}:\n"));
        }
        for entry in entries {
            match entry {
                Entry::Text { text, .. } => out.push_str(&format!("{key}: {}\n", scalar::written(text))),
                Entry::Item { text, .. } => out.push_str(&format!("- {}\n", scalar::written(text))),
                Entry::Pair { key, value, .. } => {
                    let value = value.as_ref().map_or("null".to_owned(), |value| scalar::written(value));
                    out.push_str(&format!("  {}: {value}\n", scalar::written(key)));
                }
                Entry::Checkpoint(c) => {
                    let fields = [("- phase", &c.phase), ("  status", &c.status), ("  updated", &c.updated)];
                    for (key, value) in fields {
                        out.push_str(&format!("{key}: {}\n", scalar::written(value)));
                    }
                    c.more.lines().for_each(|line| out.push_str(&format!("  {line}\n")));
                }
            }
        }
    }
    out
}

/// Everything that a page says which a person wrote, or an older program.
pub fn adopted(page: &str) -> Vec<Entry<'static>> {
    let key = |line: &str| bold(line).map(|(key, rest)| format!("{}: {rest}", scalar::written(key)));
    // Bold words with a colon are keys, whichever they are.
    let lines = page.lines().map(|line| match (key(line), line.strip_prefix("- ").and_then(key)) {
        (Some(pair), _) => pair,
        (None, Some(pair)) if !pair.ends_with(": ") => format!("- {pair}"),
        _ => line.to_owned(),
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    parse(&text).into_iter().map(crate::commands::migrate::owned).collect()
}
