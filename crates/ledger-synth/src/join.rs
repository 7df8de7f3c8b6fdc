//! The joined ledger: what a set of events and snapshots says together.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashSet;
use shopfloor_core::hash::{Digest, DigestBuilder};

use crate::entry::{Checkpoint, Entry};
use crate::instant::EventTime;
use crate::section::{Section, SectionName};
use crate::source::Source;

/// A value and the source that said it, as an index of [`Join::sources`].
pub type By<T> = (T, u32);

/// An entry of a map: its key, its value if it has one, and who said so.
pub type Pair<'a> = (&'a str, By<Option<&'a str>>);

/// One section of the joined ledger, in each of its shapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinedSection<'a> {
    pub text: Option<By<&'a str>>,
    /// In bytewise order.
    pub items: Vec<By<&'a str>>,
    /// In bytewise order of the keys.
    pub pairs: Vec<Pair<'a>>,
}

/// Everything that the events say, each part with its newest source.
#[derive(Debug, Default)]
pub struct Join<'a> {
    /// Every event that counts, without duplicates.
    pub sources: Vec<Source<'a>>,
    pub sections: BTreeMap<SectionName<'a>, JoinedSection<'a>>,
    /// In no order.
    pub checkpoints: Vec<By<Checkpoint<&'a str>>>,
    /// What each agent last said it does, newest first; the first is the text of the section `now`.
    pub nows: Vec<By<&'a str>>,
    /// The events that snapshots cover.
    pub folded: HashSet<Digest>,
    /// The snapshots, and the snapshots that are folded into them.
    pub snapshots: BTreeSet<Digest>,
    /// The events that somebody retracted.
    pub retracted: BTreeSet<Digest>,
}

impl<'a> Join<'a> {
    pub fn source(&self, of: u32) -> &Source<'a> {
        &self.sources[of as usize]
    }

    /// The sources, newest first.
    pub fn newest_first(&self) -> Vec<&Source<'a>> {
        let mut sources: Vec<_> = self.sources.iter().collect();
        sources.sort_unstable_by(|a, b| (b.ts, b.agent, b.id).cmp(&(a.ts, a.agent, a.id)));
        sources
    }

    /// The newest time of all. None: there are no events.
    pub fn latest(&self) -> Option<EventTime> {
        self.sources.iter().map(|source| source.ts).max()
    }

    /// A hash of the events that count, equal for equal sets.
    pub fn inputs(&self) -> Digest {
        let mut ids: Vec<Digest> = self.sources.iter().map(|source| source.id).collect();
        // The order of their bytes, but most are told apart by one number.
        ids.sort_unstable_by_key(|id| (id.short(), *id));
        let mut digest = DigestBuilder::default();
        for id in ids {
            digest.add(&id.hex());
            digest.add(b"\n");
        }
        digest.finish()
    }

    /// Everything as entries, each with its source.
    pub fn entries(&self) -> impl Iterator<Item = (Entry<'_, &'a str>, u32)> {
        self.texts().chain(self.items_and_pairs()).chain(self.checkpoints.iter().map(as_entry))
    }

    /// The same, in an order that depends on the events only.
    pub fn entries_in_order(&self) -> impl Iterator<Item = (Entry<'_, &'a str>, u32)> {
        let id = |of: u32| self.source(of).id;
        let mut texts: Vec<_> = self.texts().collect();
        texts.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| id(a.1).cmp(&id(b.1))));
        let mut checkpoints: Vec<&By<Checkpoint<&str>>> = self.checkpoints.iter().collect();
        checkpoints.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| id(a.1).cmp(&id(b.1))));
        texts.into_iter().chain(self.items_and_pairs()).chain(checkpoints.into_iter().map(as_entry))
    }

    fn texts(&self) -> impl Iterator<Item = (Entry<'_, &'a str>, u32)> {
        let texts = self.sections.iter().filter_map(|(name, section)| Some((name.borrowed(), section.text?)));
        // The text of the section is the first of these.
        let nows = self.nows.iter().skip(1).map(|now| (Section::Now.into(), *now));
        texts.chain(nows).map(|(section, (text, of))| (Entry::Text { section, text }, of))
    }

    fn items_and_pairs(&self) -> impl Iterator<Item = (Entry<'_, &'a str>, u32)> {
        let items = self.sections.iter().flat_map(|(name, section)| {
            let items = section.items.iter();
            items.map(|(text, of)| (Entry::Item { section: name.borrowed(), text: *text }, *of))
        });
        let pairs = self.sections.iter().flat_map(|(name, section)| {
            let pair = |(key, (value, of)): &Pair<'a>| {
                (Entry::Pair { section: name.borrowed(), key: *key, value: *value }, *of)
            };
            section.pairs.iter().map(pair)
        });
        items.chain(pairs)
    }
}

fn as_entry<'j, 'a>((checkpoint, of): &'j By<Checkpoint<&'a str>>) -> (Entry<'j, &'a str>, u32) {
    (Entry::Checkpoint(*checkpoint), *of)
}
