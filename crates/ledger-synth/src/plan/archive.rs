//! What `archive` does: which events the snapshot covers, and which files move into the archive.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::hash::Digest;

use super::{Filter, join};
use crate::facts::Events;
use crate::instant::{AHEAD, EventTime};
use crate::join::Join;
use crate::page_settings::PageFormat;
use crate::snapshot;
use crate::view::View;

/// A file of `events/` that moves into the archive, and its day there.
pub struct ArchiveMove {
    pub name: String,
    pub day: String,
    /// The event that was read from it. None: it is a snapshot.
    pub id: Option<Digest>,
}

/// What `archive` is to do.
#[derive(Default)]
pub struct ArchivePlan {
    /// The name and text of the snapshot, if one is to be written.
    pub snapshot: Option<(String, String)>,
    pub moves: Vec<ArchiveMove>,
}

/// Folds every event that is old enough and not from the future, and every snapshot.
pub fn archive(now: Timestamp, events: Events, age: Option<Duration>) -> Result<ArchivePlan> {
    let snapshots = events.snapshots()?;
    let whole = join(&events.records, &snapshots, &Filter::default());
    // A join cannot be undone, so events from the future stay: somebody may retract them.
    let limit = age.map_or(now.checked_add(AHEAD).ok(), |age| now.checked_sub(age).ok()).map(EventTime::from);
    let is_due = |ts: EventTime| limit.is_some_and(|limit| ts <= limit);
    let mut chosen = Vec::new();
    let mut plan = ArchivePlan::default();
    for (record, file) in events.records.iter().zip(events.files.iter()) {
        let Some(event) = record.decode() else { continue };
        let is_covered = whole.folded.contains(&record.id);
        let is_retracted = whole.retracted.contains(&record.id) && !is_covered;
        // A retracted event is never part of a snapshot.
        if (is_due(event.meta.ts) || is_covered) && !is_retracted {
            if !is_covered {
                chosen.push(record.clone());
            }
            plan.moves.push(ArchiveMove {
                name: file.name.to_string_lossy().into_owned(),
                day: day(event.meta.ts),
                id: Some(record.id),
            });
        }
    }
    if chosen.is_empty() && snapshots.len() <= 1 {
        return Ok(plan);
    }
    // Much memory is needed for each of them, if there are a hundred thousand events.
    drop(whole);
    let folded = join(&chosen, &snapshots, &Filter::default());
    let said = Said::by(&folded);
    let (file, text) = snapshot::render(&folded);
    drop(folded);
    for (snapshot, from) in snapshots.iter().zip(&events.snapshots) {
        let latest = snapshot.events.sources().map(|source| source.ts).max().unwrap_or_default();
        if file_name(&from.path) != file {
            plan.moves.push(ArchiveMove { name: file_name(&from.path), day: day(latest), id: None });
        }
    }
    drop((chosen, snapshots));
    drop(events);
    prove(&said, &text)?;
    plan.snapshot = Some((file, text));
    Ok(plan)
}

/// What a join says: its pages, and how many events it has.
#[derive(PartialEq, Eq)]
struct Said {
    pages: [Digest; 2],
    events: usize,
}

impl Said {
    fn by(join: &Join<'_>) -> Said {
        let view = View::new(join, None);
        let pages = [PageFormat::One, PageFormat::Two].map(|format| view.digest(format));
        Said { pages, events: join.sources.len() }
    }
}

/// Proves that the snapshot says the same as the events, which will count nowhere else.
fn prove(said: &Said, text: &str) -> Result<()> {
    let wrong = |why: String| {
        Failure::failed(format!("the snapshot would not read back as it is ({why}), so nothing was archived"))
            .hint("please report this; the events are unchanged")
    };
    let read = snapshot::parse(text).map_err(|problem| wrong(problem.why))?;
    if *said == Said::by(&join(&[], &[&read], &Filter::default())) {
        Ok(())
    } else {
        Err(wrong("it says something else".into()))
    }
}

pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The day of the event, so that two branches archive it to the same place.
fn day(ts: EventTime) -> String {
    ts.day().to_string()
}
