//! The JSON answers that several commands give.

use serde::{Serialize, Serializer};
use serde_json::Value;
use shopfloor_core::hash::Digest;

use crate::facts::{Events, Skipped};
use crate::instant::EventTime;
use crate::section::Section;
use crate::view::{OtherSection, ReachedCheckpoint, SectionContent, Told, View};

/// The whole ledger.
#[derive(Serialize)]
pub struct LedgerAnswer<'a> {
    #[serde(flatten)]
    sections: Sections<'a>,
    other: Others<'a>,
    event_count: usize,
    latest_ts: Option<String>,
    latest_at: Option<String>,
    inputs: Digest,
    skipped: Vec<SkippedAnswer<'a>>,
    written: bool,
    path: String,
}

/// Where a ledger was written.
pub struct Destination {
    pub path: String,
    pub is_written: bool,
}

impl<'a> LedgerAnswer<'a> {
    pub fn new(view: &'a View<'_>, events: &'a Events, to: Destination) -> LedgerAnswer<'a> {
        LedgerAnswer {
            sections: Sections(&view.sections),
            other: Others(&view.others),
            event_count: view.event_count,
            latest_ts: view.latest.map(|ts| ts.to_string()),
            latest_at: view.latest.map(EventTime::render),
            inputs: view.inputs,
            skipped: skipped(&events.skipped),
            written: to.is_written,
            path: to.path,
        }
    }
}

/// An answer, with the failure of what followed it.
#[derive(Serialize)]
pub struct WithError<A> {
    #[serde(flatten)]
    pub answer: A,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
}

/// A file that was skipped as malformed.
#[derive(Serialize)]
pub struct SkippedAnswer<'a> {
    path: String,
    line: usize,
    why: &'a str,
}

/// The files that were skipped.
pub fn skipped(skipped: &[Skipped]) -> Vec<SkippedAnswer<'_>> {
    let answers = skipped.iter().map(|Skipped { path, problem }| SkippedAnswer {
        path: path.to_string_lossy().into_owned(),
        line: problem.line,
        why: &problem.why,
    });
    answers.collect()
}

/// Each section under its word.
struct Sections<'a>(&'a [(Section, SectionContent<'a>)]);

impl Serialize for Sections<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(section, content)| (section.word(), ContentAnswer(content))))
    }
}

struct ContentAnswer<'a>(&'a SectionContent<'a>);

impl Serialize for ContentAnswer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            SectionContent::Register(told) => told.map(|told| told.text).serialize(serializer),
            SectionContent::List(items) => serializer.collect_seq(items.iter().map(|told| told.text)),
            SectionContent::Map(pairs) => serializer.collect_map(pairs.iter().map(|(key, told)| (key, told.text))),
            SectionContent::Checkpoints(all) => serializer.collect_seq(all.iter().map(CheckpointAnswer::new)),
        }
    }
}

#[derive(Serialize)]
struct CheckpointAnswer<'a> {
    phase: &'a str,
    status: &'a str,
    updated: &'a str,
    updated_at: Option<String>,
    agent: &'a str,
    more: &'a str,
}

impl<'a> CheckpointAnswer<'a> {
    fn new(reached: &'a ReachedCheckpoint<'_>) -> CheckpointAnswer<'a> {
        let ReachedCheckpoint { checkpoint, by, at } = reached;
        CheckpointAnswer {
            phase: checkpoint.phase,
            status: checkpoint.status,
            updated: checkpoint.updated,
            updated_at: at.map(EventTime::render),
            agent: by.agent,
            more: checkpoint.more,
        }
    }
}

/// The sections without rules of their own, each under its name.
struct Others<'a>(&'a [OtherSection<'a>]);

impl Serialize for Others<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|other| (other.key, OtherAnswer::new(other))))
    }
}

/// Almost every such section has one shape; several are listed.
#[derive(Serialize)]
#[serde(untagged)]
enum OtherAnswer<'a> {
    One(ShapeAnswer<'a>),
    Several { shapes: Vec<ShapeAnswer<'a>> },
}

#[derive(Serialize)]
#[serde(untagged)]
enum ShapeAnswer<'a> {
    Text(&'a str),
    Items(Items<'a>),
    Pairs(Pairs<'a>),
}

impl<'a> OtherAnswer<'a> {
    fn new(other: &'a OtherSection<'_>) -> OtherAnswer<'a> {
        let text = other.text.map(|told| ShapeAnswer::Text(told.text));
        let items = (!other.items.is_empty()).then_some(ShapeAnswer::Items(Items(&other.items)));
        let pairs = (!other.pairs.is_empty()).then_some(ShapeAnswer::Pairs(Pairs(&other.pairs)));
        let mut shapes: Vec<_> = [text, items, pairs].into_iter().flatten().collect();
        match shapes.pop() {
            Some(one) if shapes.is_empty() => OtherAnswer::One(one),
            last => OtherAnswer::Several { shapes: shapes.into_iter().chain(last).collect() },
        }
    }
}

struct Items<'a>(&'a [Told<'a>]);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|told| told.text))
    }
}

/// A map in the order of its pairs.
struct Pairs<'a>(&'a [(&'a str, Told<'a>)]);

impl Serialize for Pairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, told)| (key, told.text)))
    }
}
