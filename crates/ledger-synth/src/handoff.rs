//! Handoff files: what people and programs wrote for the next session before there were events.

use std::path::Path;

use serde_yaml::Value;

use crate::body::{Grammar, NOTES};
use crate::entry::Entry;
use crate::front_sections::{self, AGENT_KEYS, TIME_KEYS, fields, map_of};
use crate::instant::{self, EventTime};
use crate::section::{Section, SectionName, Shape};
use crate::{event_file, page, scalar, view};

/// What a handoff file says.
#[derive(Debug, Default)]
pub struct Handoff {
    /// When it was written: by its frontmatter, its text or its name.
    pub ts: Option<EventTime>,
    pub agent: Option<String>,
    pub branch: Option<String>,
    pub kind: Option<String>,
    pub reason: Option<String>,
    pub title: Option<String>,
    pub entries: Vec<Entry<'static>>,
}

impl Handoff {
    pub fn parse(path: &Path, text: &str) -> Handoff {
        // The footer of a generated page says nothing.
        let text = view::footer(text).and_then(|_| text.rfind(view::FOOTER)).map_or(text, |at| &text[..at]);
        let (front, rest) = match event_file::split(text) {
            Ok(parts) => (parts.front, parts.body),
            // A file that is a YAML map from its first line on says all in its keys.
            Err(_) if map_of(text).is_some() => (text, ""),
            Err(_) => ("", text),
        };
        let fields = fields(front);
        let all = |keys: &'static [&str]| {
            fields.iter().filter(|(key, _)| keys.contains(&&*key.to_lowercase())).map(|(_, value)| scalar::plain(value))
        };
        let field = |keys: &'static [&str]| all(keys).next().filter(|text| !text.is_empty());
        let ts = all(&TIME_KEYS).find_map(|text| instant::parse(&text));
        let told: Vec<(String, &str)> = page::head(rest).filter(|(_, value)| !value.is_empty()).collect();
        let told = |keys: &'static [&str]| {
            told.iter().filter(|(key, _)| keys.contains(&key.as_str())).map(|(_, value)| (*value).to_owned())
        };
        // A day alone means its beginning, unless something tells more.
        let day = || {
            let days = all(&TIME_KEYS).chain(told(&TIME_KEYS));
            { days }.find_map(|text| instant::parse(&format!("{}T00:00:00Z", text.get(..10)?)))
        };
        let told_time = || page::updated(text).or_else(|| told(&TIME_KEYS).find_map(|text| instant::parse(&text)));
        Handoff {
            ts: ts.or_else(told_time).or_else(|| named_time(path)).or_else(day),
            agent: field(&AGENT_KEYS).filter(|agent| !agent.trim().is_empty()).or_else(|| told(&AGENT_KEYS).next()),
            branch: field(&["branch"]).or_else(|| told(&["branch"]).next()),
            kind: field(&["type"]),
            reason: field(&["reason"]),
            title: field(&["title"]).or_else(|| titles(rest).next().map(str::to_owned)),
            entries: [entries(front, &fields, rest), rest_of(&AGENT_KEYS, &fields), rest_of(&TIME_KEYS, &fields)]
                .concat(),
        }
    }
}

/// The fields of these keys after the first, which tells who or when.
fn rest_of(keys: &[&str], fields: &[(String, Value)]) -> Vec<Entry<'static>> {
    let is_one = |key: &str| keys.contains(&&*key.to_lowercase());
    let all = fields.iter().filter(|(key, _)| is_one(key)).skip(1);
    let entry = |(key, value): &(String, Value)| {
        let (section, text) = (SectionName::from_spelling(key.clone().into()), scalar::plain(value));
        Entry::Text { section, text: text.into() }
    };
    all.map(entry).filter(|entry| !matches!(entry, Entry::Text { text, .. } if text.is_empty())).collect()
}

/// What the body says, and what the frontmatter says besides who, when and what about.
fn entries(front: &str, fields: &[(String, Value)], rest: &str) -> Vec<Entry<'static>> {
    let title = titles(rest).next();
    let is_later = |line: &str| titles(line).next().is_some_and(|own| Some(own) != title);
    // The first title is the event's. YAML takes the others for comments, and in Markdown they open sections.
    let is_yaml = map_of(rest).is_some();
    let mut is_code = false;
    let mut opened = |line: &str| {
        is_code ^= line.trim_start().starts_with("```");
        if is_later(line) && !is_yaml && !is_code { format!("#{line}\n") } else { format!("{line}\n") }
    };
    let mut entries = page::adopted(&rest.lines().map(&mut opened).collect::<String>(), Grammar::Whole);
    entries.extend(front_sections::all(front, fields, Grammar::Whole));
    let comments = rest.lines().filter(|line| is_yaml && is_later(line)).flat_map(titles);
    entries.extend(comments.map(|text| Entry::Item { section: NOTES.into(), text: text.to_owned().into() }));
    merged_registers(entries.into_iter().map(renamed))
}

/// The lines `# text` that name no section, which YAML takes for comments and Markdown for titles.
fn titles(text: &str) -> impl Iterator<Item = &str> {
    let titles = text.lines().filter_map(|line| line.strip_prefix("# ")).map(str::trim);
    let is_section = |title: &str| meant(SectionName::from_spelling(title.to_owned().into())).section().is_some();
    titles.filter(move |title| !title.is_empty() && !is_section(title))
}

/// Parses the time at the beginning of a file's name. A day alone means its beginning.
fn named_time(path: &Path) -> Option<EventTime> {
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
pub fn meant(name: SectionName<'static>) -> SectionName<'static> {
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
