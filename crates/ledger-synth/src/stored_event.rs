//! An event as it is held in memory: its id, and what it says.

use std::borrow::Cow;

use shopfloor_core::hash::Digest;

use crate::canonical;
use crate::entry::Entry;
use crate::event::LedgerEvent;
use crate::event_time::EventTime;
use crate::section::Section;

/// An event, and the hash of its canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord {
    pub id: Digest,
    pub event: LedgerEvent,
}

impl EventRecord {
    pub fn new(event: LedgerEvent) -> EventRecord {
        EventRecord { id: canonical::id(&event), event }
    }

    pub fn ts(&self) -> EventTime {
        self.event.meta.ts
    }

    pub fn agent(&self) -> &str {
        &self.event.meta.agent
    }

    pub fn branch(&self) -> Option<&str> {
        self.event.meta.branch.as_deref()
    }

    /// What it is about: its title, otherwise its `now`.
    pub fn topic(&self) -> Option<&str> {
        let now = || {
            self.event.entries.iter().find_map(|entry| match entry {
                Entry::Text { section, text } if *section == Section::Now => Some(&**text),
                _ => None,
            })
        };
        self.event.meta.title.as_deref().or_else(now)
    }

    /// What it is about in one line: its topic, otherwise its branch.
    pub fn about(&self) -> Cow<'_, str> {
        self.topic().or(self.branch()).map_or("".into(), first_words)
    }
}

/// The first line, at most 40 characters of it.
pub fn first_words(text: &str) -> Cow<'_, str> {
    let line = text.split('\n').next().unwrap_or_default();
    match line.char_indices().nth(40) {
        None => line.into(),
        Some(_) => format!("{}…", line.chars().take(39).collect::<String>().trim_end()).into(),
    }
}
