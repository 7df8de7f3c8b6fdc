//! Sources: who said something, when, and about what.

use std::borrow::Cow;

use shopfloor_core::hash::Digest;

use crate::instant::EventTime;

/// What the ledger says of an event itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a> {
    pub id: Digest,
    pub ts: EventTime,
    pub agent: &'a str,
    pub branch: Option<&'a str>,
    /// What it is about: its title, otherwise its `now`.
    pub topic: Option<&'a str>,
}

impl Source<'_> {
    /// What it is about in one line: its topic, otherwise its branch.
    pub fn about(&self) -> Cow<'_, str> {
        self.topic.or(self.branch).map_or("".into(), cut)
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
