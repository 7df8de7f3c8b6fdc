//! Proves a migration: whether the ledger holds every text of a file. It reads the file in its own way, so that it does
//! not repeat the mistakes of the migration.

use std::collections::{BTreeSet, HashMap, HashSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde_yaml::Value;
use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;

use super::source_texts::{SourceText, TextKind, texts_of, words};
use crate::entry::Entry;
use crate::event::LedgerEvent;
use crate::instant::{self, EventTime};
use crate::record::EventRecord;
use crate::section::{SectionName, meant};
use crate::snapshot::Snapshot;

/// Those of some texts that events hold. Only what may be asked for is kept, because a ledger may be large.
#[derive(Default)]
struct HeldTexts {
    wanted: WantedTexts,
    /// Whether the texts of three words and more are in a text of an event, by their numbers.
    has_long: Vec<bool>,
    /// The texts without a word that are in one.
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
    /// Those of three words and more, with their numbers, and what finds all of them in a text at once.
    long: HashMap<String, usize>,
    finder: Option<AhoCorasick>,
    /// The texts without a word, such as ✅.
    marks: Vec<String>,
}

/// A text of a file that no event holds.
#[derive(Debug, PartialEq, Eq)]
pub struct MissingText {
    /// Counted from 1.
    pub line: usize,
    pub text: String,
}

/// A file, and how the events are found that it became.
pub struct SourceFile {
    pub text: String,
    /// The events that it becomes now.
    pub events: Vec<SourceEvent>,
}

/// What tells an event apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceEvent {
    pub id: Digest,
    pub ts: EventTime,
    pub agent: String,
}

/// How sure it is that an event is the one that a file became.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    /// No event of the ledger is: its texts may be anywhere.
    #[default]
    None,
    Time,
    TimeAndAgent,
    /// It is.
    Same,
}

/// Calls back with each event that counts.
pub type EachEvent<'e> = dyn Fn(&mut dyn FnMut(&EventRecord)) -> Result<()> + 'e;

/// What the ledger holds of each of some files: what the events hold that a file became, as far as they are known.
pub struct Proof<'f> {
    files: &'f [SourceFile],
    held: Vec<HeldTexts>,
    /// What the whole ledger holds of the files of which an event is not known.
    anywhere: HeldTexts,
    is_anywhere: Vec<bool>,
}

impl<'f> Proof<'f> {
    /// Reads the events twice: an event may be like that of a file only if none is the same.
    pub fn new(files: &'f [SourceFile], events: &EachEvent<'_>, snapshots: &[&Snapshot]) -> Result<Proof<'f>> {
        let sought: Vec<(usize, &SourceEvent)> =
            (0..).zip(files).flat_map(|(at, file)| file.events.iter().map(move |event| (at, event))).collect();
        let ids: HashSet<Digest> = sought.iter().map(|(_, event)| event.id).collect();
        let mut by_time: HashMap<EventTime, Vec<usize>> = HashMap::new();
        for (number, (_, event)) in sought.iter().enumerate() {
            by_time.entry(event.ts).or_default().push(number);
        }
        let like = |record: &EventRecord| -> Vec<(usize, Likeness)> {
            let likeness = |number: &usize| match sought[*number].1 {
                event if event.id == record.id => Likeness::Same,
                // It is another file's.
                _ if ids.contains(&record.id) => Likeness::None,
                event if event.agent == record.agent() => Likeness::TimeAndAgent,
                _ => Likeness::Time,
            };
            by_time.get(&record.ts()).into_iter().flatten().map(|number| (*number, likeness(number))).collect()
        };
        let mut best = vec![Likeness::None; sought.len()];
        events(&mut |record| {
            like(record).into_iter().for_each(|(number, likeness)| best[number] = best[number].max(likeness));
        })?;
        let mut is_anywhere: Vec<bool> = files.iter().map(|file| file.events.is_empty()).collect();
        sought.iter().zip(&best).for_each(|((at, _), best)| is_anywhere[*at] |= *best == Likeness::None);
        let unknown = files.iter().zip(&is_anywhere).filter(|(_, is_anywhere)| **is_anywhere);
        let mut proof = Proof {
            files,
            held: files.iter().map(|file| HeldTexts::wanting([&*file.text])).collect(),
            anywhere: HeldTexts::wanting(unknown.map(|(file, _)| &*file.text)),
            is_anywhere,
        };
        events(&mut |record| {
            let files = like(record)
                .into_iter()
                .filter(|(number, likeness)| *likeness != Likeness::None && best[*number] == *likeness);
            let files: HashSet<usize> = files.map(|(number, _)| sought[number].0).collect();
            files.iter().for_each(|at| proof.held[*at].add_record(record));
            proof.anywhere.add_record(record);
        })?;
        snapshots.iter().for_each(|snapshot| proof.anywhere.add_snapshot(snapshot));
        Ok(proof)
    }

    /// The texts of each file that the ledger does not hold.
    pub fn missing(&self) -> impl Iterator<Item = Vec<MissingText>> {
        self.files.iter().zip(&self.held).zip(&self.is_anywhere).map(|((file, held), is_anywhere)| {
            let held = if *is_anywhere { &self.anywhere } else { held };
            missing(&file.text, held)
        })
    }
}

impl HeldTexts {
    fn wanting<'t>(files: impl IntoIterator<Item = &'t str>) -> HeldTexts {
        let wanted = WantedTexts::of(files);
        HeldTexts { has_long: vec![false; wanted.long.len()], wanted, ..HeldTexts::default() }
    }

    fn add_record(&mut self, record: &EventRecord) {
        if !self.wanted.texts.is_empty() {
            self.add_event(&record.event);
        }
    }

    /// Adds what an event says.
    fn add_event(&mut self, event: &LedgerEvent) {
        let meta = &event.meta;
        let about =
            [Some(&meta.agent), meta.branch.as_ref(), meta.kind.as_ref(), meta.reason.as_ref(), meta.title.as_ref()];
        about.into_iter().flatten().for_each(|text| self.say(text));
        self.times.insert(meta.ts);
        event.entries.iter().for_each(|entry| self.add(entry));
    }

    fn add_snapshot(&mut self, snapshot: &Snapshot) {
        snapshot.events.iter().for_each(|record| self.add_event(&record.event));
    }

    fn add(&mut self, entry: &Entry) {
        let section = entry.section();
        let text = match entry {
            Entry::Text { text, .. } | Entry::Item { text, .. } => format!("{} {text}", section.as_str()),
            Entry::Pair { key, value, .. } => {
                format!("{} {key} {}", section.as_str(), value.as_deref().unwrap_or("null"))
            }
            Entry::Checkpoint(c) => {
                self.times.extend(instant::parse(&c.updated));
                // As a page has it.
                let agent = c.more.strip_prefix("agent: ").unwrap_or_default();
                self.say(&format!("{} {} {} {agent}", c.phase, c.status, c.updated));
                format!("checkpoints phase {} {} {} {}", c.phase, c.status, c.updated, c.more)
            }
        };
        self.say(&text);
        self.name(section.as_str());
        match entry {
            Entry::Text { text, .. } | Entry::Item { text, .. } => self.name(text),
            Entry::Pair { key, value, .. } => {
                let value = value.as_deref().unwrap_or_default();
                [key.as_ref(), value, &format!("{key} {value}")].into_iter().for_each(|text| self.name(text));
            }
            Entry::Checkpoint(c) => {
                self.name(&format!("{} {}", c.phase, c.status));
                [&c.phase, &c.status, &c.updated, &c.more].into_iter().for_each(|text| self.name(text));
            }
        }
    }

    fn say(&mut self, text: &str) {
        let held = words(text);
        let (found, wanted) = (&mut self.found, &self.wanted);
        let matches = wanted.finder.iter().flat_map(|finder| finder.find_overlapping_iter(&held));
        matches.for_each(|at| self.has_long[at.pattern().as_usize()] = true);
        found.extend(wanted.marks.iter().filter(|mark| text.contains(&***mark)).cloned());
        self.name(text);
    }

    /// Takes a text, its lines, and the keys and values in them as pieces.
    fn name(&mut self, text: &str) {
        let parts =
            |line: &str| line.split([':', ',', ';', '|', '[', ']', '{', '}']).map(str::to_owned).collect::<Vec<_>>();
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
        let at = instant::parse_note(text.trim_matches(['"', '\'']));
        let is_day = |time: &EventTime| text.trim() == time.day().to_string();
        let is_time = || at.is_some_and(|at| self.times.contains(&at)) || self.times.iter().any(is_day);
        // The name of a section says nothing without its texts, which are looked for themselves.
        let is_section = || {
            let name = text.trim_matches(['*', '_', '`', '"', '\'', ' ']).to_owned();
            !name.contains(['(', '/']) && meant(SectionName::from_spelling(name)).section().is_some()
        };
        let has_long = |words: &String| self.wanted.long.get(words).is_some_and(|number| self.has_long[*number]);
        let is_found = |words: &String| self.pieces.contains(words) || has_long(words);
        is_found(&wanted)
            || without_phase(&wanted).is_some_and(|phase| is_found(&phase))
            || self.values.contains(text.trim())
            || wrapped.iter().any(|text| is_found(&words(text)))
            || *kind == TextKind::Labelled && is_time()
            || *kind == TextKind::Name && is_section()
    }
}

impl WantedTexts {
    fn of<'t>(files: impl IntoIterator<Item = &'t str>) -> WantedTexts {
        let texts = files.into_iter().flat_map(texts_of);
        let (texts, wrapped): (Vec<_>, Vec<_>) = texts.map(|source| (source.text, source.wrapped)).unzip();
        let wrapped: HashSet<String> = wrapped.iter().flatten().map(|text| words(text)).collect();
        let texts: HashSet<String> = texts.into_iter().collect();
        let words: HashSet<String> = texts.iter().map(|text| words(text)).collect();
        let phases: Vec<String> = words.iter().filter_map(|words| without_phase(words)).collect();
        let words: HashSet<String> = words.into_iter().chain(phases).collect();
        let count = |words: &String| words.split_whitespace().count();
        let long = words.iter().filter(|words| count(words) > 2);
        // Two words of a paragraph are sought as one text.
        let long: HashSet<String> = long.chain(wrapped.iter().filter(|words| count(words) > 1)).cloned().collect();
        let long: Vec<String> = long.into_iter().collect();
        // Fails only if there are too many of them, so that nothing would be found.
        // The other kinds are slow to build for words that repeat.
        let kind = Some(AhoCorasickKind::NoncontiguousNFA);
        let finder = AhoCorasick::builder().kind(kind).build(&long).ok();
        let long = long.into_iter().zip(0..).collect();
        let texts: HashSet<String> = texts.iter().map(|text| text.trim().to_owned()).collect();
        let marks = texts.iter().filter(|text| super::source_texts::words(text).trim().is_empty() && !text.is_ascii());
        WantedTexts { marks: marks.cloned().collect(), texts, words, long, finder }
    }
}

/// The texts of a file that these events, which it becomes, do not hold.
pub fn unsaid(file: &str, events: &[LedgerEvent]) -> Vec<MissingText> {
    let mut held = HeldTexts::wanting([file]);
    events.iter().for_each(|event| held.add_event(event));
    missing(file, &held)
}

/// The words after `phase`, without which a checkpoint has its phase.
fn without_phase(words: &str) -> Option<String> {
    let (first, rest) = words.trim_start().split_once(' ')?;
    first.eq_ignore_ascii_case("phase").then(|| format!(" {rest}"))
}

/// The texts of a file that the ledger does not hold.
fn missing(file: &str, held: &HeldTexts) -> Vec<MissingText> {
    let missing = texts_of(file).into_iter().filter(|source| !held.holds(source));
    missing.map(|SourceText { line, text, .. }| MissingText { line, text }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(file: &str, pieces: &str) -> HeldTexts {
        let mut held = HeldTexts::wanting([file]);
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
