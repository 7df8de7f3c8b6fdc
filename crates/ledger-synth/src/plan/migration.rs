//! Proves a migration: whether the ledger holds every text of a file. It reads the file in its own way, so that it does
//! not repeat the mistakes of the migration.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Display;

use serde_yaml::{Mapping, Value};

use super::{Filter, join};
use crate::entry::Entry;
use crate::front_sections::map_of;
use crate::front_sections::meant;
use crate::instant::{self, EventTime};
use crate::record::EventRecord;
use crate::section::SectionName;
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
    times: BTreeSet<EventTime>,
}

/// What is asked for: texts as they are, and as words with one blank between them and around them.
#[derive(Default)]
struct WantedTexts {
    texts: HashSet<String>,
    words: HashSet<String>,
    /// Those of three words and more.
    long: Vec<String>,
    /// The texts without a word, such as ✅.
    marks: Vec<String>,
}

/// A text of a file.
#[derive(Debug, PartialEq, Eq)]
struct SourceText {
    /// Counted from 1.
    line: usize,
    text: String,
    kind: TextKind,
    /// The text together with the line before it and with the line behind it, if it has few words: a paragraph may be
    /// held as one text.
    wrapped: Vec<String>,
}

/// What stands for a text in an event besides the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextKind {
    /// Nothing.
    Plain,
    /// A time in another spelling: it is the value of a key such as `date`.
    Labelled,
    /// A section that has another name.
    Name,
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
    pub fn new(files: &[String], records: &[EventRecord], snapshots: &[&Snapshot]) -> HeldTexts {
        let mut held = HeldTexts { wanted: WantedTexts::of(files), ..HeldTexts::default() };
        let join = join(records, snapshots, &Filter::default());
        let counts =
            |record: &&EventRecord| !join.retracted.contains(&record.id()) || join.folded.contains(&record.id());
        held.add_events(records.iter().filter(counts));
        snapshots.iter().for_each(|snapshot| held.add_snapshot(snapshot));
        held
    }

    /// Adds what events say that count.
    pub fn add_events<'r>(&mut self, records: impl IntoIterator<Item = &'r EventRecord>) {
        for event in records.into_iter().filter_map(EventRecord::decode) {
            let meta = &event.meta;
            let about = [
                Some(&meta.agent),
                meta.branch.as_ref(),
                meta.kind.as_ref(),
                meta.reason.as_ref(),
                meta.title.as_ref(),
            ];
            about.into_iter().flatten().for_each(|text| self.say(text));
            self.times.insert(meta.ts);
            event.entries.iter().for_each(|entry| self.add(entry));
        }
    }

    pub fn add_snapshot(&mut self, snapshot: &Snapshot) {
        for source in snapshot.events.sources() {
            let about = [Some(&source.agent), source.branch.as_ref(), source.topic.as_ref()];
            about.into_iter().flatten().for_each(|text| self.say(text));
            self.times.insert(source.ts);
        }
        snapshot.events.said().for_each(|(entry, _)| self.add(&entry));
    }

    fn add<T: AsRef<str> + Display>(&mut self, entry: &Entry<'_, T>) {
        let section = entry.section();
        let text = match entry {
            Entry::Text { text, .. } | Entry::Item { text, .. } => format!("{} {text}", section.as_str()),
            Entry::Pair { key, value, .. } => {
                format!("{} {key} {}", section.as_str(), value.as_ref().map_or("null", T::as_ref))
            }
            Entry::Checkpoint(c) => {
                self.times.extend(instant::parse(c.updated.as_ref()));
                format!("checkpoints phase {} {} {} {}", c.phase, c.status, c.updated, c.more)
            }
        };
        self.say(&text);
        self.name(section.as_str());
        match entry {
            Entry::Text { text, .. } | Entry::Item { text, .. } => self.name(text.as_ref()),
            Entry::Pair { key, value, .. } => {
                let value = value.as_ref().map_or("", T::as_ref);
                [key.as_ref(), value, &format!("{key} {value}")].into_iter().for_each(|text| self.name(text));
            }
            Entry::Checkpoint(c) => {
                [&c.phase, &c.status, &c.updated, &c.more].into_iter().for_each(|text| self.name(text.as_ref()))
            }
        }
    }

    fn say(&mut self, text: &str) {
        let held = words(text);
        let (found, wanted) = (&mut self.found, &self.wanted);
        found.extend(wanted.long.iter().filter(|wanted| held.contains(&***wanted)).cloned());
        found.extend(wanted.marks.iter().filter(|mark| text.contains(&***mark)).cloned());
        self.name(text);
    }

    /// Takes a text, its lines, and the keys and values in them as pieces.
    fn name(&mut self, text: &str) {
        let parts = |line: &str| line.split([':', ',', '[', ']', '{', '}']).map(str::to_owned).collect::<Vec<_>>();
        let value = |line: &str| line.split_once(": ").map(|(_, value)| value.to_owned());
        let lines = text.lines().flat_map(|line| {
            let whole = [Some(line.to_owned()), value(line)].into_iter().flatten();
            whole.chain(parts(line)).collect::<Vec<_>>()
        });
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

    /// Whether an event holds this text, in these words and this order.
    fn holds(&self, SourceText { text, kind, wrapped, .. }: &SourceText) -> bool {
        let wanted = words(text);
        if wanted.trim().is_empty() {
            return text.is_ascii() || self.found.contains(text.trim());
        }
        let at = instant::parse_note(text);
        let is_day = |time: &EventTime| text.trim() == time.day().to_string();
        let is_time = || at.is_some_and(|at| self.times.contains(&at)) || self.times.iter().any(is_day);
        // The name of a section says nothing without its texts, which are looked for themselves.
        let is_section = || {
            let name = text.trim_matches(['*', '_', '`', '"', '\'', ' ']).to_owned();
            meant(SectionName::from_spelling(name.into())).section().is_some()
        };
        let is_found = |words: &String| self.pieces.contains(words) || self.found.contains(words);
        is_found(&wanted)
            || self.values.contains(text.trim())
            || wrapped.iter().any(|text| is_found(&words(text)))
            || *kind == TextKind::Labelled && is_time()
            || *kind == TextKind::Name && is_section()
    }
}

impl WantedTexts {
    fn of(files: &[String]) -> WantedTexts {
        let texts = files.iter().flat_map(|file| texts_of(file));
        let (texts, wrapped): (Vec<_>, Vec<_>) = texts.map(|source| (source.text, source.wrapped)).unzip();
        let wrapped: HashSet<String> = wrapped.iter().flatten().map(|text| words(text)).collect();
        let texts: HashSet<String> = texts.into_iter().collect();
        let words: HashSet<String> = texts.iter().map(|text| words(text)).collect();
        let count = |words: &String| words.split_whitespace().count();
        let long = words.iter().filter(|words| count(words) > 2);
        // Two words of a paragraph are sought as one text.
        let long: HashSet<String> = long.chain(wrapped.iter().filter(|words| count(words) > 1)).cloned().collect();
        let long = long.into_iter().collect();
        let texts: HashSet<String> = texts.iter().map(|text| text.trim().to_owned()).collect();
        let marks = texts.iter().filter(|text| self::words(text).trim().is_empty() && !text.is_ascii());
        WantedTexts { marks: marks.cloned().collect(), texts, words, long }
    }
}

/// The words of a text, one blank around each. Marks and quotes are not words.
fn words(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(String::from(" "), |all, word| all + word + " ")
}

/// The texts of a file that the ledger does not hold.
pub fn missing(file: &str, held: &HeldTexts) -> Vec<MissingText> {
    let missing = texts_of(file).into_iter().filter(|source| !held.holds(source));
    missing.map(|SourceText { line, text, .. }| MissingText { line, text }).collect()
}

/// The texts of a file: the values of what is YAML, the lines of everything else. The footer of a generated page says
/// nothing.
fn texts_of(file: &str) -> Vec<SourceText> {
    let file = view::without_footer(file);
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

fn part(from: usize, lines: &[&str]) -> Vec<SourceText> {
    match map_of(&lines.join("\n")) {
        Some(map) => texts_of_yaml(from, lines, map),
        None => texts_of_lines(from, lines),
    }
}

fn texts_of_yaml(from: usize, lines: &[&str], map: Mapping) -> Vec<SourceText> {
    let mut leaves = Vec::new();
    leaves_of(&Value::Mapping(map), TextKind::Plain, &mut leaves);
    let line_of = |leaf: &str| {
        let first = leaf.lines().next().unwrap_or_default();
        lines.iter().position(|line| line.contains(first)).map_or(from + 1, |at| from + at + 1)
    };
    let unread = unread(lines);
    // The line has more of this text than YAML tells.
    for cut in unread.iter().filter_map(|unread| unread.cut.as_ref()) {
        leaves.iter().position(|(text, _)| text == cut).map(|at| leaves.remove(at));
    }
    let source = |line, text, kind| SourceText { line, text, kind, wrapped: Vec::new() };
    let leaves = leaves.into_iter().map(|(text, kind)| source(line_of(&text), text, kind));
    let unread = unread.into_iter().map(|one| source(from + one.at + 1, one.text, TextKind::Plain));
    leaves.chain(unread).collect()
}

fn texts_of_lines(from: usize, lines: &[&str]) -> Vec<SourceText> {
    let all: Vec<Vec<(String, TextKind)>> = lines.iter().map(|line| pieces(line)).collect();
    let mut texts = Vec::new();
    for (at, pieces) in all.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| all[at].last());
        let behind = all.get(at + 1).and_then(|pieces| pieces.first());
        for (text, kind) in pieces {
            let is_short = words(text).split_whitespace().count() <= 2;
            let joined = [
                before.map(|(before, _)| format!("{before} {text}")),
                behind.map(|(behind, _)| format!("{text} {behind}")),
            ];
            let wrapped = joined.into_iter().flatten().filter(|_| is_short).collect();
            texts.push(SourceText { line: from + at + 1, text: text.clone(), kind: *kind, wrapped });
        }
    }
    texts
}

/// What YAML does not tell of a line: a comment, or a number as it is spelled.
struct Unread {
    /// The number of the line, from 0.
    at: usize,
    text: String,
    /// What YAML tells instead.
    cut: Option<String>,
}

fn unread(lines: &[&str]) -> Vec<Unread> {
    let mut found = Vec::new();
    let mut block = None;
    for (at, line) in lines.iter().enumerate() {
        let bare = line.trim_start();
        let margin = line.len() - bare.len();
        if block.is_some_and(|block| bare.is_empty() || margin > block) {
            continue;
        }
        let bare = bare.trim_start_matches("- ");
        let value = bare.split_once(": ").map_or(bare, |(_, value)| value).trim();
        block = value.starts_with(['|', '>']).then_some(margin);
        let (said, comment) = without_comment(if bare.starts_with('#') { bare } else { value });
        let is_words = !said.is_empty() && !said.starts_with(['"', '\'', '[', '{', '|', '>']);
        if !comment.is_empty() {
            let text = if is_words { value } else { comment };
            found.push(Unread { at, text: text.to_owned(), cut: is_words.then(|| said.trim().to_owned()) });
        }
        if is_words && !comment.is_empty() {
            continue;
        }
        let is_number = |word: &&str| word.len() <= 64 && matches!(serde_yaml::from_str(word), Ok(Value::Number(_)));
        let numbers = said.split([',', '[', ']', '{', '}']).map(str::trim).filter(is_number);
        found.extend(numbers.map(|word| Unread { at, text: word.to_owned(), cut: None }));
    }
    found
}

/// The value of a line of YAML, and the text of the comment behind it.
fn without_comment(value: &str) -> (&str, &str) {
    // A quote may have ` #` in it.
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let from = quote.and_then(|quote| value.rfind(quote)).unwrap_or(0);
    let at = if value.starts_with('#') { Some(0) } else { value[from..].find(" #").map(|at| from + at) };
    let (said, comment) = value.split_at(at.unwrap_or(value.len()));
    (said, comment.trim_start_matches([' ', '#']).trim_end())
}

/// The keys and values of a YAML value. A key that only says what its value is, as `task` or `phase` do, is not a text.
fn leaves_of(value: &Value, kind: TextKind, leaves: &mut Vec<(String, TextKind)>) {
    match value {
        Value::Mapping(map) => {
            for (key, value) in map {
                let key = crate::scalar::plain(key);
                // An empty value says nothing.
                let is_empty = matches!(value, Value::Null)
                    || value.as_str() == Some("")
                    || value.as_sequence().is_some_and(Vec::is_empty);
                let is_label = is_label(&key);
                if !is_empty && !is_label {
                    leaves.push((key, TextKind::Name));
                }
                leaves_of(value, if is_label { TextKind::Labelled } else { TextKind::Plain }, leaves);
            }
        }
        Value::Sequence(items) => items.iter().for_each(|item| leaves_of(item, kind, leaves)),
        value => leaves.push((crate::scalar::plain(value), kind)),
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
        "topic",
        "id",
        "text",
        "value",
        "state",
        "time",
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
fn pieces(line: &str) -> Vec<(String, TextKind)> {
    let line = line.trim();
    let bare = line.trim_start_matches(['-', '*', '+', '#', '>', ' ', '\t']).trim_end_matches(['#', ' ']);
    // The colon of `**Now:** Create the PR` ends the key.
    let bare = bare.replacen(":**", "**:", 1).replacen(":__", "__:", 1);
    let is_name = line.starts_with('#') || bare.ends_with("**") || bare.ends_with(':');
    let pair = bare.split_once(": ").or_else(|| bare.strip_suffix(':').map(|key| (key, "")));
    let texts = match pair {
        Some((key, value)) if is_label(key.trim_matches(['*', '_', '`', '"', '\'', ' '])) => {
            vec![(value, TextKind::Labelled)]
        }
        Some((key, value)) => vec![(key, TextKind::Name), (value, TextKind::Plain)],
        None => vec![(&*bare, if is_name { TextKind::Name } else { TextKind::Plain })],
    };
    let is_fence = |text: &str| text.starts_with("```") || text.starts_with("~~~");
    let texts = texts.into_iter().map(|(text, kind)| (text.trim().to_owned(), kind));
    texts.filter(|(text, _)| !text.is_empty() && !is_fence(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(file: &str, pieces: &str) -> HeldTexts {
        let mut held = HeldTexts { wanted: WantedTexts::of(&[file.to_owned()]), ..HeldTexts::default() };
        for piece in pieces.split('|') {
            held.say(piece);
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
        assert_eq!(lines(file, "x|next|Write it|files|a.rs|this_session|db: postgres|Title"), []);
        let found = lines(file, "x|next|Write|it files|not a.rs but b|this_session|db: mysql|files");
        let texts: Vec<_> = found.iter().map(|(line, text)| (*line, text.as_str())).collect();
        assert_eq!(texts, [(5, "Write it"), (6, "a.rs"), (8, "Title"), (11, "\"postgres\"")]);
    }
}
