//! What a reader sees of the joined ledger, section by section.

use std::cmp::Ordering;
use std::collections::HashMap;

use jiff::SignedDuration;
use shopfloor_core::hash::Digest;

use crate::entry::{CLOSED, Checkpoint, RETRACT};
use crate::event_time::{self, EventTime};
use crate::joined_ledger::{Join, JoinedSection, Quote};
use crate::section::{Section, SectionName, Shape};
use crate::stored_event::EventRecord;

/// What the ledger says now.
#[derive(Debug)]
pub struct View<'j> {
    pub goal: Option<Quote<'j>>,
    /// What each agent last said it does, newest first. The first is the page's Now.
    pub nows: Vec<Quote<'j>>,
    pub this_session: Vec<Quote<'j>>,
    pub decisions: Vec<(&'j str, Quote<'j>)>,
    pub checkpoints: Vec<ReachedCheckpoint<'j>>,
    pub open_questions: Vec<Quote<'j>>,
    /// The sections without rules of their own, by name.
    pub others: Vec<OtherSection<'j>>,
    pub event_count: usize,
    /// Whether all of it is from one agent and one day.
    pub is_of_one: bool,
    pub latest: Option<EventTime>,
    pub inputs: Digest,
}

/// A checkpoint, and the event that reached it.
#[derive(Clone, Copy, Debug)]
pub struct ReachedCheckpoint<'j> {
    pub checkpoint: &'j Checkpoint,
    pub by: &'j EventRecord,
    /// When it was reached. None: nobody can read the time that it has.
    pub at: Option<EventTime>,
}

/// A section without rules of its own, in every shape it was written in.
#[derive(Debug, Default)]
pub struct OtherSection<'j> {
    pub key: &'j str,
    pub text: Option<Quote<'j>>,
    pub items: Vec<Quote<'j>>,
    pub pairs: Vec<(&'j str, Quote<'j>)>,
}

impl<'j> View<'j> {
    /// `window`: how far back from the newest event `this_session` reaches.
    pub fn new(join: &'j Join<'_>, window: Option<SignedDuration>) -> View<'j> {
        let latest = join.latest();
        let oldest = window.and_then(|window| latest?.checked_sub(window));
        let author = |event: &'j EventRecord| (event.ts().day(), event.agent());
        let first = join.events.values().next().map(|event| author(event));
        let section = |section: Section| join.sections.get(&SectionName::from(section));
        let mut this_session = section(Section::ThisSession).map(items).unwrap_or_default();
        this_session.retain(|item| oldest.is_none_or(|oldest| item.by.ts() >= oldest));
        View {
            goal: section(Section::Goal).and_then(|goal| goal.text),
            nows: join.newest_nows(),
            this_session,
            decisions: section(Section::Decisions).map(decided).unwrap_or_default(),
            checkpoints: checkpoints(join),
            open_questions: open_questions(join),
            others: join.sections.iter().filter_map(|(name, section)| other(join, name, section)).collect(),
            event_count: join.events.len(),
            is_of_one: join.events.values().all(|event| Some(author(event)) == first),
            latest,
            inputs: join.inputs(),
        }
    }

    pub fn now(&self) -> Option<Quote<'j>> {
        self.nows.first().copied()
    }
}

/// The questions that were asked after they were last resolved. A number before a question does not count, unless there
/// are several that differ in nothing else.
pub fn open_questions<'j>(join: &'j Join<'_>) -> Vec<Quote<'j>> {
    let Some(questions) = join.sections.get(&SectionName::from(Section::OpenQuestions)) else { return Vec::new() };
    let mut open = items(questions);
    let Some(resolved) = join.sections.get(&SectionName::from(Section::Resolved)) else { return open };
    let mut alike: HashMap<&str, usize> = HashMap::new();
    questions.items.keys().for_each(|text| *alike.entry(unnumbered(text)).or_default() += 1);
    let last = |text: &str| resolved.items.get(text).map(|by| stamp(by));
    open.retain(|question| {
        let bare = unnumbered(question.text);
        let is_only = alike.get(bare) == Some(&1);
        let last = last(question.text).max(last(bare).filter(|_| is_only));
        last.is_none_or(|last| stamp(question.by) > last)
    });
    open
}

fn items<'j>(section: &'j JoinedSection<'_>) -> Vec<Quote<'j>> {
    section.items.iter().map(|(text, by)| Quote { text: *text, by }).collect()
}

/// A section that is shown after those with rules of their own. Ids of retracted events and keys whose conflict is
/// closed are not shown.
fn other<'j>(join: &'j Join<'_>, name: &'j SectionName, section: &'j JoinedSection<'_>) -> Option<OtherSection<'j>> {
    // A text under the name of the checkpoints is not a checkpoint.
    if name.shape().is_some_and(|shape| shape != Shape::Checkpoints) {
        return None;
    }
    let hidden = |text: &str| match name.as_str() {
        RETRACT => Digest::parse(text).is_some(),
        CLOSED => names_a_key(join, text),
        _ => false,
    };
    let mut items = items(section);
    items.retain(|item| !hidden(item.text));
    let other = OtherSection { key: name.as_str(), text: section.text, items, pairs: decided(section) };
    (other.text.is_some() || !other.items.is_empty() || !other.pairs.is_empty()).then_some(other)
}

/// Whether a text is the name of a key that somebody gave a value: `decisions.lexer`.
fn names_a_key(join: &Join<'_>, text: &str) -> bool {
    join.sections.iter().any(|(name, section)| {
        let key = text.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix('.'));
        key.is_some_and(|key| section.pairs.contains_key(key))
    })
}

/// The keys that have a value, and who gave it.
fn decided<'j>(section: &'j JoinedSection<'_>) -> Vec<(&'j str, Quote<'j>)> {
    let pairs = section.pairs.iter();
    pairs.filter_map(|(key, quote)| Some((*key, Quote { text: quote.text?, by: quote.by }))).collect()
}

fn stamp(event: &EventRecord) -> (EventTime, &str) {
    (event.ts(), event.agent())
}

/// A text without the number of a list before it: `2. Drop Windows?`.
pub fn unnumbered(text: &str) -> &str {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text[digits..].strip_prefix(['.', ')']).filter(|_| (1..=4).contains(&digits));
    rest.and_then(|rest| rest.strip_prefix(' ')).map_or(text, str::trim_start)
}

fn checkpoints<'j>(join: &'j Join<'_>) -> Vec<ReachedCheckpoint<'j>> {
    let all = join.checkpoints.iter();
    let mut all: Vec<_> = all
        .map(|((checkpoint, _), by)| ReachedCheckpoint { checkpoint, by, at: event_time::parse(&checkpoint.updated) })
        .collect();
    all.sort_unstable_by(|a, b| {
        let (x, y) = (a.checkpoint, b.checkpoint);
        // A time nobody can read comes after those that are one, by its text.
        let by_time = match (a.at, b.at) {
            (Some(a), Some(b)) => a.cmp(&b),
            (None, None) => x.updated.cmp(&y.updated),
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        by_time
            .then_with(|| natural(&x.phase, &y.phase))
            .then_with(|| a.by.agent().cmp(b.by.agent()))
            .then_with(|| x.status.cmp(&y.status))
            .then_with(|| x.more.cmp(&y.more))
    });
    all
}

/// Numbers in a text by their value, the rest by its bytes: `2`, `10`, `10a`.
fn natural(a: &str, b: &str) -> Ordering {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (mut x, mut y) = (a, b);
    while !x.is_empty() && !y.is_empty() {
        let (m, n) = (digits(x), digits(y));
        if m > 0 && n > 0 {
            let (p, q) = (x[..m].trim_start_matches('0'), y[..n].trim_start_matches('0'));
            let order = p.len().cmp(&q.len()).then(p.cmp(q));
            if order != Ordering::Equal {
                return order;
            }
            (x, y) = (&x[m..], &y[n..]);
        } else {
            let (p, q) = (x.chars().next(), y.chars().next());
            if p != q {
                return p.cmp(&q);
            }
            let width = p.map_or(1, char::len_utf8);
            (x, y) = (&x[width..], &y[width..]);
        }
    }
    x.len().cmp(&y.len()).then(a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_in_natural_order() {
        let mut phases = ["10", "2", "1a", "1", "2.10", "2.9", "b", "a10", "a9", ""];
        phases.sort_by(|a, b| natural(a, b));
        assert_eq!(phases, ["", "1", "1a", "2", "2.9", "2.10", "10", "a9", "a10", "b"]);
    }
}
