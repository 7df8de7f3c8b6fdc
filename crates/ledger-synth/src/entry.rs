//! What an event says, one thing at a time.

use serde::{Deserialize, Serialize};
use shopfloor_core::hash::Digest;

use crate::section::{CHECKPOINTS, Section, SectionName};

/// The section of text that belongs to no section.
pub const NOTES: &str = "notes";

/// The section whose items are ids of retracted events.
pub const RETRACT: &str = "retract";

/// The section whose items are keys whose conflict is closed.
pub const CLOSED: &str = "closed_conflicts";

/// One thing an event says. Its JSON is that of a line of a snapshot, which is told apart by its keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Entry {
    /// A register: the newest counts.
    Text { section: SectionName, text: String },
    /// A member of a set.
    Item {
        section: SectionName,
        #[serde(rename = "item")]
        text: String,
    },
    /// An entry of a map, the newest per key. Without a value it removes the key.
    Pair {
        section: SectionName,
        key: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// A checkpoint: all are kept. In a box, because it is larger than the others.
    Checkpoint(Box<Checkpoint>),
}

impl From<Checkpoint> for Entry {
    fn from(checkpoint: Checkpoint) -> Entry {
        Entry::Checkpoint(Box::new(checkpoint))
    }
}

/// How far a phase of the work was at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct Checkpoint {
    pub phase: String,
    pub status: String,
    /// RFC 3339 in UTC, or the text as written; the time of the event where none was written.
    pub updated: String,
    /// Its other fields, one per line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub more: String,
}

impl Entry {
    /// A text that belongs to no section.
    pub fn note(text: &str) -> Entry {
        Entry::Item { section: NOTES.into(), text: text.to_owned() }
    }

    /// The section it belongs to.
    pub fn section(&self) -> &SectionName {
        match self {
            Entry::Text { section, .. } | Entry::Item { section, .. } | Entry::Pair { section, .. } => section,
            Entry::Checkpoint(_) => &CHECKPOINTS,
        }
    }

    /// What it says, piece by piece.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Entry::Text { text, .. } | Entry::Item { text, .. } => vec![text],
            Entry::Pair { key, value, .. } => vec![key, value.as_deref().unwrap_or("null")],
            Entry::Checkpoint(checkpoint) => {
                let Checkpoint { phase, status, updated, more } = &**checkpoint;
                vec![phase, status, updated, more]
            }
        }
    }

    /// The text of an item of this section.
    pub fn item_of(&self, wanted: Section) -> Option<&str> {
        match self {
            Entry::Item { section, text } if *section == wanted => Some(text),
            _ => None,
        }
    }

    /// The event that this entry retracts.
    pub fn retracted(&self) -> Option<Digest> {
        match self {
            Entry::Item { section, text } if section.as_str() == RETRACT => Digest::parse(text),
            _ => None,
        }
    }
}
