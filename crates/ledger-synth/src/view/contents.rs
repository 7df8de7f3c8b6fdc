//! What a reader sees of the joined ledger, section by section.

use std::cmp::Ordering;

use jiff::{SignedDuration, Timestamp};
use shopfloor_core::hash::Digest;

use crate::entry::{Checkpoint, RETRACT};
use crate::instant;
use crate::join::{Join, JoinedSection};
use crate::section::{Section, SectionName, Shape};

/// What the ledger says now.
#[derive(Debug)]
pub struct View<'j> {
    /// The sections of [`Section::SHOWN`], in its order; some may be empty.
    pub sections: Vec<(Section, SectionContent<'j>)>,
    /// The sections without rules of their own, by name.
    pub others: Vec<OtherSection<'j>>,
    pub event_count: usize,
    pub latest: Option<Timestamp>,
    pub inputs: Digest,
}

/// What a section says, by its shape.
#[derive(Debug, PartialEq, Eq)]
pub enum SectionContent<'j> {
    Register(Option<&'j str>),
    List(Vec<&'j str>),
    Map(Vec<(&'j str, &'j str)>),
    Checkpoints(Vec<ReachedCheckpoint<'j>>),
}

/// A checkpoint and the agent that reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachedCheckpoint<'j> {
    pub checkpoint: &'j Checkpoint<'j>,
    pub agent: &'j str,
}

/// A section without rules of its own, in every shape it was written in.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct OtherSection<'j> {
    pub key: &'j str,
    pub text: Option<&'j str>,
    pub items: Vec<&'j str>,
    pub pairs: Vec<(&'j str, &'j str)>,
}

impl<'j> View<'j> {
    /// `window`: how far back from the newest event `this_session` reaches.
    pub fn new(join: &'j Join<'_>, window: Option<SignedDuration>) -> View<'j> {
        let latest = join.latest();
        let oldest = window.and_then(|window| latest?.checked_sub(window).ok());
        View {
            sections: Section::SHOWN.into_iter().map(|section| (section, content(join, section, oldest))).collect(),
            others: join.sections.iter().filter_map(|(name, section)| other(name, section)).collect(),
            event_count: join.sources.len(),
            latest,
            inputs: join.inputs(),
        }
    }

    /// The text of a register.
    pub fn register(&self, section: Section) -> Option<&'j str> {
        self.sections.iter().find_map(|(own, content)| match content {
            SectionContent::Register(text) if *own == section => *text,
            _ => None,
        })
    }

    /// The texts of a list.
    pub fn list(&self, section: Section) -> &[&'j str] {
        let list = self.sections.iter().find_map(|(own, content)| match content {
            SectionContent::List(items) if *own == section => Some(items.as_slice()),
            _ => None,
        });
        list.unwrap_or_default()
    }
}

fn content<'j>(join: &'j Join<'_>, section: Section, oldest: Option<Timestamp>) -> SectionContent<'j> {
    let joined = join.sections.get(&SectionName::from(section));
    match section.shape() {
        Shape::Register => {
            SectionContent::Register(joined.and_then(|joined| joined.text.as_ref()).map(|(text, _)| &**text))
        }
        Shape::List => {
            SectionContent::List(joined.map(|joined| items(join, section, joined, oldest)).unwrap_or_default())
        }
        Shape::Map => SectionContent::Map(joined.map(pairs).unwrap_or_default()),
        Shape::Checkpoints => SectionContent::Checkpoints(checkpoints(join)),
    }
}

/// The texts of a list that are shown: `oldest` hides those of earlier sessions, a later `resolved` hides a question.
fn items<'j>(
    join: &'j Join<'_>,
    section: Section,
    joined: &'j JoinedSection<'_>,
    oldest: Option<Timestamp>,
) -> Vec<&'j str> {
    let resolved = join.sections.get(&SectionName::from(Section::Resolved));
    let is_shown = |text: &str, of: u32| match section {
        Section::ThisSession => oldest.is_none_or(|oldest| join.source(of).ts >= oldest),
        Section::OpenQuestions => resolved.is_none_or(|resolved| is_open(join, resolved, text, of)),
        _ => true,
    };
    joined.items.iter().filter(|(text, of)| is_shown(text, *of)).map(|(text, _)| &**text).collect()
}

/// A section that is shown after those with rules of their own. Ids of retracted events are not shown.
fn other<'j>(name: &'j SectionName<'_>, section: &'j JoinedSection<'_>) -> Option<OtherSection<'j>> {
    // A text under the name of the checkpoints is not a checkpoint.
    if name.shape().is_some_and(|shape| shape != Shape::Checkpoints) {
        return None;
    }
    let hidden = |text: &str| name.as_str() == RETRACT && Digest::parse(text).is_some();
    let other = OtherSection {
        key: name.as_str(),
        text: section.text.as_ref().map(|(text, _)| &**text),
        items: section.items.iter().map(|(text, _)| &**text).filter(|text| !hidden(text)).collect(),
        pairs: pairs(section),
    };
    (other.text.is_some() || !other.items.is_empty() || !other.pairs.is_empty()).then_some(other)
}

fn pairs<'j>(section: &'j JoinedSection<'_>) -> Vec<(&'j str, &'j str)> {
    section.pairs.iter().filter_map(|(key, (value, _))| Some((&**key, value.as_deref()?))).collect()
}

/// Whether a question was asked after it was last resolved.
fn is_open(join: &Join<'_>, resolved: &JoinedSection<'_>, text: &str, asked: u32) -> bool {
    let at = resolved.items.binary_search_by(|(item, _)| (**item).cmp(text));
    let stamp = |of: u32| (join.source(of).ts, &*join.source(of).agent);
    at.is_err() || at.is_ok_and(|at| stamp(asked) > stamp(resolved.items[at].1))
}

fn checkpoints<'j>(join: &'j Join<'_>) -> Vec<ReachedCheckpoint<'j>> {
    let reach =
        |(checkpoint, of): &'j (Checkpoint<'_>, u32)| ReachedCheckpoint { checkpoint, agent: &join.source(*of).agent };
    let mut all: Vec<_> = join.checkpoints.iter().map(|by| (instant::parse(&by.0.updated), reach(by))).collect();
    all.sort_unstable_by(|(a_at, a), (b_at, b)| {
        let (x, y) = (a.checkpoint, b.checkpoint);
        // A time nobody can read comes after those that are one, by its text.
        let by_time = match (a_at, b_at) {
            (Some(a), Some(b)) => a.cmp(b),
            (None, None) => x.updated.cmp(&y.updated),
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        by_time
            .then_with(|| natural(&x.phase, &y.phase))
            .then_with(|| a.agent.cmp(b.agent))
            .then_with(|| x.status.cmp(&y.status))
            .then_with(|| x.more.cmp(&y.more))
    });
    all.into_iter().map(|(_, reached)| reached).collect()
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
