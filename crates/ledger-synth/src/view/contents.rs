//! What a reader sees of the joined ledger, section by section.

use std::cmp::Ordering;
use std::collections::HashMap;

use jiff::SignedDuration;
use shopfloor_core::hash::Digest;

use crate::entry::{CLOSED, Checkpoint, RETRACT};
use crate::instant::{self, EventTime};
use crate::join::{By, Join, JoinedSection};
use crate::section::{Section, SectionName, Shape};
use crate::source::Source;

/// What the ledger says now.
#[derive(Debug)]
pub struct View<'j> {
    /// The sections of [`Section::SHOWN`], in its order; some may be empty.
    pub sections: Vec<(Section, SectionContent<'j>)>,
    /// What each agent last said it does, newest first. The first is the text of the section `now`.
    pub nows: Vec<Told<'j>>,
    /// The sections without rules of their own, by name.
    pub others: Vec<OtherSection<'j>>,
    pub event_count: usize,
    /// Whether all of it is from one agent and one day.
    pub is_of_one: bool,
    pub latest: Option<EventTime>,
    pub inputs: Digest,
}

/// What a section says, by its shape.
#[derive(Debug)]
pub enum SectionContent<'j> {
    Register(Option<Told<'j>>),
    List(Vec<Told<'j>>),
    Map(Vec<(&'j str, Told<'j>)>),
    Checkpoints(Vec<ReachedCheckpoint<'j>>),
}

/// A text, and who said it last.
#[derive(Clone, Copy, Debug)]
pub struct Told<'j> {
    pub text: &'j str,
    pub by: &'j Source<'j>,
}

/// A checkpoint, and the event that reached it.
#[derive(Clone, Copy, Debug)]
pub struct ReachedCheckpoint<'j> {
    pub checkpoint: &'j Checkpoint<&'j str>,
    pub by: &'j Source<'j>,
    /// When it was reached. None: nobody can read the time that it has.
    pub at: Option<EventTime>,
}

/// A section without rules of its own, in every shape it was written in.
#[derive(Debug, Default)]
pub struct OtherSection<'j> {
    pub key: &'j str,
    pub text: Option<Told<'j>>,
    pub items: Vec<Told<'j>>,
    pub pairs: Vec<(&'j str, Told<'j>)>,
}

impl<'j> View<'j> {
    /// `window`: how far back from the newest event `this_session` reaches.
    pub fn new(join: &'j Join<'_>, window: Option<SignedDuration>) -> View<'j> {
        let latest = join.latest();
        let oldest = window.and_then(|window| latest?.checked_sub(window));
        let author = |source: &'j Source<'_>| (source.ts.day(), source.agent);
        let first = join.sources.first().map(author);
        View {
            sections: Section::SHOWN.into_iter().map(|section| (section, content(join, section, oldest))).collect(),
            nows: join.nows.iter().map(|now| told(join, now)).collect(),
            others: join.sections.iter().filter_map(|(name, section)| other(join, name, section)).collect(),
            event_count: join.sources.len(),
            is_of_one: join.sources.iter().all(|source| Some(author(source)) == first),
            latest,
            inputs: join.inputs(),
        }
    }

    /// The text of a register.
    pub fn register(&self, section: Section) -> Option<&'j str> {
        match self.content(section)? {
            SectionContent::Register(told) => told.map(|told| told.text),
            _ => None,
        }
    }

    /// The texts of a list.
    pub fn list(&self, section: Section) -> &[Told<'j>] {
        match self.content(section) {
            Some(SectionContent::List(items)) => items,
            _ => &[],
        }
    }

    /// The pairs of a map.
    pub fn map(&self, section: Section) -> &[(&'j str, Told<'j>)] {
        match self.content(section) {
            Some(SectionContent::Map(pairs)) => pairs,
            _ => &[],
        }
    }

    pub fn checkpoints(&self) -> &[ReachedCheckpoint<'j>] {
        match self.content(Section::Checkpoints) {
            Some(SectionContent::Checkpoints(all)) => all,
            _ => &[],
        }
    }

    fn content(&self, section: Section) -> Option<&SectionContent<'j>> {
        self.sections.iter().find(|(own, _)| *own == section).map(|(_, content)| content)
    }
}

/// The questions that nobody resolved.
pub fn open_questions<'j>(join: &'j Join<'_>) -> Vec<Told<'j>> {
    let joined = join.sections.get(&SectionName::from(Section::OpenQuestions));
    joined.map(|joined| items(join, Section::OpenQuestions, joined, None)).unwrap_or_default()
}

fn told<'j, T: AsRef<str>>(join: &'j Join<'_>, (text, of): &'j By<T>) -> Told<'j> {
    Told { text: text.as_ref(), by: join.source(*of) }
}

fn content<'j>(join: &'j Join<'_>, section: Section, oldest: Option<EventTime>) -> SectionContent<'j> {
    let joined = join.sections.get(&SectionName::from(section));
    match section.shape() {
        Shape::Register => {
            SectionContent::Register(joined.and_then(|joined| joined.text.as_ref()).map(|text| told(join, text)))
        }
        Shape::List => {
            SectionContent::List(joined.map(|joined| items(join, section, joined, oldest)).unwrap_or_default())
        }
        Shape::Map => SectionContent::Map(joined.map(|joined| decided(join, joined)).unwrap_or_default()),
        Shape::Checkpoints => SectionContent::Checkpoints(checkpoints(join)),
    }
}

/// The texts of a list that are shown: `oldest` hides those of earlier sessions, a later `resolved` hides a question.
fn items<'j>(
    join: &'j Join<'_>,
    section: Section,
    joined: &'j JoinedSection<'_>,
    oldest: Option<EventTime>,
) -> Vec<Told<'j>> {
    let all = joined.items.iter().map(|item| told(join, item));
    match section {
        Section::ThisSession => all.filter(|told| oldest.is_none_or(|oldest| told.by.ts >= oldest)).collect(),
        Section::OpenQuestions => {
            let resolved = ResolvedQuestions::new(join, joined);
            all.filter(|told| resolved.leave_open(told)).collect()
        }
        _ => all.collect(),
    }
}

/// A section that is shown after those with rules of their own. Ids of retracted events and keys whose conflict is
/// closed are not shown.
fn other<'j>(
    join: &'j Join<'_>,
    name: &'j SectionName<'_>,
    section: &'j JoinedSection<'_>,
) -> Option<OtherSection<'j>> {
    // A text under the name of the checkpoints is not a checkpoint.
    if name.shape().is_some_and(|shape| shape != Shape::Checkpoints) {
        return None;
    }
    let hidden = |text: &str| match name.as_str() {
        RETRACT => Digest::parse(text).is_some(),
        CLOSED => names_a_key(join, text),
        _ => false,
    };
    let items = section.items.iter().map(|item| told(join, item));
    let other = OtherSection {
        key: name.as_str(),
        text: section.text.as_ref().map(|text| told(join, text)),
        items: items.filter(|told| !hidden(told.text)).collect(),
        pairs: decided(join, section),
    };
    (other.text.is_some() || !other.items.is_empty() || !other.pairs.is_empty()).then_some(other)
}

/// Whether a text is the name of a key that somebody gave a value: `decisions.lexer`.
fn names_a_key(join: &Join<'_>, text: &str) -> bool {
    text.match_indices('.').any(|(at, _)| {
        let section = join.sections.get(&SectionName::from(&text[..at]));
        let key = &text[at + 1..];
        section.is_some_and(|section| section.pairs.binary_search_by(|(own, _)| (**own).cmp(key)).is_ok())
    })
}

/// The keys that have a value, and who gave it.
fn decided<'j>(join: &'j Join<'_>, section: &'j JoinedSection<'_>) -> Vec<(&'j str, Told<'j>)> {
    let pairs = section.pairs.iter();
    pairs
        .filter_map(|(key, (value, of))| Some((&**key, Told { text: value.as_deref()?, by: join.source(*of) })))
        .collect()
}

/// When each question was last resolved, and by whom.
struct ResolvedQuestions<'j> {
    last: HashMap<&'j str, (EventTime, &'j str)>,
    /// How many questions have a text, but for the number before it.
    alike: HashMap<&'j str, usize>,
}

impl<'j> ResolvedQuestions<'j> {
    fn new(join: &'j Join<'_>, questions: &'j JoinedSection<'_>) -> ResolvedQuestions<'j> {
        let section = join.sections.get(&SectionName::from(Section::Resolved));
        let items = section.iter().flat_map(|section| &section.items);
        let mut alike = HashMap::new();
        if section.is_some() {
            questions.items.iter().for_each(|(text, _)| *alike.entry(unnumbered(text)).or_default() += 1);
        }
        ResolvedQuestions { last: items.map(|(text, of)| (&**text, stamp(join.source(*of)))).collect(), alike }
    }

    /// Whether a question was asked after it was last resolved. A number before the question does not count, unless
    /// there are several that differ in nothing else.
    fn leave_open(&self, question: &Told<'_>) -> bool {
        let bare = unnumbered(question.text);
        let is_only = self.alike.get(bare) == Some(&1);
        let last = self.last.get(question.text).max(self.last.get(bare).filter(|_| is_only));
        last.is_none_or(|last| stamp(question.by) > *last)
    }
}

fn stamp<'s>(source: &'s Source<'_>) -> (EventTime, &'s str) {
    (source.ts, source.agent)
}

/// A text without the number of a list before it: `2. Drop Windows?`.
pub fn unnumbered(text: &str) -> &str {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text[digits..].strip_prefix(['.', ')']).filter(|_| (1..=4).contains(&digits));
    rest.and_then(|rest| rest.strip_prefix(' ')).map_or(text, str::trim_start)
}

fn checkpoints<'j>(join: &'j Join<'_>) -> Vec<ReachedCheckpoint<'j>> {
    let reach = |(checkpoint, of): &'j (Checkpoint<&str>, u32)| ReachedCheckpoint {
        checkpoint,
        by: join.source(*of),
        at: instant::parse(checkpoint.updated),
    };
    let mut all: Vec<_> = join.checkpoints.iter().map(reach).collect();
    all.sort_unstable_by(|a, b| {
        let (x, y) = (a.checkpoint, b.checkpoint);
        // A time nobody can read comes after those that are one, by its text.
        let by_time = match (a.at, b.at) {
            (Some(a), Some(b)) => a.cmp(&b),
            (None, None) => x.updated.cmp(y.updated),
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        by_time
            .then_with(|| natural(x.phase, y.phase))
            .then_with(|| a.by.agent.cmp(b.by.agent))
            .then_with(|| x.status.cmp(y.status))
            .then_with(|| x.more.cmp(y.more))
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
