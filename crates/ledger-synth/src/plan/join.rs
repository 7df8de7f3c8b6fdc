//! Joins events and snapshots into one ledger. The join is pure, and it is a join of semilattices: the order,
//! repetition and grouping of its input do not change its result.
//!
//! A section has a register (the newest text counts), a set of texts, and a map (the newest value of each key counts; a
//! removal is a value too). Checkpoints are a set. The newest entry is the one with the greatest (instant, agent,
//! value), which is a total order.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hash};

use hashbrown::hash_table::Entry as Slot;
use hashbrown::{DefaultHashBuilder, HashMap, HashSet, HashTable};

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;

use crate::cache::Base;
use crate::entry::{Checkpoint, Entry, RETRACT};
use crate::facts::gather::Gathered;
use crate::fold::{Fold, FoldPart};
use crate::join::{By, Join, JoinedSection, Pair};
use crate::record::EventRecord;
use crate::section::{Section, SectionName};
use crate::snapshot::Snapshot;
use crate::source::{Source, cut};

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

    /// Whether an event changes the join: it counts, or it retracts another one.
    pub fn hears(&self, record: &EventRecord) -> bool {
        record.parts().is_some_and(|(source, mut entries)| {
            self.takes(source.branch, source.agent) || entries.any(|entry| entry.retracted().is_some())
        })
    }
}

/// Joins events and snapshots.
pub fn join<'a>(
    records: impl IntoIterator<Item = &'a EventRecord> + Clone,
    snapshots: &[&'a Snapshot],
    filter: &Filter,
) -> Join<'a> {
    join_with(records, snapshots, filter, false)
}

/// Joins everything but checkpoints, which are many and which nothing replaces.
pub fn join_without_checkpoints<'a>(records: &'a [EventRecord], snapshots: &[&'a Snapshot]) -> Join<'a> {
    join_with(records, snapshots, &Filter::default(), true)
}

fn join_with<'a>(
    records: impl IntoIterator<Item = &'a EventRecord> + Clone,
    snapshots: &[&'a Snapshot],
    filter: &Filter,
    skips_checkpoints: bool,
) -> Join<'a> {
    table(records, snapshots, filter, skips_checkpoints).finish()
}

fn table<'a>(
    records: impl IntoIterator<Item = &'a EventRecord> + Clone,
    snapshots: &[&'a Snapshot],
    filter: &Filter,
    skips_checkpoints: bool,
) -> Table<'a> {
    let mut retracted = BTreeSet::new();
    loop {
        // All retractions are known only after all events have been read. If there are any, a second round leaves out
        // the retracted events.
        let (filter, retracting) = (filter.clone(), retracted.clone());
        let mut table = Table { filter, retracted: retracting, skips_checkpoints, ..Table::default() };
        table.expect(records.clone().into_iter().size_hint().1.unwrap_or_default());
        snapshots.iter().for_each(|snapshot| table.fold_snapshot(snapshot));
        records.clone().into_iter().for_each(|record| table.add(record));
        let found = table.all_retracted();
        if found == retracted {
            return table;
        }
        retracted = found;
    }
}

/// Joins everything that was found.
pub fn join_gathered(found: &Gathered) -> Result<Join<'_>> {
    join_without(found, &[])
}

/// Joins everything that was found except some of the events, whose positions are in ascending order.
pub fn join_without<'a>(found: &'a Gathered, left_out: &[usize]) -> Result<Join<'a>> {
    let records = found.events.records.iter().enumerate();
    let records = records.filter(|(at, _)| left_out.binary_search(at).is_err()).map(|(_, record)| record);
    Ok(match &found.base {
        Some(base) => resume(base, records),
        None => join(records, &found.events.snapshots()?, &Filter::default()),
    })
}

/// Adds events to an earlier join. None of them retracts an event of that.
fn resume<'a>(base: &'a Base, records: impl Iterator<Item = &'a EventRecord>) -> Join<'a> {
    let mut table = Table {
        retracted: base.retracted.clone(),
        snapshots: base.snapshots.clone(),
        folded: base.folded.iter().copied().collect(),
        ..Table::default()
    };
    table.expect(base.count() + records.size_hint().1.unwrap_or_default());
    table.fold(&base.events);
    records.for_each(|record| table.add(record));
    table.finish()
}

/// A join, to find out which events would change nothing in it.
pub struct KnownJoin<'a>(Table<'a>);

impl<'a> KnownJoin<'a> {
    pub fn of(records: &'a [EventRecord], snapshots: &[&'a Snapshot]) -> KnownJoin<'a> {
        KnownJoin(table(records, snapshots, &Filter::default(), false))
    }

    /// Whether an event with this id is in the join.
    pub fn has(&self, id: Digest) -> bool {
        self.0.source_position(id).is_some()
    }

    /// Whether an event that counts is in the join already, with everything it says.
    pub fn says<'s>(&'s self, record: &'s EventRecord) -> bool {
        let Some((source, mut entries)) = record.parts() else { return false };
        let table: &'s Table<'s> = &self.0;
        let Some(of) = table.source_position(source.id) else { return false };
        table.sources[of as usize].topic.map(cut) >= source.topic.map(cut)
            && entries.all(|entry| table.says(&entry, of))
    }
}

/// The join while events are added.
#[derive(Default)]
struct Table<'a> {
    sources: Vec<Source<'a>>,
    /// About how many sources there will be.
    events: usize,
    /// The positions of the sources, by their ids.
    places: HashTable<u32>,
    sections: GrowingSections<'a>,
    /// What each agent last said it does.
    nows: HashMap<&'a str, By<&'a str>>,
    checkpoints: Mentions<By<Checkpoint<&'a str>>>,
    folded: HashSet<Digest>,
    snapshots: BTreeSet<Digest>,
    retracted: BTreeSet<Digest>,
    /// The ids that are retracted by events which do not count themselves.
    hidden: Vec<Digest>,
    filter: Filter,
    skips_checkpoints: bool,
}

/// All sections while events are added. Those with rules of their own are found without a hash.
#[derive(Default)]
struct GrowingSections<'a> {
    /// By their positions in [`Section::ALL`].
    known: [Growing<'a>; Section::ALL.len()],
    others: HashMap<SectionName<'a>, Growing<'a>>,
}

impl<'a> GrowingSections<'a> {
    fn get(&self, name: &SectionName<'a>) -> Option<&Growing<'a>> {
        match name.section() {
            Some(known) => Some(&self.known[known.position()]),
            None => self.others.get(name),
        }
    }

    fn section(&mut self, name: SectionName<'a>) -> &mut Growing<'a> {
        match name.section() {
            Some(known) => &mut self.known[known.position()],
            None => self.others.entry(name).or_default(),
        }
    }

    fn into_all(self) -> impl Iterator<Item = (SectionName<'a>, Growing<'a>)> {
        let known = Section::ALL.into_iter().map(SectionName::from).zip(self.known);
        known.filter(|(_, section)| !section.is_empty()).chain(self.others)
    }
}

/// A section while events are added.
#[derive(Default)]
struct Growing<'a> {
    text: Option<By<&'a str>>,
    items: Mentions<By<&'a str>>,
    pairs: Mentions<Pair<'a>>,
}

impl Growing<'_> {
    fn is_empty(&self) -> bool {
        self.text.is_none() && self.items.all.is_empty() && self.pairs.all.is_empty()
    }
}

/// Everything that was mentioned, each thing once.
struct Mentions<T> {
    all: Vec<T>,
    /// The positions of all, by the hash of what they are about.
    places: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// If so many things are mentioned, probably as many are as there are events.
const MANY: usize = 1024;

impl<T> Default for Mentions<T> {
    fn default() -> Self {
        Mentions { all: Vec::new(), places: HashTable::new(), hasher: DefaultHashBuilder::default() }
    }
}

impl<T> Mentions<T> {
    /// The mention that is held of the same thing.
    fn held<K: Hash + Eq>(&self, mention: &T, about: impl Fn(&T) -> K) -> Option<&T> {
        let key = about(mention);
        let is_it = |place: &u32| about(&self.all[*place as usize]) == key;
        self.places.find(self.hasher.hash_one(&key), is_it).map(|place| &self.all[*place as usize])
    }

    /// Adds a mention, unless the same thing was mentioned by a newer source. `about` tells what a mention is about, and
    /// `events` is how many events there are.
    fn add<K: Hash + Eq>(
        &mut self,
        mention: T,
        events: usize,
        about: impl Fn(&T) -> K,
        is_newer: impl Fn(&T, &T) -> bool,
    ) {
        let Mentions { all, places, hasher } = self;
        if all.len() == MANY {
            places.reserve(events, |place| hasher.hash_one(about(&all[*place as usize])));
        }
        let key = about(&mention);
        let hash = |place: &u32| hasher.hash_one(about(&all[*place as usize]));
        match places.entry(hasher.hash_one(&key), |place| about(&all[*place as usize]) == key, hash) {
            Slot::Occupied(place) => {
                let held = &mut all[*place.get() as usize];
                if is_newer(&mention, held) {
                    *held = mention;
                }
            }
            Slot::Vacant(slot) => {
                slot.insert(u32::try_from(all.len()).unwrap_or(u32::MAX));
                all.push(mention);
            }
        }
    }
}

impl<'a> Table<'a> {
    /// Makes room for about so many events.
    fn expect(&mut self, events: usize) {
        self.events = events;
        self.sources.reserve_exact(events);
        self.places.reserve(events, |_| 0);
    }

    fn fold_snapshot(&mut self, snapshot: &'a Snapshot) {
        self.snapshots.insert(snapshot.content);
        self.snapshots.extend(&snapshot.folds);
        self.folded.extend(snapshot.events.sources().map(|source| source.id));
        self.fold(&snapshot.events);
    }

    fn fold(&mut self, fold: &'a Fold) {
        let mut places = Vec::new();
        for part in fold.parts() {
            match part {
                FoldPart::Source(source) => {
                    let is_taken = self.filter.takes(source.branch, source.agent);
                    places.push(is_taken.then(|| self.source_index(source)));
                }
                FoldPart::Entry(entry, of) => match places.get(of as usize).copied().flatten() {
                    Some(place) => self.add_entry(entry, place),
                    None => self.keep_retraction(&entry),
                },
            }
        }
    }

    fn add(&mut self, record: &'a EventRecord) {
        let is_out = self.retracted.contains(&record.id()) && !self.folded.contains(&record.id());
        // This cannot fail, because we encoded the event, now or when it was added to the cache.
        let Some((source, entries)) = record.parts() else { return };
        if is_out || !self.filter.takes(source.branch, source.agent) {
            return entries.for_each(|entry| self.keep_retraction(&entry));
        }
        // Events with one id may say different things, because an id is that of the first form of an event.
        let place = self.source_index(source);
        entries.for_each(|entry| self.add_entry(entry, place));
    }

    /// Keeps the retractions of an event that does not count itself.
    fn keep_retraction(&mut self, entry: &Entry<'_, &str>) {
        self.hidden.extend(entry.retracted());
    }

    /// The position of a source.
    fn source_position(&self, id: Digest) -> Option<u32> {
        self.places.find(id.short(), |place| self.sources[*place as usize].id == id).copied()
    }

    fn source_index(&mut self, source: Source<'a>) -> u32 {
        let Table { sources, places, .. } = self;
        let next = u32::try_from(sources.len()).unwrap_or(u32::MAX);
        let id = |place: &u32| sources[*place as usize].id;
        // An id is a hash already.
        match places.entry(source.id.short(), |place| id(place) == source.id, |place| id(place).short()) {
            Slot::Occupied(slot) => {
                let held = &mut sources[*slot.get() as usize];
                if held.topic.map(cut) < source.topic.map(cut) {
                    held.topic = source.topic;
                }
                *slot.get()
            }
            Slot::Vacant(slot) => {
                slot.insert(next);
                sources.push(source);
                next
            }
        }
    }

    /// Whether [`Table::add_entry`] would change nothing.
    fn says(&self, entry: &Entry<'a, &'a str>, of: u32) -> bool {
        let sources = &self.sources;
        let section = self.sections.get(&entry.section());
        let is_held = |held: Option<u32>| held.is_some_and(|held| !is_newer(sources, &((), of), &((), held)));
        match *entry {
            Entry::Text { section: ref name, text } => {
                let is_held = |held: Option<&By<&str>>| held.is_some_and(|held| !is_newer(sources, &(text, of), held));
                let agent = sources[of as usize].agent;
                is_held(section.and_then(|section| section.text.as_ref()))
                    && (*name != Section::Now || is_held(self.nows.get(agent)))
            }
            Entry::Item { text, .. } => {
                is_held(section.and_then(|section| section.items.held(&(text, of), about_item)).map(|held| held.1))
            }
            Entry::Pair { key, value, .. } => section
                .and_then(|section| section.pairs.held(&(key, (value, of)), about_pair))
                .is_some_and(|held| !is_newer(sources, &(value, of), &held.1)),
            Entry::Checkpoint(checkpoint) => {
                is_held(self.checkpoints.held(&(checkpoint, of), |one| about_checkpoint(sources, one)).map(|one| one.1))
            }
        }
    }

    fn add_entry(&mut self, entry: Entry<'a, &'a str>, of: u32) {
        let sources = &self.sources;
        match entry {
            Entry::Text { section, text } => {
                let text = (text, of);
                if section == Section::Now {
                    let now = self.nows.entry(sources[of as usize].agent).or_insert(text);
                    if is_newer(sources, &text, now) {
                        *now = text;
                    }
                }
                let held = &mut self.sections.section(section).text;
                if held.as_ref().is_none_or(|held| is_newer(sources, &text, held)) {
                    *held = Some(text);
                }
            }
            Entry::Item { section, text } => {
                let items = &mut self.sections.section(section).items;
                items.add((text, of), self.events, about_item, |a, b| is_newer(sources, &((), a.1), &((), b.1)));
            }
            Entry::Pair { section, key, value } => {
                let pairs = &mut self.sections.section(section).pairs;
                pairs.add((key, (value, of)), self.events, about_pair, |a, b| is_newer(sources, &a.1, &b.1));
            }
            Entry::Checkpoint(_) if self.skips_checkpoints => {}
            Entry::Checkpoint(checkpoint) => {
                let about = |one: &By<Checkpoint<&'a str>>| about_checkpoint(sources, one);
                self.checkpoints
                    .add((checkpoint, of), self.events, about, |a, b| is_newer(sources, &((), a.1), &((), b.1)));
            }
        }
    }

    fn all_retracted(&self) -> BTreeSet<Digest> {
        let items =
            self.sections.others.get(&SectionName::from(RETRACT)).into_iter().flat_map(|section| &section.items.all);
        items.filter_map(|(text, _)| Digest::parse(text)).chain(self.hidden.iter().copied()).collect()
    }

    fn finish(self) -> Join<'a> {
        drop(self.places);
        let sources = self.sources;
        let sections = self.sections.into_all().map(|(name, Growing { text, items, pairs })| {
            let (mut items, mut pairs) = (items.all, pairs.all);
            // Stable sorts are fast where most is in order, as in an earlier join.
            items.sort_by(|a, b| a.0.cmp(b.0));
            pairs.sort_by(|a, b| a.0.cmp(b.0));
            (name, JoinedSection { text, items, pairs })
        });
        let mut nows: Vec<_> = self.nows.into_values().collect();
        nows.sort_unstable_by(|a, b| newest_first(&sources, a, b));
        Join {
            nows,
            sections: sections.collect(),
            checkpoints: self.checkpoints.all,
            folded: self.folded,
            snapshots: self.snapshots,
            retracted: self.retracted,
            sources,
        }
    }
}

fn about_item<'a>(item: &By<&'a str>) -> &'a str {
    item.0
}

fn about_pair<'a>(pair: &Pair<'a>) -> &'a str {
    pair.0
}

/// Equal checkpoints of one agent count once, with the newest source.
fn about_checkpoint<'a>(
    sources: &[Source<'a>],
    (checkpoint, of): &By<Checkpoint<&'a str>>,
) -> (Checkpoint<&'a str>, &'a str) {
    (*checkpoint, sources[*of as usize].agent)
}

/// The newest first, by instant, agent and value. If all three are equal, the id decides, which does not change the
/// ledger's text.
fn newest_first<V: Ord>(sources: &[Source<'_>], a: &By<V>, b: &By<V>) -> Ordering {
    let (one, other) = (&sources[a.1 as usize], &sources[b.1 as usize]);
    (other.ts, other.agent, &b.0, other.id).cmp(&(one.ts, one.agent, &a.0, one.id))
}

fn is_newer<V: Ord>(sources: &[Source<'_>], a: &By<V>, b: &By<V>) -> bool {
    newest_first(sources, a, b) == Ordering::Less
}

#[cfg(test)]
#[path = "join_tests.rs"]
mod tests;
