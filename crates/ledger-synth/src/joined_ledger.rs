//! The joined ledger: what a set of events and snapshots says together.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use shopfloor_core::hash::{Digest, DigestBuilder};

use crate::entry::{Checkpoint, Entry};
use crate::event_time::EventTime;
use crate::section::{Section, SectionName};
use crate::stored_event::EventRecord;

/// Something that was said, and the event that said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote<'a, T = &'a str> {
    pub text: T,
    pub by: &'a EventRecord,
}

impl<'a, T: Copy> Quote<'a, T> {
    /// The newest one has the greatest rank: by instant, agent and text. If all three are equal, the id decides, which does
    /// not change the ledger's text.
    pub fn rank(&self) -> (EventTime, &'a str, T, Digest) {
        (self.by.ts(), self.by.agent(), self.text, self.by.id)
    }
}

/// One section of the joined ledger, in each of its shapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinedSection<'a> {
    pub text: Option<Quote<'a>>,
    /// Each item, and the newest event that names it.
    pub items: BTreeMap<&'a str, &'a EventRecord>,
    /// The newest value of each key. None: the key is removed.
    pub pairs: BTreeMap<&'a str, Quote<'a, Option<&'a str>>>,
}

/// A checkpoint as an event has it, and the agent that reached it.
pub type CheckpointOf<'a> = (&'a Checkpoint, &'a str);

/// Everything that the events say, each part with its newest event.
#[derive(Debug, Default)]
pub struct Join<'a> {
    /// Every event that counts, by its id.
    pub events: BTreeMap<Digest, &'a EventRecord>,
    pub sections: BTreeMap<&'a SectionName, JoinedSection<'a>>,
    /// Equal checkpoints of one agent count once.
    pub checkpoints: BTreeMap<CheckpointOf<'a>, &'a EventRecord>,
    /// What each agent last said it does.
    pub nows: BTreeMap<&'a str, Quote<'a>>,
    /// The events that snapshots cover.
    pub folded: HashSet<Digest>,
    /// The snapshots, and the snapshots that are folded into them.
    pub snapshots: BTreeSet<Digest>,
    /// The events that somebody retracted.
    pub retracted: BTreeSet<Digest>,
}

impl<'a> Join<'a> {
    /// Adds everything that an event says.
    pub fn add(&mut self, event: &'a EventRecord) {
        self.events.insert(event.id, event);
        for entry in &event.event.entries {
            self.add_entry(entry, event);
        }
    }

    fn add_entry(&mut self, entry: &'a Entry, by: &'a EventRecord) {
        let section = self.sections.entry(entry.section()).or_default();
        match entry {
            Entry::Text { section: name, text } => {
                let quote = Quote { text: &**text, by };
                keep_newest(section.text.get_or_insert(quote), quote);
                if *name == Section::Now {
                    keep_newest(self.nows.entry(by.agent()).or_insert(quote), quote);
                }
            }
            Entry::Item { text, .. } => keep_newest_event(section.items.entry(text).or_insert(by), by),
            Entry::Pair { key, value, .. } => {
                let quote = Quote { text: value.as_deref(), by };
                keep_newest(section.pairs.entry(key).or_insert(quote), quote);
            }
            Entry::Checkpoint(checkpoint) => {
                keep_newest_event(self.checkpoints.entry((checkpoint, by.agent())).or_insert(by), by);
            }
        }
    }

    /// The events, newest first.
    pub fn newest_first(&self) -> Vec<&'a EventRecord> {
        let mut events: Vec<_> = self.events.values().copied().collect();
        events.sort_unstable_by(|a, b| (b.ts(), b.agent(), b.id).cmp(&(a.ts(), a.agent(), a.id)));
        events
    }

    /// What each agent last said it does, newest first; the first is the text of the section `now`.
    pub fn newest_nows(&self) -> Vec<Quote<'a>> {
        let mut nows: Vec<_> = self.nows.values().copied().collect();
        nows.sort_unstable_by_key(|now| std::cmp::Reverse(now.rank()));
        nows
    }

    /// The newest time of all. None: there are no events.
    pub fn latest(&self) -> Option<EventTime> {
        self.events.values().map(|event| event.ts()).max()
    }

    /// A hash of the events that count, equal for equal sets.
    pub fn inputs(&self) -> Digest {
        let mut digest = DigestBuilder::default();
        for id in self.events.keys() {
            digest.add(&id.hex());
            digest.add(b"\n");
        }
        digest.finish()
    }
}

fn keep_newest<'a, T: Copy + Ord>(held: &mut Quote<'a, T>, other: Quote<'a, T>) {
    if other.rank() > held.rank() {
        *held = other;
    }
}

fn keep_newest_event<'a>(held: &mut &'a EventRecord, other: &'a EventRecord) {
    if (other.ts(), other.agent(), other.id) > (held.ts(), held.agent(), held.id) {
        *held = other;
    }
}
