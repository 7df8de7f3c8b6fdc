//! Handoff files: what people and programs wrote for the next session before there were events. A YAML map and headings
//! are read, and everything else stays word for word.

use std::collections::BTreeSet;
use std::path::Path;

use serde_yaml::Value;

use crate::entry::Entry;
use crate::event_time::{self, EventTime};
use crate::front::Meta;
use crate::front_sections::{as_written, fields, is_map, map_of};
use crate::markdown::{self, MarkdownPage};
use crate::section::{Section, SectionName};
use crate::{event_file, foreign_page, view, yaml_scalar, yaml_sections};

/// What a handoff file says.
#[derive(Clone, Debug, Default)]
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
    /// Its keys that tell who, when and what about, with their values.
    pub about: Vec<(String, String)>,
    pub entries: Vec<Entry>,
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

/// The other keys that an event has a place for.
const OTHERS: [&str; 4] = ["branch", "type", "reason", "title"];

/// Whether a key tells who, when or what about.
fn is_about(key: &str) -> bool {
    is_one(&TIMES, key) || is_one(&AGENTS, key) || is_one(&OTHERS, key)
}

fn is_one(keys: &[&str], key: &str) -> bool {
    keys.iter().any(|known| known.eq_ignore_ascii_case(key))
}

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
        let (front, body) = match event_file::split(&text) {
            Ok(parts) => (parts.front, parts.body),
            // A file that is a YAML map from its first line on says all in its keys.
            Err(_) if is_yaml(&text) => (&*text, ""),
            Err(_) => ("", &*text),
        };
        let (mut about, front) = read_front(front);
        let body = without_head(body, &mut about);
        let MarkdownPage { title, entries } = read_body(&body);

        let of = |keys: &'static [&str]| {
            let values = |key: &'static str| about.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(key));
            keys.iter().flat_map(move |key| values(key)).map(|(_, value)| value.as_str())
        };
        let one = |key: &'static [&str]| of(key).next().map(str::to_owned);
        let ts = of(&TIMES).find_map(event_time::parse_note).or_else(|| foreign_page::updated(&text));
        let day = of(&TIMES).find_map(event_time::parse_day).or_else(|| foreign_page::updated_day(&text));
        let day_of_title = || title.as_deref().and_then(time_in).and_then(|at| event_time::parse_day(&at.to_string()));
        let day = day.or_else(day_of_title);
        let is_of_day = |at: &EventTime| day.is_none_or(|day: EventTime| day.day() == at.day());
        let is_branch = |name: &&str| !name.contains(char::is_whitespace);
        let given = one(&["title"]);
        let second = title.clone().filter(|title| given.as_ref().is_some_and(|given| title != given));
        let sections = joined(second.as_deref().map(Entry::note).into_iter().chain(entries).chain(front));
        Handoff {
            ts: ts.or_else(|| named_time(path).filter(is_of_day)),
            day,
            agent: of(&AGENTS).find_map(name).map(str::to_owned),
            branch: of(&["branch"]).filter_map(name).find(is_branch).map(str::to_owned),
            kind: one(&["type"]),
            reason: one(&["reason"]),
            title: given.or(title),
            entries: [shown_answers(&sections), sections].concat(),
            about,
        }
    }

    /// All that it says, piece by piece.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let about = self.about.iter().map(|(_, value)| value.as_str()).chain(self.title.as_deref());
        about.chain(self.entries.iter().flat_map(Entry::texts)).filter(|text| !text.trim().is_empty())
    }

    /// Its fields that an event with this frontmatter does not say.
    pub fn left_over(&self, meta: &Meta) -> Vec<Entry> {
        let left = self.about.iter().filter(|(_, value)| !says(meta, value));
        let entry = |(key, value): &(String, String)| Entry::Item {
            section: SectionName::from_spelling(key.clone()),
            text: value.clone(),
        };
        left.map(entry).collect()
    }
}

/// Whether the frontmatter of an event says this value of a field.
pub fn says(meta: &Meta, value: &str) -> bool {
    let others = [&meta.branch, &meta.kind, &meta.reason, &meta.title];
    let is_said = meta.agent == value || others.into_iter().flatten().any(|text| text == value);
    is_said || event_time::parse_note(value) == Some(meta.ts) || value.trim() == meta.ts.day().to_string()
}

/// Whether a text is one YAML map. YAML takes headings for comments, and may take prose for keys.
fn is_yaml(text: &str) -> bool {
    let is_key = |key: &Value| key.as_str().is_none_or(|key| key.split_whitespace().count() <= 3 && !key.contains('`'));
    map_of(text).is_some_and(|map| map.keys().all(is_key)) && !markdown::has_sections(text)
}

/// Reads a frontmatter: its fields that tell who, when and what about, and what else it says.
fn read_front(front: &str) -> (Vec<(String, String)>, Vec<Entry>) {
    let (about, other): (Vec<_>, Vec<_>) = fields(&as_written(front)).into_iter().partition(|(key, _)| is_about(key));
    let about = about.into_iter().map(|(key, value)| (key, yaml_scalar::plain(&value)));
    let about: Vec<(String, String)> = about.filter(|(_, value)| !value.trim().is_empty()).collect();
    let said: Vec<&str> = about.iter().map(|(_, value)| value.as_str()).collect();
    let entries = match is_map(front) {
        true => yaml_sections::entries(front, &other, &said, is_about),
        false => vec![Entry::note(front.trim_end())],
    };
    (about, entries)
}

/// What a body says, and its title.
fn read_body(body: &str) -> MarkdownPage {
    let fields = if is_yaml(body) { fields(&as_written(body)) } else { Vec::new() };
    match fields.is_empty() {
        true => markdown::read(&foreign_page::without_frame(body)),
        false => MarkdownPage { title: None, entries: yaml_sections::entries(body, &fields, &[], |_| false) },
    }
}

/// Parses everything that a page says which a person wrote.
pub fn page_entries(page: &str) -> Vec<Entry> {
    let MarkdownPage { title, entries } = read_body(&view::without_footer(page));
    joined(title.as_deref().map(Entry::note).into_iter().chain(entries))
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
    let is_time = |text: &str| event_time::parse_note(text).or_else(|| event_time::parse_day(text)).is_some();
    let tells_when = |map: &String| {
        let told = |(key, value): &(String, Value)| is_one(&TIMES, key) && is_time(&yaml_scalar::plain(value));
        map_of(map).is_some() && fields(map).iter().any(told)
    };
    (!maps.is_empty() && maps.iter().all(tells_when)).then_some(maps)
}

/// Takes the lines that say who, when and where, between a page's title and its first text. Returns the page with blank
/// lines in their place.
fn without_head(page: &str, about: &mut Vec<(String, String)>) -> String {
    let mut rest = String::with_capacity(page.len());
    let (mut is_head, mut has_title) = (true, false);
    for line in page.lines() {
        let bare = line.trim_start_matches(['>', ' ']);
        let is_title = !has_title && line.strip_prefix("# ").is_some_and(|title| !markdown::is_known(title));
        has_title |= is_title;
        let field = head_field(line, bare).filter(|_| is_head);
        is_head &= bare.is_empty() || is_title || field.is_some();
        match field.filter(|(key, _)| is_one(&TIMES, key) || is_one(&AGENTS, key) || key == "branch") {
            Some((key, value)) => about.push((key, value.to_owned())),
            None => rest.push_str(line),
        }
        rest.push('\n');
    }
    rest
}

/// The field of a line such as `**Branch:** main` in the head of a page.
fn head_field<'l>(line: &str, bare: &'l str) -> Option<(String, &'l str)> {
    let (key, value) = foreign_page::field(bare)?;
    // A bullet without bold words is an item, not a line of the head, unless it tells when.
    let is_item = yaml_scalar::bullet(bare).is_some_and(|text| !text.starts_with("**")) && !is_one(&TIMES, &key);
    let is_other = line.starts_with([' ', '\t', '#', '`', '~']) || is_item;
    let is_field = !is_other && !value.is_empty() && key.split_whitespace().count() <= 2;
    is_field.then_some((key, value))
}

/// The name that a value says: its first code span, or a few words.
fn name(value: &str) -> Option<&str> {
    let name = value.split('`').find(|part| !part.trim().is_empty())?.trim();
    (name.split_whitespace().count() <= 3).then_some(name)
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
    let at = |time: String| event_time::parse(&format!("{day}T{time}Z"));
    at(format!("{}:{}:{}", part(4), part(5), part(6))).or_else(|| at("00:00:00".to_owned()))
}

/// What a file has as resolved, unless it has it as a question too, under a name that is shown: nobody would find it
/// otherwise.
fn shown_answers(entries: &[Entry]) -> Vec<Entry> {
    let items = |section| entries.iter().filter_map(move |entry| entry.item_of(section));
    let asked: BTreeSet<_> = items(Section::OpenQuestions).collect();
    let shown = items(Section::Resolved).filter(|text| !asked.contains(text));
    shown.map(|text| Entry::Item { section: "Answered Questions".into(), text: text.to_owned() }).collect()
}

/// Several texts of one register, and several values of one key, as one, because only one of them would be shown.
fn joined(entries: impl Iterator<Item = Entry>) -> Vec<Entry> {
    let mut joined: Vec<Entry> = Vec::new();
    for entry in entries {
        let same = joined.iter_mut().find_map(|held| match (held, &entry) {
            (Entry::Text { section, text }, Entry::Text { section: other, text: more }) if section == other => {
                Some((text, more))
            }
            (
                Entry::Pair { section, key, value: Some(text) },
                Entry::Pair { section: other, key: other_key, value: Some(more) },
            ) if (&*section, &*key) == (other, other_key) => Some((text, more)),
            _ => None,
        });
        match same {
            Some((text, more)) if text == more => {}
            Some((text, more)) => text.push_str(&format!("\n{more}")),
            None => joined.push(entry),
        }
    }
    joined
}

#[cfg(test)]
#[path = "handoff_tests.rs"]
mod proofs;
