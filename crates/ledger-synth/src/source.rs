//! Sources: who said something, when, and about what.

use std::borrow::Cow;

use shopfloor_core::hash::Digest;

use crate::entry::Entry;
use crate::front::Meta;
use crate::instant::EventTime;
use crate::section::Section;

/// What the ledger says of an event itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    pub id: Digest,
    pub ts: EventTime,
    pub agent: Cow<'a, str>,
    pub branch: Option<Cow<'a, str>>,
    /// What it is about: its title, otherwise its `now`.
    pub topic: Option<Cow<'a, str>>,
}

impl<'a> Source<'a> {
    /// What it is about in one line: its topic, otherwise its branch.
    pub fn about(&self) -> Cow<'_, str> {
        self.topic.as_deref().or(self.branch.as_deref()).map_or("".into(), cut)
    }

    pub fn new(id: Digest, meta: Meta<'a>, mut entries: impl Iterator<Item = Entry<'a>>) -> Source<'a> {
        let Meta { ts, agent, branch, title, .. } = meta;
        let now = || {
            entries.find_map(|entry| match entry {
                Entry::Text { section, text } if section == Section::Now => Some(text),
                _ => None,
            })
        };
        Source { id, ts, agent, branch, topic: title.or_else(now) }
    }
}

/// The first line, at most 40 characters of it.
pub fn cut(text: &str) -> Cow<'_, str> {
    let line = text.split('\n').next().unwrap_or_default();
    match line.char_indices().nth(40) {
        None => line.into(),
        Some(_) => format!("{}…", line.chars().take(39).collect::<String>().trim_end()).into(),
    }
}
