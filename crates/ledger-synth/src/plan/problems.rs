//! What is wrong with events: malformed files, and times in the future.

use crate::facts::Events;
use crate::instant::{AHEAD, EventTime};
use crate::join::Join;
use crate::source::Source;

/// What is wrong with events, one line per event.
#[derive(Debug, Default)]
pub struct EventProblems {
    pub malformed: Vec<String>,
    pub future: Vec<String>,
}

impl EventProblems {
    pub fn new(now: EventTime, events: &Events, join: &Join<'_>) -> EventProblems {
        let mut future: Vec<String> = future_sources(now, join)
            .map(|source| {
                let numbers = (0..).zip(&events.records).filter(|(_, record)| record.id() == source.id);
                let file = numbers.map(|(at, _)| events.files.at(at)).min();
                let name = file.map_or(format!("event {}", source.id), |file| file.path().display().to_string());
                format!("{name}: its time is in the future: {}", source.ts)
            })
            .collect();
        future.sort_unstable();
        EventProblems { malformed: events.skipped.iter().map(ToString::to_string).collect(), future }
    }

    pub fn is_empty(&self) -> bool {
        self.malformed.is_empty() && self.future.is_empty()
    }

    /// Which problems there are, in words.
    pub fn summary(&self) -> &'static str {
        if self.malformed.is_empty() { "events from the future" } else { "malformed events" }
    }

    /// All lines, the malformed events first.
    pub fn lines(&self) -> impl Iterator<Item = &String> {
        self.malformed.iter().chain(&self.future)
    }
}

/// The events whose time is more than a day ahead.
pub fn future_sources<'j>(now: EventTime, join: &'j Join<'_>) -> impl Iterator<Item = &'j Source<'j>> {
    let limit = now.checked_add(AHEAD).unwrap_or(EventTime::MAX);
    join.sources.iter().filter(move |source| source.ts > limit)
}
