//! Handoff files: what people and programs wrote for the next session before there were events.

use std::collections::BTreeSet;
use std::path::Path;

use serde_yaml::Value;

use crate::body::{self, Grammar, NOTES};
use crate::entry::Entry;
use crate::front_sections::{self, fields, map_of};
use crate::instant::{self, EventTime};
use crate::markdown::{self, MarkdownPage};
use crate::section::{Section, SectionName, Shape, meant};
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
    pub entries: Vec<Entry>,
}

/// Whether a key tells who or when.
pub fn is_head_key(key: &str) -> bool {
    is_one(&TIMES, key) || is_one(&AGENTS, key)
}

/// The keys that tell when, the surest first: what a file says is as old as its last change.
const TIMES: [&str; 9] =
    ["ts", "timestamp", "updated", "last_updated", "last updated", "updated_at", "date", "created", "created_at"];

/// The keys that tell who, the surest first.
const AGENTS: [&str; 10] = [
    "agent",
    "agent_name",
    "agent_id",
    "from_agent",
    "author",
    "researcher",
    "last_updated_by",
    "session",
    "session_name",
    "session_id",
];

impl Handoff {
    /// What a file says: several handoffs if it is a list of maps with a time each.
    pub fn parse_all(path: &Path, text: &str) -> Vec<Handoff> {
        match listed_maps(text) {
            Some(maps) => maps.iter().map(|map| Handoff::parse(path, map)).collect(),
            None => vec![Handoff::parse(path, text)],
        }
    }

    fn parse(path: &Path, text: &str) -> Handoff {
        // The footer of a generated page says nothing.
        let text = view::without_footer(text);
        let text = text.as_ref();
        let (front, rest) = match event_file::split(text) {
            Ok(parts) => (parts.front, parts.body),
            // A file that is a YAML map from its first line on says all in its keys.
            Err(_) if map_of(text).is_some() && !markdown::names_a_section(text) => (text, ""),
            Err(_) => ("", text),
        };
        let front = front_sections::as_written(front);
        let fields = fields(&front);
        let field = |keys: &'static [&str]| {
            keys.iter().flat_map(|key| named(&fields, key)).find(|text| !text.trim().is_empty())
        };
        let head = head(rest);
        let told = |key: &'static str| head.iter().filter(move |line| line.key == key).map(|line| line.value);
        let times: Vec<String> =
            TIMES.iter().flat_map(|key| named(&fields, key).chain(told(key).map(str::to_owned))).collect();
        let ts = times.iter().find_map(|text| instant::parse_note(text)).or_else(|| page::updated(text));
        let day = times.iter().find_map(|text| instant::parse_day(text)).or_else(|| page::updated_day(text));
        let day =
            day.or_else(|| titles(rest).next().and_then(time_in).and_then(|at| instant::parse_day(&at.to_string())));
        let agent =
            field(&AGENTS).or_else(|| AGENTS.iter().flat_map(|key| told(key)).find_map(name).map(str::to_owned));
        let is_branch = |name: &&str| !name.contains(char::is_whitespace);
        let branch = field(&["branch"]).or_else(|| told("branch").filter_map(name).find(is_branch).map(str::to_owned));
        // A line that says no more than the event does is not a text of its own.
        let is_said = |line: &HeadLine<'_>| {
            let value = Some(line.value);
            let is_time = || ts.is_some() && instant::parse_note(line.value) == ts;
            match line.key.as_str() {
                "branch" => branch.as_deref() == value,
                key if AGENTS.contains(&key) => agent.as_deref() == value,
                key => TIMES.contains(&key) && is_time(),
            }
        };
        let said: BTreeSet<usize> = head.iter().filter(|line| is_said(line)).map(|line| line.at).collect();
        let lines = rest.lines().enumerate().filter(|(at, _)| !said.contains(at));
        let rest: String = lines.map(|(_, line)| format!("{line}\n")).collect();
        let is_of_day = |at: &EventTime| day.is_none_or(|day: EventTime| day.day() == at.day());
        let BodySections { title, entries } = BodySections::read(&rest);
        let given = field(&["title"]);
        let is_other = given.as_ref().is_some_and(|given| title.as_ref().is_some_and(|title| title != given));
        let second = title.clone().filter(|_| is_other).map(|text| Entry::Item { section: NOTES.into(), text });
        let is_meta = |key: &str| {
            is_one(&TIMES, key) || is_one(&AGENTS, key) || is_one(&["branch", "type", "reason", "title"], key)
        };
        let front = front_entries(&front, &fields, is_meta);
        let sections = merged_registers(second.into_iter().chain(entries).chain(front).filter_map(renamed));
        let sections = [shown_answers(&sections), sections].concat();
        Handoff {
            ts: ts.or_else(|| named_time(path).filter(is_of_day)),
            day,
            kind: field(&["type"]),
            reason: field(&["reason"]),
            title: given.or(title),
            entries: yaml_sections::joined_keys([sections, unsaid(&fields, agent.as_deref(), ts, day)].concat()),
            agent,
            branch,
        }
    }
}

fn is_one(keys: &[&str], key: &str) -> bool {
    keys.iter().any(|known| known.eq_ignore_ascii_case(key))
}

/// What the frontmatter of a handoff file says besides, where `is_meta` is true for the keys that tell who, when and
/// what about.
fn front_entries(front: &str, fields: &[(String, Value)], is_meta: impl Fn(&str) -> bool) -> Vec<Entry> {
    if front_sections::is_map(front) {
        return yaml_sections::of_fields(front, fields.iter().filter(|(key, _)| !is_meta(key)));
    }
    let lines = front.lines().filter(|line| front_sections::line_field(line).is_none()).map(|line| format!("{line}\n"));
    body::parse(&lines.collect::<String>(), Grammar::Whole)
}

/// The values of the fields with this key.
fn named<'f>(fields: &'f [(String, Value)], key: &'f str) -> impl Iterator<Item = String> + 'f {
    fields.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(key)).map(|(_, value)| scalar::plain(value))
}

/// The maps of a file that is a list of maps, each a text of its own, if each tells when.
fn listed_maps(text: &str) -> Option<Vec<String>> {
    let (mut maps, mut above): (Vec<String>, _) = (Vec::new(), String::new());
    for line in text.lines() {
        match (line.strip_prefix("- "), maps.last_mut()) {
            (Some(first), _) => maps.push(format!("{}{first}\n", std::mem::take(&mut above))),
            (None, Some(map)) => map.push_str(&format!("{}\n", line.strip_prefix("  ").unwrap_or(line))),
            (None, None) if line.trim().is_empty() || line.starts_with('#') => above.push_str(&format!("{line}\n")),
            (None, None) => return None,
        }
    }
    let tells_when = |map: &String| {
        let is_time = |text: String| instant::parse_note(&text).or_else(|| instant::parse_day(&text)).is_some();
        map_of(map).is_some() && TIMES.iter().any(|key| named(&fields(map), key).any(is_time))
    };
    (!maps.is_empty() && maps.iter().all(tells_when)).then_some(maps)
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
        // A bullet without bold words is an item, not a line of the head, unless it tells when.
        let is_time = |text: &str| page::field(text).is_some_and(|(key, _)| TIMES.contains(&&*key));
        let is_item = scalar::bullet(bare).is_some_and(|text| !text.starts_with("**") && !is_time(text));
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

/// What the fields that tell who and when say besides: those that name another agent, and those that are neither the
/// time `ts` nor its day, or `day` if there is no time.
fn unsaid(
    fields: &[(String, Value)],
    agent: Option<&str>,
    ts: Option<EventTime>,
    day: Option<EventTime>,
) -> Vec<Entry> {
    let is_said = |value: &Value| {
        let text = scalar::plain(value);
        let said = ts.or(day).map(|at| at.day().to_string());
        Some(text.trim()) == said.as_deref() || ts.is_some() && instant::parse_note(&text) == ts
    };
    let agents = fields.iter().filter(|(key, value)| is_one(&AGENTS, key) && Some(&*scalar::plain(value)) != agent);
    let times = fields.iter().filter(|(key, value)| is_one(&TIMES, key) && !is_said(value));
    let entry = |(key, value): &(String, Value)| {
        let (section, text) = (SectionName::from_spelling(key.clone()), scalar::plain(value));
        renamed(Entry::Text { section, text })
    };
    agents.chain(times).filter(|(_, value)| !scalar::plain(value).is_empty()).filter_map(entry).collect()
}

/// What a body says, and its title.
pub struct BodySections {
    title: Option<String>,
    entries: Vec<Entry>,
}

impl BodySections {
    fn read(body: &str) -> BodySections {
        // YAML takes headings for comments, and may take prose for keys.
        let is_key =
            |key: &Value| key.as_str().is_none_or(|key| key.split_whitespace().count() <= 3 && !key.contains('`'));
        let is_yaml = map_of(body).is_some_and(|map| map.keys().all(is_key));
        let is_page = if is_yaml { markdown::names_a_section(body) } else { markdown::has_sections(body) };
        if is_page {
            let MarkdownPage { title, entries } = markdown::read(&page::without_frame(body));
            return BodySections { title, entries };
        }
        let title = titles(body).next().map(str::to_owned);
        if let Some(entries) = yaml_sections::entries(body) {
            return BodySections { title, entries };
        }
        let mut entries = page::adopted(body, Grammar::Whole);
        entries.extend(empty_keys(body, &entries));
        BodySections { title, entries }
    }
}

/// Parses everything that a page says which a person wrote.
pub fn page_entries(page: &str) -> Vec<Entry> {
    let BodySections { title, entries } = BodySections::read(page);
    let title = title.map(|text| Entry::Item { section: NOTES.into(), text });
    yaml_sections::joined_keys(merged_registers(title.into_iter().chain(entries).filter_map(renamed)))
}

/// The keys of a text below which there is nothing, as notes: they may be all that somebody wrote.
fn empty_keys(page: &str, entries: &[Entry]) -> Vec<Entry> {
    let key = |line: &str| {
        let is_key = !line.starts_with(['-', '*', '+', '#', ' ', '\t']);
        line.trim_end().strip_suffix(':').filter(|_| is_key).map(|name| name.trim().to_owned())
    };
    let is_empty = |name: &String| {
        let section = SectionName::from_spelling(name.clone());
        let is_said = |entry: &Entry| match entry {
            Entry::Text { text, .. } | Entry::Item { text, .. } => {
                text.lines().any(|line| line.trim_matches([':', '*', '_', '`', '#', ' ']) == name)
            }
            _ => false,
        };
        let is_filled = entries.iter().any(|entry| *entry.section() == section || is_said(entry));
        !name.is_empty() && !is_filled && meant(section).section().is_none()
    };
    let names = page.lines().filter_map(key).filter(is_empty);
    names.map(|text| Entry::Item { section: NOTES.into(), text }).collect()
}

/// The lines `# text` that name no section, which YAML takes for comments and Markdown for titles.
fn titles(text: &str) -> impl Iterator<Item = &str> {
    let titles = text.lines().filter_map(|line| line.strip_prefix("# ")).map(str::trim);
    let is_section = |title: &str| meant(SectionName::from_spelling(title.to_owned())).section().is_some();
    titles.filter(move |title| !title.is_empty() && !is_section(title))
}

/// Parses the time in a file's name, or in that of its directory. A day alone means its beginning.
fn named_time(path: &Path) -> Option<EventTime> {
    let dir = path.parent().and_then(Path::file_name);
    [path.file_stem(), dir].into_iter().flatten().find_map(|name| time_in(&name.to_string_lossy()))
}

/// Parses the first time in a name, such as `2026-01-10_13-05-00_parser`.
fn time_in(name: &str) -> Option<EventTime> {
    let pattern = r"(?:^|[^0-9])(\d{4})-?(\d{2})-?(\d{2})(?:[T_-](\d{2})[-_:]?(\d{2})(?:[-_:]?(\d{2}))?)?(?:$|[^0-9])";
    let found = regex_lite::Regex::new(pattern).ok()?.captures(name)?;
    let part = |at: usize| found.get(at).map_or("00", |part| part.as_str());
    let day = format!("{}-{}-{}", part(1), part(2), part(3));
    let at = |time: String| instant::parse(&format!("{day}T{time}Z"));
    at(format!("{}:{}:{}", part(4), part(5), part(6))).or_else(|| at("00:00:00".to_owned()))
}

/// The entry under the section that its name means, in the shape of that section.
fn renamed(entry: Entry) -> Option<Entry> {
    let checkpoint @ Entry::Checkpoint(_) = entry else {
        let section = meant(entry.section().clone());
        return in_shape(section, entry);
    };
    Some(checkpoint)
}

fn in_shape(section: SectionName, entry: Entry) -> Option<Entry> {
    let shape = section.shape();
    let text = match entry {
        Entry::Pair { key, value, .. } if shape == Some(Shape::Map) => {
            return Some(Entry::Pair { section, key, value });
        }
        Entry::Pair { key, value, .. } => format!("{key}: {}", value.as_deref().unwrap_or("null")),
        Entry::Text { text, .. } | Entry::Item { text, .. } => text,
        checkpoint @ Entry::Checkpoint(_) => return Some(checkpoint),
    };
    match shape {
        Some(Shape::Register) => Some(Entry::Text { section, text }),
        Some(Shape::Map) => markdown::decision(section, &text),
        Some(Shape::Checkpoints) => markdown::checkpoint(&text),
        // Of several texts under a name without rules only the newest would count.
        Some(Shape::List) | None => Some(Entry::Item { section, text }),
    }
}

/// What a file has as resolved, unless it has it as a question too, under a name that is shown: nobody would find it
/// otherwise.
fn shown_answers(entries: &[Entry]) -> Vec<Entry> {
    let item = |wanted: Section| {
        entries.iter().filter_map(move |entry| match entry {
            Entry::Item { section, text } if *section == wanted => Some(text),
            _ => None,
        })
    };
    let asked: BTreeSet<_> = item(Section::OpenQuestions).collect();
    let shown = item(Section::Resolved).filter(|text| !asked.contains(text));
    shown.map(|text| Entry::Item { section: "Answered Questions".into(), text: text.clone() }).collect()
}

/// Several texts of one register as one, because only one of them would be shown.
fn merged_registers(entries: impl Iterator<Item = Entry>) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    for entry in entries {
        let held = all.iter_mut().find_map(|held| match (held, &entry) {
            (Entry::Text { section: a, text }, Entry::Text { section: b, .. }) if a == b => Some(text),
            _ => None,
        });
        match (held, entry) {
            (Some(text), Entry::Text { text: more, .. }) => *text = format!("{text}\n{more}"),
            (_, entry) => all.push(entry),
        }
    }
    all
}
