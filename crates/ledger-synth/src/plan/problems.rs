//! What is wrong with events: malformed files, times in the future, and what probably means something else.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::entry::Entry;
use crate::event_time::{AHEAD, EventTime};
use crate::facts::{EventFile, Events};
use crate::joined_ledger::Join;
use crate::problem::{Level, Problem};

/// The events that are malformed, then those from the future that count.
pub fn errors(now: EventTime, events: &Events, join: &Join<'_>) -> Vec<Problem> {
    let limit = now.checked_add(AHEAD).unwrap_or(EventTime::MAX);
    let counts = |file: &&EventFile| join.events.contains_key(&file.record.id);
    let future = events.files.iter().filter(|file| file.record.ts() > limit).filter(counts);
    let future = future.map(|file| {
        Problem::new(&file.path, 1, format!("its time is in the future: {}", file.record.ts()), Level::Future)
    });
    events.skipped.iter().cloned().chain(future).collect()
}

/// Which errors there are, in words.
pub fn summary(errors: &[Problem]) -> &'static str {
    match errors.first().map(|error| error.level) {
        Some(Level::Malformed) => "malformed events",
        Some(Level::Doubtful) => "files that are not read",
        Some(Level::Future) | None => "events from the future",
    }
}

/// What was probably meant to be an event and is not read.
pub fn misnamed(events: &Events) -> Vec<Problem> {
    let problem = |path: &PathBuf| {
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let rule = if is_hidden { "does not begin with a dot" } else { "ends in `.md`" };
        Problem::new(path, 1, format!("not read, because an event's name {rule}"), Level::Doubtful)
    };
    let other = |path: &PathBuf| {
        Problem::new(path, 1, "not read, because an event is a regular file".to_owned(), Level::Doubtful)
    };
    events.misnamed.iter().map(problem).chain(events.others.iter().map(other)).collect()
}

/// The events that probably mean something else.
pub fn doubts(events: &Events) -> Vec<Problem> {
    let mut doubts = misnamed(events);
    for file in &events.files {
        let entries = &file.record.event.entries;
        let mut why = misspelt(entries);
        if entries.is_empty() {
            why.push("the event says nothing".to_owned());
        }
        doubts.extend(why.into_iter().map(|why| Problem::new(&file.path, 1, why, Level::Doubtful)));
    }
    doubts
}

/// What to say about sections whose names are probably misspelt.
pub fn misspelt(entries: &[Entry]) -> Vec<String> {
    let names: BTreeSet<_> = entries.iter().map(Entry::section).collect();
    let near = names.iter().filter_map(|name| Some((name.as_str(), name.near()?)));
    near.map(|(name, word)| format!("the section `{name}` is shown on its own; did you mean `{word}`?")).collect()
}
