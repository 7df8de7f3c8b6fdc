//! The joined ledger: what a set of events and snapshots says together.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use shopfloor_core::hash::Digest;

use crate::entry::{Checkpoint, Entry};
use crate::instant::EventTime;
use crate::section::{Section, SectionName};
use crate::source::Source;

/// A value and the source that said it, as an index of [`Join::sources`].
pub type By<T> = (T, u32);

/// An entry of a map: its key, its value if it has one, and who said so.
pub type Pair<'a> = (Cow<'a, str>, By<Option<Cow<'a, str>>>);

/// One section of the joined ledger, in each of its shapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinedSection<'a> {
    pub text: Option<By<Cow<'a, str>>>,
    /// In bytewise order.
    pub items: Vec<By<Cow<'a, str>>>,
    /// In bytewise order of the keys.
    pub pairs: Vec<Pair<'a>>,
}

/// Everything that the events say, each part with its newest source.
#[derive(Debug, Default)]
pub struct Join<'a> {
    /// Every event that counts, without duplicates.
    pub sources: Vec<Source<'a>>,
    pub sections: BTreeMap<SectionName<'a>, JoinedSection<'a>>,
    pub checkpoints: Vec<By<Checkpoint<'a>>>,
    /// What each agent last said it does, newest first; the first is the text of the section `now`.
    pub nows: Vec<By<Cow<'a, str>>>,
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
        sources.sort_unstable_by(|a, b| (b.ts, &b.agent, b.id).cmp(&(a.ts, &a.agent, a.id)));
        sources
    }

    /// The newest time of all. None: there are no events.
    pub fn latest(&self) -> Option<EventTime> {
        self.sources.iter().map(|source| source.ts).max()
    }

    /// A hash of the events that count, equal for equal sets.
    pub fn inputs(&self) -> Digest {
        let mut ids: Vec<Digest> = self.sources.iter().map(|source| source.id).collect();
        ids.sort_unstable();
        Digest::of_parts(ids.iter().map(|id| format!("{id}\n")))
    }

    /// Everything as entries, each with its source, for a snapshot.
    pub fn entries(&self) -> Vec<(Entry<'_>, u32)> {
        let mut all = Vec::new();
        for (name, section) in &self.sections {
            let name = || name.borrowed();
            if let Some((text, of)) = &section.text {
                all.push((Entry::Text { section: name(), text: Cow::Borrowed(&**text) }, *of));
            }
            for (text, of) in &section.items {
                all.push((Entry::Item { section: name(), text: Cow::Borrowed(&**text) }, *of));
            }
            for (key, (value, of)) in &section.pairs {
                let value = value.as_deref().map(Cow::Borrowed);
                all.push((Entry::Pair { section: name(), key: Cow::Borrowed(&**key), value }, *of));
            }
        }
        // The text of the section is the first of these.
        all.extend(
            self.nows
                .iter()
                .skip(1)
                .map(|(text, of)| (Entry::Text { section: Section::Now.into(), text: Cow::Borrowed(&**text) }, *of)),
        );
        all.extend(self.checkpoints.iter().map(|(c, of)| (Entry::Checkpoint(c.clone()), *of)));
        all
    }
}
