//! What an event says, one thing at a time.

use std::borrow::Cow;

use shopfloor_core::hash::Digest;

use crate::section::{Section, SectionName};

/// The section whose items are ids of retracted events.
pub const RETRACT: &str = "retract";

/// The section whose items are keys whose conflict is closed.
pub const CLOSED: &str = "closed_conflicts";

/// One thing an event says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry<'a> {
    /// A register: the newest counts.
    Text { section: SectionName<'a>, text: Cow<'a, str> },
    /// A member of a set.
    Item { section: SectionName<'a>, text: Cow<'a, str> },
    /// An entry of a map, the newest per key. Without a value it removes the key.
    Pair { section: SectionName<'a>, key: Cow<'a, str>, value: Option<Cow<'a, str>> },
    /// A checkpoint: all are kept.
    Checkpoint(Checkpoint<'a>),
}

/// How far a phase of the work was at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Checkpoint<'a> {
    pub phase: Cow<'a, str>,
    pub status: Cow<'a, str>,
    /// RFC 3339 in UTC, or the text as written; the time of the event where none was written.
    pub updated: Cow<'a, str>,
    /// Its other fields, one per line.
    pub more: Cow<'a, str>,
}

impl<'a> Entry<'a> {
    /// The section it belongs to.
    pub fn section(&self) -> SectionName<'_> {
        match self {
            Entry::Text { section, .. } | Entry::Item { section, .. } | Entry::Pair { section, .. } => {
                section.borrowed()
            }
            Entry::Checkpoint(_) => Section::Checkpoints.into(),
        }
    }

    /// The event that this entry retracts.
    pub fn retracted(&self) -> Option<Digest> {
        match self {
            Entry::Item { section, text } if section.as_str() == RETRACT => Digest::parse(text),
            _ => None,
        }
    }

    pub fn borrowed(&self) -> Entry<'_> {
        self.map(SectionName::borrowed, |text| Cow::Borrowed(&**text))
    }

    pub fn into_owned(self) -> Entry<'static> {
        self.map(|section| section.clone().into_owned(), |text| Cow::Owned(text.to_string()))
    }

    /// The same entry with each of its parts mapped.
    fn map<'s, 't>(
        &'s self,
        name: impl Fn(&'s SectionName<'a>) -> SectionName<'t>,
        text: impl Fn(&'s Cow<'a, str>) -> Cow<'t, str>,
    ) -> Entry<'t> {
        match self {
            Entry::Text { section, text: value } => Entry::Text { section: name(section), text: text(value) },
            Entry::Item { section, text: value } => Entry::Item { section: name(section), text: text(value) },
            Entry::Pair { section, key, value } => {
                Entry::Pair { section: name(section), key: text(key), value: value.as_ref().map(text) }
            }
            Entry::Checkpoint(checkpoint) => Entry::Checkpoint(checkpoint.map(text)),
        }
    }
}

impl<'a> Checkpoint<'a> {
    pub fn borrowed(&self) -> Checkpoint<'_> {
        self.map(|text| Cow::Borrowed(&**text))
    }

    fn map<'s, 't>(&'s self, text: impl Fn(&'s Cow<'a, str>) -> Cow<'t, str>) -> Checkpoint<'t> {
        Checkpoint {
            phase: text(&self.phase),
            status: text(&self.status),
            updated: text(&self.updated),
            more: text(&self.more),
        }
    }
}
