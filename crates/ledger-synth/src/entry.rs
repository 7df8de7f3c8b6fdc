//! What an event says, one thing at a time.

use std::borrow::Cow;

use shopfloor_core::hash::Digest;

use crate::section::{Section, SectionName};

/// The section whose items are ids of retracted events.
pub const RETRACT: &str = "retract";

/// The section whose items are keys whose conflict is closed.
pub const CLOSED: &str = "closed_conflicts";

/// One thing an event says. Its texts are of type `T`, which is smaller where they are all borrowed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry<'a, T = Cow<'a, str>> {
    /// A register: the newest counts.
    Text { section: SectionName<'a>, text: T },
    /// A member of a set.
    Item { section: SectionName<'a>, text: T },
    /// An entry of a map, the newest per key. Without a value it removes the key.
    Pair { section: SectionName<'a>, key: T, value: Option<T> },
    /// A checkpoint: all are kept.
    Checkpoint(Checkpoint<T>),
}

/// How far a phase of the work was at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Checkpoint<T> {
    pub phase: T,
    pub status: T,
    /// RFC 3339 in UTC, or the text as written; the time of the event where none was written.
    pub updated: T,
    /// Its other fields, one per line.
    pub more: T,
}

impl<T: AsRef<str>> Entry<'_, T> {
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
            Entry::Item { section, text } if section.as_str() == RETRACT => Digest::parse(text.as_ref()),
            _ => None,
        }
    }
}

impl Entry<'_> {
    pub fn into_owned(self) -> Entry<'static> {
        let text = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Entry::Text { section, text: value } => Entry::Text { section: section.into_owned(), text: text(value) },
            Entry::Item { section, text: value } => Entry::Item { section: section.into_owned(), text: text(value) },
            Entry::Pair { section, key, value } => {
                Entry::Pair { section: section.into_owned(), key: text(key), value: value.map(text) }
            }
            Entry::Checkpoint(Checkpoint { phase, status, updated, more }) => Entry::Checkpoint(Checkpoint {
                phase: text(phase),
                status: text(status),
                updated: text(updated),
                more: text(more),
            }),
        }
    }
}
