//! Proves a migration: whether the ledger holds every text of a file. It reads the file in its own way, so that it does
//! not repeat the mistakes of the migration.

use std::collections::{BTreeSet, HashSet};

use serde_yaml::Value;

use super::{Filter, join};
use crate::entry::Entry;
use crate::front_sections::map_of;
use crate::handoff::meant;
use crate::instant::{self, EventTime};
use crate::record::EventRecord;
use crate::section::{Section, SectionName};
use crate::snapshot::Snapshot;
use crate::view;

/// Those of some texts that the ledger holds. Only what may be asked for is kept, because a ledger may be large.
#[derive(Default)]
pub struct HeldTexts {
    wanted: WantedTexts,
    /// The texts of three words and more that are in a text of an event.
    found: HashSet<String>,
    /// Whole keys, values and lines of values: a text of one or two words must be one of them.
    pieces: HashSet<String>,
    /// Numbers and truths among them, as YAML understands them.
    values: HashSet<String>,
    /// The sections in which there is something.
    sections: HashSet<Section>,
    times: BTreeSet<EventTime>,
}

/// What is asked for: texts as they are, and as words with one blank between them and around them.
#[derive(Default)]
struct WantedTexts {
    texts: HashSet<String>,
    words: HashSet<String>,
    /// Those of three words and more.
    long: Vec<String>,
}

/// A text of a file that no event holds.
#[derive(Debug, PartialEq, Eq)]
pub struct MissingText {
    /// Counted from 1.
    pub line: usize,
    pub text: String,
}

impl HeldTexts {
    /// What of these files the events hold, but for those that are retracted.
    pub fn new(files: &[String], records: &[EventRecord], snapshots: &[Snapshot<'_>]) -> HeldTexts {
        let mut held = HeldTexts { wanted: WantedTexts::of(files), ..HeldTexts::default() };
        let join = join(records, snapshots, &Filter::default());
        let counts = |record: &&EventRecord| !join.retracted.contains(&record.id) || join.folded.contains(&record.id);
        for event in records.iter().filter(counts).filter_map(EventRecord::decode) {
            let meta = &event.meta;
            let about = [
                Some(&meta.agent),
                meta.branch.as_ref(),
                meta.kind.as_ref(),
                meta.reason.as_ref(),
                meta.title.as_ref(),
            ];
            about.into_iter().flatten().for_each(|text| held.say(text));
            held.times.insert(meta.ts);
            event.entries.iter().for_each(|entry| held.add(entry));
        }
        for snapshot in snapshots {
            for source in &snapshot.sources {
                let about = [Some(&source.agent), source.branch.as_ref(), source.topic.as_ref()];
                about.into_iter().flatten().for_each(|text| held.say(text));
                held.times.insert(source.ts);
            }
            snapshot.entries.iter().for_each(|(entry, _)| held.add(entry));
        }
        held
    }

    fn add(&mut self, entry: &Entry<'_>) {
        let section = entry.section();
        let text = match entry {
            Entry::Text { text, .. } | Entry::Item { text, .. } => format!("{} {text}", section.as_str()),
            Entry::Pair { key, value, .. } => {
                format!("{} {key} {}", section.as_str(), value.as_deref().unwrap_or("null"))
            }
            Entry::Checkpoint(c) => {
                self.times.extend(instant::parse(&c.updated));
                format!("checkpoints phase {} {} {} {}", c.phase, c.status, c.updated, c.more)
            }
        };
        self.say(&text);
        self.name(section.as_str());
        self.sections.extend(section.section());
        match entry {
            Entry::Text { text, .. } | Entry::Item { text, .. } => self.name(text),
            Entry::Pair { key, value, .. } => {
                let value = value.as_deref().unwrap_or_default();
                [&**key, value, &format!("{key} {value}")].into_iter().for_each(|text| self.name(text));
            }
            Entry::Checkpoint(c) => {
                [&c.phase, &c.status, &c.updated, &c.more].into_iter().for_each(|text| self.name(text))
            }
        }
    }

    fn say(&mut self, text: &str) {
        let held = words(text);
        let (found, long) = (&mut self.found, &self.wanted.long);
        found.extend(long.iter().filter(|wanted| held.contains(&***wanted)).cloned());
        self.name(text);
    }

    /// Takes a text, its lines, and the keys and values in them as pieces.
    fn name(&mut self, text: &str) {
        let parts = |line: &str| line.split([':', ',', '[', ']', '{', '}']).map(str::to_owned).collect::<Vec<_>>();
        let lines = text.lines().flat_map(|line| [vec![line.to_owned()], parts(line)].concat());
        for piece in lines.chain([text.to_owned()]) {
            let bare = piece.trim().trim_start_matches("- ").trim_matches(['"', '\'', ' ']);
            let begins_number = bare.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
            let is_truth = ["true", "false"].iter().any(|truth| bare.eq_ignore_ascii_case(truth));
            let is_word = bare.len() <= 64 && (begins_number || is_truth);
            if is_word && let Ok(value @ (Value::Number(_) | Value::Bool(_))) = serde_yaml::from_str(bare) {
                self.values.extend(Some(crate::scalar::plain(&value)).filter(|text| self.wanted.texts.contains(text)));
            }
            self.pieces.extend(Some(words(&piece)).filter(|words| self.wanted.words.contains(words)));
        }
    }

    /// Whether an event holds this text, in these words and this order. A time may be spelt in another way, and a name
    /// of a section may be another name of it.
    fn holds(&self, text: &str) -> bool {
        let wanted = words(text);
        let at = instant::parse(text.trim());
        let is_day = |time: &EventTime| text.trim() == time.day().to_string();
        let is_section = || {
            let name = meant(SectionName::from_spelling(text.trim().to_owned().into()));
            name.section().is_some_and(|section| self.sections.contains(&section))
        };
        wanted.trim().is_empty()
            || self.pieces.contains(&wanted)
            || self.values.contains(text.trim())
            || self.found.contains(&wanted)
            || at.is_some_and(|at| self.times.contains(&at))
            || self.times.iter().any(is_day)
            || is_section()
    }
}

impl WantedTexts {
    fn of(files: &[String]) -> WantedTexts {
        let texts: HashSet<String> = files.iter().flat_map(|file| texts_of(file)).map(|(_, text)| text).collect();
        let words: HashSet<String> = texts.iter().map(|text| words(text)).collect();
        let long = words.iter().filter(|words| words.split_whitespace().count() > 2).cloned().collect();
        WantedTexts { texts: texts.iter().map(|text| text.trim().to_owned()).collect(), words, long }
    }
}

/// The words of a text, one blank around each. Marks and quotes are not words.
fn words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(String::from(" "), |all, word| all + word + " ")
}

/// The texts of a file that the ledger does not hold.
pub fn missing(file: &str, held: &HeldTexts) -> Vec<MissingText> {
    let missing = texts_of(file).into_iter().filter(|(_, text)| !held.holds(text));
    missing.map(|(line, text)| MissingText { line, text }).collect()
}

/// The texts of a file, each with its line: the values of what is YAML, the lines of everything else. The footer of a
/// generated page says nothing.
fn texts_of(file: &str) -> Vec<(usize, String)> {
    let file = view::footer(file).and_then(|_| file.rfind(view::FOOTER)).map_or(file, |at| &file[..at]);
    let lines: Vec<&str> = file.lines().collect();
    let is_rule = |line: &&str| line.trim_end() == "---";
    let mut parts = Vec::new();
    let mut from = 0;
    // A frontmatter, if there is one, and the rest.
    if lines.first().is_some_and(is_rule)
        && let Some(end) = lines.iter().skip(1).position(is_rule)
    {
        parts.push((1, &lines[1..=end]));
        from = end + 2;
    }
    parts.push((from, lines.get(from..).unwrap_or_default()));
    parts.into_iter().flat_map(|(from, lines)| part(from, lines)).collect()
}

fn part(from: usize, lines: &[&str]) -> Vec<(usize, String)> {
    let text = lines.join("\n");
    if let Some(map) = map_of(&text) {
        let mut leaves = Vec::new();
        leaves_of(&Value::Mapping(map), &mut leaves);
        let line_of = |leaf: &str| {
            let first = leaf.lines().next().unwrap_or_default();
            lines.iter().position(|line| line.contains(first)).map_or(from + 1, |at| from + at + 1)
        };
        let comments = lines.iter().enumerate().filter_map(|(at, line)| {
            let text = line.trim_start().strip_prefix('#')?.trim();
            (!text.is_empty()).then(|| (from + at + 1, text.to_owned()))
        });
        return leaves.into_iter().map(|leaf| (line_of(&leaf), leaf)).chain(comments).collect();
    }
    lines.iter().enumerate().flat_map(|(at, line)| pieces(line).map(move |text| (from + at + 1, text))).collect()
}

/// The keys and values of a YAML value. A key that only says what its value is, as `task` or `phase` do, is not a text.
fn leaves_of(value: &Value, leaves: &mut Vec<String>) {
    match value {
        Value::Mapping(map) => {
            for (key, value) in map {
                let key = crate::scalar::plain(key);
                // An empty value says nothing.
                let is_empty = matches!(value, Value::Null)
                    || value.as_str() == Some("")
                    || value.as_sequence().is_some_and(Vec::is_empty);
                if !is_empty && !is_label(&key) {
                    leaves.push(key);
                }
                leaves_of(value, leaves);
            }
        }
        Value::Sequence(items) => items.iter().for_each(|item| leaves_of(item, leaves)),
        value => leaves.push(crate::scalar::plain(value)),
    }
}

/// Words that say what their value is, and stand for nothing themselves.
fn is_label(key: &str) -> bool {
    let labels = [
        "task",
        "phase",
        "status",
        "updated",
        "decision",
        "what",
        "choice",
        "key",
        "title",
        "name",
        "ts",
        "timestamp",
        "date",
        "created",
        "agent",
        "author",
        "session",
        "branch",
        "type",
        "reason",
        "last_updated",
    ];
    labels.contains(&&*key.to_lowercase())
}

/// The texts of a line that is not YAML: its key and its value, if it has both.
fn pieces(line: &str) -> impl Iterator<Item = String> {
    let bare = line.trim().trim_start_matches(['-', '*', '+', '#', '>', ' ', '\t']).trim_end_matches(['#', ' ']);
    let pair = bare.split_once(": ").or_else(|| bare.strip_suffix(':').map(|key| (key, "")));
    let texts = match pair {
        Some((key, value)) if is_label(key.trim_matches(['*', '_', '`', '"', '\'', ' '])) => vec![value],
        Some((key, value)) => vec![key, value],
        None => vec![bare],
    };
    let is_fence = |text: &str| text.starts_with("```") || text.starts_with("~~~");
    let texts = texts.into_iter().map(|text| text.trim().to_owned());
    texts.filter(move |text| !text.is_empty() && !is_fence(text)).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(file: &str, pieces: &str) -> HeldTexts {
        let mut held = HeldTexts { wanted: WantedTexts::of(&[file.to_owned()]), ..HeldTexts::default() };
        for piece in pieces.split('|') {
            held.say(piece);
            held.sections.extend(Section::from_spelling(piece));
        }
        held.times.extend(instant::parse("2026-01-10T00:00:00Z"));
        held
    }

    fn lines(file: &str, ledger: &str) -> Vec<(usize, String)> {
        missing(file, &held(file, ledger)).into_iter().map(|one| (one.line, one.text)).collect()
    }

    #[test]
    fn every_text_must_be_in_one_event() {
        let file = "---\ndate: 2026-01-10\nsession: x\nnext:\n- task: Write it\n  files: [a.rs]\n---\n# Title\n\n## Done\n- **db:** \"postgres\"\n";
        assert_eq!(lines(file, "x|next|Write it|files|a.rs|this_session|db postgres|Title"), []);
        let found = lines(file, "x|next|Write|it files|not a.rs but b|this_session|db mysql|files");
        let texts: Vec<_> = found.iter().map(|(line, text)| (*line, text.as_str())).collect();
        assert_eq!(texts, [(5, "Write it"), (6, "a.rs"), (8, "Title"), (11, "db:** \"postgres\"")]);
    }
}
