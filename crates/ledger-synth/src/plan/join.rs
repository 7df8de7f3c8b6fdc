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

use crate::entry::{Checkpoint, Entry, RETRACT};
use crate::instant::EventTime;
use crate::join::{By, Join, JoinedSection, Pair};
use crate::record::EventRecord;
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
pub fn join<'a>(records: &'a [EventRecord], snapshots: &'a [Snapshot<'_>], filter: &Filter) -> Join<'a> {
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

/// A section while events are added.
#[derive(Default)]
struct Growing<'a> {
    text: Option<By<Cow<'a, str>>>,
    items: Mentions<By<Cow<'a, str>>>,
    pairs: Mentions<Pair<'a>>,
}

/// How many mentions there may be before those that do not count are removed.
const MENTIONS: usize = 4096;

/// Everything that was mentioned. Sorting it now and then costs less than a table of all texts.
struct Mentions<T> {
    all: Vec<T>,
    limit: usize,
}

impl<T> Default for Mentions<T> {
    fn default() -> Self {
        Mentions { all: Vec::new(), limit: MENTIONS }
    }
}

impl<T> Mentions<T> {
    /// Adds a mention. `keep_newest` removes those that do not count.
    fn push(&mut self, mention: T, keep_newest: impl FnOnce(&mut Vec<T>)) {
        if self.all.len() >= self.limit {
            keep_newest(&mut self.all);
            self.limit = MENTIONS.max(4 * self.all.len());
        }
        self.all.push(mention);
    }
}

/// Sorts items, each once, with its newest source.
fn newest_items(items: &mut Vec<By<Cow<'_, str>>>, sources: &[Source<'_>]) {
    items.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| newest_first(sources, &((), a.1), &((), b.1))));
    items.dedup_by(|later, kept| later.0 == kept.0);
}

/// Sorts pairs by their keys, each key once, with its newest value.
fn newest_pairs(pairs: &mut Vec<Pair<'_>>, sources: &[Source<'_>]) {
    pairs.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| newest_first(sources, &a.1, &b.1)));
    pairs.dedup_by(|later, kept| later.0 == kept.0);
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

    fn add(&mut self, record: &'a EventRecord) {
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
            Entry::Item { section, text } => {
                let items = &mut self.sections.entry(section).or_default().items;
                items.push((text, of), |items| newest_items(items, sources));
            }
            Entry::Pair { section, key, value } => {
                let pairs = &mut self.sections.entry(section).or_default().pairs;
                pairs.push((key, (value, of)), |pairs| newest_pairs(pairs, sources));
            }
            Entry::Checkpoint(checkpoint) => self.checkpoints.push((checkpoint, of)),
        }
    }

    fn all_retracted(&self) -> BTreeSet<Digest> {
        let items = self.sections.get(&SectionName::from(RETRACT)).into_iter().flat_map(|section| &section.items.all);
        items.filter_map(|(text, _)| Digest::parse(text)).chain(self.hidden.iter().copied()).collect()
    }

    fn finish(self) -> Join<'a> {
        drop(self.places);
        let sources = self.sources;
        let sections = self.sections.into_iter().map(|(name, Growing { text, items, pairs })| {
            let (mut items, mut pairs) = (items.all, pairs.all);
            newest_items(&mut items, &sources);
            items.shrink_to_fit();
            newest_pairs(&mut pairs, &sources);
            pairs.shrink_to_fit();
            (name, JoinedSection { text, items, pairs })
        });
        // Equal checkpoints of one agent count once, with the newest source.
        let mut checkpoints = self.checkpoints;
        checkpoints
            .sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| stamp(&sources, b.1).cmp(&stamp(&sources, a.1))));
        checkpoints.dedup_by(|a, b| a.0 == b.0 && sources[a.1 as usize].agent == sources[b.1 as usize].agent);
        checkpoints.shrink_to_fit();
        let mut nows: Vec<_> = self.nows.into_values().collect();
        nows.sort_unstable_by(|a, b| newest_first(&sources, a, b));
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

/// The newest first, by instant, agent and value. If all three are equal, the id decides, which does not change the
/// ledger's text.
fn newest_first<V: Ord>(sources: &[Source<'_>], a: &By<V>, b: &By<V>) -> Ordering {
    let (one, other) = (&sources[a.1 as usize], &sources[b.1 as usize]);
    (other.ts, &other.agent, &b.0, other.id).cmp(&(one.ts, &one.agent, &a.0, one.id))
}

fn is_newer<V: Ord>(sources: &[Source<'_>], a: &By<V>, b: &By<V>) -> bool {
    newest_first(sources, a, b) == Ordering::Less
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
