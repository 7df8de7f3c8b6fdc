//! Handoff files: what people and programs wrote for the next session before there were events.

use std::collections::BTreeSet;
use std::path::Path;

use serde_yaml::Value;

use crate::body::{Grammar, NOTES};
use crate::entry::Entry;
use crate::front_sections::{self, AGENT_KEYS, TIME_KEYS, fields, map_of, meant};
use crate::instant::{self, EventTime};
use crate::section::{SectionName, Shape};
use crate::{event_file, page, scalar, view, yaml_sections};

/// What a handoff file says.
#[derive(Debug, Default)]
pub struct Handoff {
    /// When it was written: by its frontmatter, its text or its name.
    pub ts: Option<EventTime>,
    /// The beginning of the day on which it was written, if it tells only that.
    pub day: Option<EventTime>,
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
        let text = view::without_footer(text);
        let text = text.as_ref();
        let (front, rest) = match event_file::split(text) {
            Ok(parts) => (parts.front, parts.body),
            // A file that is a YAML map from its first line on says all in its keys.
            Err(_) if map_of(text).is_some() => (text, ""),
            Err(_) => ("", text),
        };
        let front = front_sections::as_written(front);
        let fields = fields(&front);
        let all = |keys: &'static [&str]| {
            fields.iter().filter(|(key, _)| keys.contains(&&*key.to_lowercase())).map(|(_, value)| scalar::plain(value))
        };
        let field = |keys: &'static [&str]| all(keys).next().filter(|text| !text.trim().is_empty());
        let head = head(rest);
        let told = |keys: &'static [&str]| head.iter().filter(|line| keys.contains(&&*line.key)).map(|line| line.value);
        let ts = all(&TIME_KEYS).find_map(|text| instant::parse_note(&text));
        let ts = ts.or_else(|| page::updated(text)).or_else(|| told(&TIME_KEYS).find_map(instant::parse_note));
        let days = all(&TIME_KEYS).chain(told(&TIME_KEYS).map(str::to_owned));
        let agent = field(&AGENT_KEYS).or_else(|| told(&["agent", "author"]).find_map(name).map(str::to_owned));
        let is_branch = |name: &&str| !name.contains(char::is_whitespace);
        let branch = field(&["branch"]);
        let branch = branch.or_else(|| told(&["branch"]).filter_map(name).find(is_branch).map(str::to_owned));
        // A line that says no more than the event does is not a text of its own.
        let is_said = |line: &HeadLine<'_>| {
            let value = Some(line.value);
            let is_time = || ts.is_some() && instant::parse_note(line.value) == ts;
            match line.key.as_str() {
                "agent" | "author" => agent.as_deref() == value,
                "branch" => branch.as_deref() == value,
                key => TIME_KEYS.contains(&key) && is_time(),
            }
        };
        let said: BTreeSet<usize> = head.iter().filter(|line| is_said(line)).map(|line| line.at).collect();
        let lines = rest.lines().enumerate().filter(|(at, _)| !said.contains(at));
        let rest: String = lines.map(|(_, line)| format!("{line}\n")).collect();
        let day = { days }.find_map(|text| instant::parse(&format!("{}T00:00:00Z", text.get(..10)?)));
        Handoff {
            ts: ts.or_else(|| named_time(path)),
            day,
            agent,
            branch,
            kind: field(&["type"]),
            reason: field(&["reason"]),
            title: field(&["title"]).or_else(|| titles(&rest).next().map(str::to_owned)),
            entries: [entries(&front, &fields, &rest), unsaid(&fields, ts, day)].concat(),
        }
    }
}

/// A line such as `**Branch:** main` in the head of a page.
struct HeadLine<'p> {
    /// Its number, from 0.
    at: usize,
    /// In lower case.
    key: String,
    value: &'p str,
}

/// The lines that say who, when and where, between a page's title and its first text.
fn head(page: &str) -> Vec<HeadLine<'_>> {
    let mut head = Vec::new();
    for (at, line) in page.lines().enumerate() {
        let bare = line.trim_start_matches(['>', ' ']);
        let is_title = line.starts_with("# ") && titles(line).next().is_some() && head.is_empty();
        if bare.is_empty() || is_title {
            continue;
        }
        // A bullet without bold words is an item, not a line of the head.
        let is_item = scalar::bullet(bare).is_some_and(|text| !text.starts_with("**"));
        let is_other = line.starts_with([' ', '\t', '#', '`', '~']) || is_item;
        let Some((key, value)) = page::field(bare).filter(|_| !is_other) else { break };
        if value.is_empty() || key.split_whitespace().count() > 2 {
            break;
        }
        head.push(HeadLine { at, key, value });
    }
    head
}

/// The name that a value says: its first code span, or a few words.
fn name(value: &str) -> Option<&str> {
    let name = value.split('`').find(|part| !part.trim().is_empty())?.trim();
    (name.split_whitespace().count() <= 3).then_some(name)
}

/// What the fields that tell who and when say besides: all fields after the first that names an agent, and those that
/// are neither the time `ts` nor its day, or `day` if there is no time.
fn unsaid(fields: &[(String, Value)], ts: Option<EventTime>, day: Option<EventTime>) -> Vec<Entry<'static>> {
    let is_one = |keys: &[&str], key: &str| keys.contains(&&*key.to_lowercase());
    let agents = fields.iter().filter(|(key, _)| is_one(&AGENT_KEYS, key)).skip(1);
    let is_said = |value: &Value| {
        let text = scalar::plain(value);
        let said = ts.or(day).map(|at| at.day().to_string());
        Some(text.trim()) == said.as_deref() || ts.is_some() && instant::parse_note(&text) == ts
    };
    let times = fields.iter().filter(|(key, value)| is_one(&TIME_KEYS, key) && !is_said(value));
    let entry = |(key, value): &(String, Value)| {
        let (section, text) = (SectionName::from_spelling(key.clone().into()), scalar::plain(value));
        renamed(Entry::Text { section, text: text.into() })
    };
    agents.chain(times).filter(|(_, value)| !scalar::plain(value).is_empty()).map(entry).collect()
}

/// What the body says, and what the frontmatter says besides who, when and what about.
fn entries(front: &str, fields: &[(String, Value)], rest: &str) -> Vec<Entry<'static>> {
    let title = titles(rest).next();
    let is_later = |line: &str| titles(line).next().is_some_and(|own| Some(own) != title);
    let is_section = |line: &str| line.starts_with("# ") && titles(line).next().is_none();
    // The first title is the event's. YAML takes the others for comments, and in Markdown they open sections.
    let is_yaml = map_of(rest).is_some();
    if let Some(own) = yaml_sections::entries(rest) {
        let front = front_sections::all(front, fields, Grammar::Whole);
        return merged_registers(own.into_iter().chain(front).map(renamed));
    }
    let mut is_code = false;
    let mut opened = |line: &str| {
        is_code ^= line.trim_start().starts_with("```");
        if (is_later(line) || is_section(line)) && !is_yaml && !is_code {
            format!("#{line}\n")
        } else {
            format!("{line}\n")
        }
    };
    let mut entries = page::adopted(&rest.lines().map(&mut opened).collect::<String>(), Grammar::Whole);
    entries.extend(front_sections::all(front, fields, Grammar::Whole));
    let comments = rest.lines().filter(|line| is_yaml && is_later(line)).flat_map(titles);
    entries.extend(comments.map(|text| Entry::Item { section: NOTES.into(), text: text.to_owned().into() }));
    entries.extend(if is_yaml { Vec::new() } else { empty_headings(rest, title, &entries) });
    merged_registers(entries.into_iter().map(renamed))
}

/// The headings of a page below which there is nothing, as notes: they may be all that somebody wrote.
fn empty_headings(page: &str, title: Option<&str>, entries: &[Entry<'_>]) -> Vec<Entry<'static>> {
    let heading = |line: &str| {
        let is_key = !line.starts_with(['-', '*', '+', ' ', '\t']);
        let name = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim_end_matches([':', ' ']));
        name.or_else(|| line.strip_suffix(':').filter(|_| is_key)).map(|name| name.trim().to_owned())
    };
    let is_empty = |name: &String| {
        let section = SectionName::from_spelling(name.clone().into());
        let is_said = |entry: &Entry<'_>| match entry {
            Entry::Text { text, .. } | Entry::Item { text, .. } => {
                text.lines().any(|line| line.trim_matches([':', '*', '_', '`', '#', ' ']) == name)
            }
            _ => false,
        };
        let is_filled = entries.iter().any(|entry| entry.section() == section || is_said(entry));
        !name.is_empty() && title != Some(name) && !is_filled && meant(section).section().is_none()
    };
    let names = page.lines().filter_map(|line| heading(line.trim_end())).filter(is_empty);
    names.map(|text| Entry::Item { section: NOTES.into(), text: text.into() }).collect()
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
                // Of several texts under a name without rules only the newest would count.
                Some(Shape::List) | None => Entry::Item { section, text },
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
                Some(Shape::List | Shape::Register) | None => {
                    let text = format!("{key}: {}", value.as_deref().unwrap_or("null"));
                    renamed(Entry::Item { section, text: text.into() })
                }
                _ => Entry::Pair { section, key, value },
            }
        }
        checkpoint @ Entry::Checkpoint(_) => checkpoint,
    }
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
