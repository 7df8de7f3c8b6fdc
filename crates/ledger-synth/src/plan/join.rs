//! Joins events and snapshots into one ledger. The join is pure, and it is a join of semilattices: the order,
//! repetition and grouping of its input do not change its result.
//!
//! A section has a register (the newest text counts), a set of texts, and a map (the newest value of each key counts; a
//! removal is a value too). Checkpoints are a set. The newest entry is the one with the greatest (instant, agent,
//! value), which is a total order.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeSet, HashMap, HashSet};

use shopfloor_core::hash::Digest;

use crate::canonical::CanonicalEvent;
use crate::entry::{Checkpoint, Entry, RETRACT};
use crate::instant::EventTime;
use crate::join::{By, Join, JoinedSection};
use crate::section::{Section, SectionName};
use crate::snapshot::Snapshot;
use crate::source::Source;

/// Which events count. By default all events count.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub branch: Option<String>,
    pub agent: Option<String>,
}

impl Filter {
    pub fn is_all(&self) -> bool {
        self.branch.is_none() && self.agent.is_none()
    }

    pub fn takes(&self, branch: Option<&str>, agent: &str) -> bool {
        self.branch.as_deref().is_none_or(|wanted| branch == Some(wanted))
            && self.agent.as_deref().is_none_or(|wanted| agent == wanted)
    }
}

/// Joins events and snapshots.
pub fn join<'a>(records: &'a [CanonicalEvent], snapshots: &'a [Snapshot<'_>], filter: &Filter) -> Join<'a> {
    let mut retracted = BTreeSet::new();
    loop {
        // All retractions are known only after all events have been read. If there are any, a second round leaves out
        // the retracted events.
        let mut table = Table { retracted: retracted.clone(), filter: filter.clone(), ..Table::default() };
        table.sources.reserve_exact(records.len());
        table.places.reserve(records.len());
        snapshots.iter().for_each(|snapshot| table.fold(snapshot));
        records.iter().for_each(|record| table.add(record));
        let found = table.all_retracted();
        if found == retracted {
            return table.finish();
        }
        retracted = found;
    }
}

/// The join while events are added.
#[derive(Default)]
struct Table<'a> {
    sources: Vec<Source<'a>>,
    places: HashMap<Digest, u32>,
    sections: HashMap<SectionName<'a>, Growing<'a>>,
    /// What each agent last said it does.
    nows: HashMap<Cow<'a, str>, By<Cow<'a, str>>>,
    /// All checkpoints, including duplicates.
    checkpoints: Vec<By<Checkpoint<'a>>>,
    folded: HashSet<Digest>,
    snapshots: BTreeSet<Digest>,
    retracted: BTreeSet<Digest>,
    /// The ids that are retracted by events which do not count themselves.
    hidden: Vec<Digest>,
    filter: Filter,
}

#[derive(Default)]
struct Growing<'a> {
    text: Option<By<Cow<'a, str>>>,
    items: HashMap<Cow<'a, str>, u32>,
    pairs: HashMap<Cow<'a, str>, By<Option<Cow<'a, str>>>>,
}

impl<'a> Table<'a> {
    fn fold(&mut self, snapshot: &'a Snapshot<'_>) {
        self.snapshots.insert(snapshot.content);
        self.snapshots.extend(&snapshot.folds);
        self.folded.extend(snapshot.sources.iter().map(|source| source.id));
        let is_taken = |source: &Source<'_>, filter: &Filter| filter.takes(source.branch.as_deref(), &source.agent);
        let mut places = Vec::with_capacity(snapshot.sources.len());
        for source in &snapshot.sources {
            let place = is_taken(source, &self.filter).then(|| self.source_index(source.borrowed()));
            places.push(place);
        }
        for (entry, of) in &snapshot.entries {
            match places.get(*of as usize).copied().flatten() {
                Some(place) => self.add_entry(entry.borrowed(), place),
                None => self.keep_retraction(entry),
            }
        }
    }

    fn add(&mut self, record: &'a CanonicalEvent) {
        let is_out = self.retracted.contains(&record.id) && !self.folded.contains(&record.id);
        // This cannot fail, because we encoded the event or checked it when we read it.
        let Some(event) = record.decode() else { return };
        if is_out || !self.filter.takes(event.meta.branch.as_deref(), &event.meta.agent) {
            return event.entries.iter().for_each(|entry| self.keep_retraction(entry));
        }
        let known = self.sources.len();
        let place = self.source_index(Source::new(record.id, &event));
        if self.sources.len() == known && !self.folded.contains(&record.id) {
            // This file has the same event as an earlier file.
            return;
        }
        event.entries.into_iter().for_each(|entry| self.add_entry(entry, place));
    }

    /// Keeps the retractions of an event that does not count itself.
    fn keep_retraction(&mut self, entry: &Entry<'_>) {
        self.hidden.extend(entry.retracted());
    }

    fn source_index(&mut self, source: Source<'a>) -> u32 {
        let next = u32::try_from(self.sources.len()).unwrap_or(u32::MAX);
        match self.places.entry(source.id) {
            Slot::Occupied(slot) => *slot.get(),
            Slot::Vacant(slot) => {
                slot.insert(next);
                self.sources.push(source);
                next
            }
        }
    }

    fn add_entry(&mut self, entry: Entry<'a>, of: u32) {
        let sources = &self.sources;
        match entry {
            Entry::Text { section, text } => {
                let text = (text, of);
                if section == Section::Now {
                    match self.nows.entry(sources[of as usize].agent.clone()) {
                        Slot::Occupied(mut slot) if is_newer(sources, &text, slot.get()) => {
                            drop(slot.insert(text.clone()))
                        }
                        Slot::Occupied(_) => {}
                        Slot::Vacant(slot) => drop(slot.insert(text.clone())),
                    }
                }
                let held = &mut self.sections.entry(section).or_default().text;
                if held.as_ref().is_none_or(|held| is_newer(sources, &text, held)) {
                    *held = Some(text);
                }
            }
            Entry::Item { section, text } => match self.sections.entry(section).or_default().items.entry(text) {
                Slot::Occupied(mut slot) => {
                    if is_newer(sources, &((), of), &((), *slot.get())) {
                        slot.insert(of);
                    }
                }
                Slot::Vacant(slot) => drop(slot.insert(of)),
            },
            Entry::Pair { section, key, value } => match self.sections.entry(section).or_default().pairs.entry(key) {
                Slot::Occupied(mut slot) => {
                    if is_newer(sources, &(value.clone(), of), slot.get()) {
                        slot.insert((value, of));
                    }
                }
                Slot::Vacant(slot) => drop(slot.insert((value, of))),
            },
            Entry::Checkpoint(checkpoint) => self.checkpoints.push((checkpoint, of)),
        }
    }

    fn all_retracted(&self) -> BTreeSet<Digest> {
        let items = self.sections.get(&SectionName::from(RETRACT)).into_iter().flat_map(|section| section.items.keys());
        items.filter_map(|text| Digest::parse(text)).chain(self.hidden.iter().copied()).collect()
    }

    fn finish(self) -> Join<'a> {
        let sources = self.sources;
        let sections = self.sections.into_iter().map(|(name, growing)| {
            let mut items: Vec<_> = growing.items.into_iter().collect();
            items.sort_unstable();
            let mut pairs: Vec<_> = growing.pairs.into_iter().collect();
            pairs.sort_unstable();
            (name, JoinedSection { text: growing.text, items, pairs })
        });
        // Equal checkpoints of one agent count once, with the newest source.
        let mut checkpoints = self.checkpoints;
        checkpoints
            .sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| stamp(&sources, b.1).cmp(&stamp(&sources, a.1))));
        checkpoints.dedup_by(|a, b| a.0 == b.0 && sources[a.1 as usize].agent == sources[b.1 as usize].agent);
        checkpoints.shrink_to_fit();
        let mut nows: Vec<_> = self.nows.into_values().collect();
        nows.sort_unstable_by(|a, b| if is_newer(&sources, a, b) { Ordering::Less } else { Ordering::Greater });
        Join {
            nows,
            sections: sections.collect(),
            checkpoints,
            folded: self.folded,
            snapshots: self.snapshots,
            retracted: self.retracted,
            sources,
        }
    }
}

fn stamp<'s>(sources: &'s [Source<'_>], of: u32) -> (&'s str, EventTime, Digest) {
    let source = &sources[of as usize];
    (&source.agent, source.ts, source.id)
}

/// Whether `a` is newer than `b`, by instant, agent and value. If all three are equal, the id decides, which does not
/// change the ledger's text.
fn is_newer<V: Ord>(sources: &[Source<'_>], a: &By<V>, b: &By<V>) -> bool {
    let (one, other) = (&sources[a.1 as usize], &sources[b.1 as usize]);
    (one.ts, &one.agent, &a.0, one.id) > (other.ts, &other.agent, &b.0, other.id)
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
