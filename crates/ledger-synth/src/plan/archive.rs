//! What `archive` does: which events the snapshot covers, and which files move into the archive.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use shopfloor_core::error::{self, Failure};
use shopfloor_core::hash::Digest;

use super::{Filter, KnownJoin, join};
use crate::event_file::Malformed;
use crate::facts::Events;
use crate::instant::{AHEAD, EventTime};
use crate::join::Join;
use crate::page_settings::PageFormat;
use crate::record::EventRecord;
use crate::snapshot::{self, Snapshot};
use crate::view::View;

/// A file of `events/` that moves into the archive, and its day there: that of the event, so that two branches archive
/// it to the same place.
pub struct ArchiveMove<F> {
    pub file: F,
    pub day: Date,
}

/// An event among those that were read, by its number, and the hash of what was read: events with one id may say
/// different things.
pub struct ArchivedEvent {
    pub number: usize,
    pub read: Digest,
}

/// An archived file that is to be deleted, and the hash of what was read: of an event, or the content of a snapshot.
pub struct DoomedFile {
    pub path: PathBuf,
    pub read: Digest,
}

/// The snapshot that is to be written.
pub struct SnapshotPlan {
    pub name: String,
    pub content: Digest,
    /// The numbers of the events that are folded, in ascending order.
    pub folded: Vec<usize>,
    said: Said,
}

/// What `archive` is to do.
#[derive(Default)]
pub struct ArchivePlan {
    pub snapshot: Option<SnapshotPlan>,
    pub events: Vec<ArchiveMove<ArchivedEvent>>,
    /// The snapshots that are folded, by name.
    pub snapshots: Vec<ArchiveMove<String>>,
}

impl ArchivePlan {
    /// How many files move.
    pub fn moves(&self) -> usize {
        self.events.len() + self.snapshots.len()
    }
}

/// Folds every event that is old enough and not from the future, and every snapshot.
pub fn archive(now: Timestamp, events: &Events, age: Option<Duration>) -> error::Result<ArchivePlan> {
    let snapshots = events.snapshots()?;
    let Join { folded: covered, retracted, .. } = join(&events.records, &snapshots, &Filter::default());
    // A join cannot be undone, so events from the future stay: somebody may retract them.
    let limit = age.map_or(now.checked_add(AHEAD).ok(), |age| now.checked_sub(age).ok()).map(EventTime::from);
    let is_due = |ts: EventTime| limit.is_some_and(|limit| ts <= limit);
    let (mut folded, mut restored, mut leaving) = (Vec::new(), Vec::new(), Vec::new());
    for (number, record) in events.records.iter().enumerate() {
        let Some((source, _)) = record.parts() else { continue };
        let is_covered = covered.contains(&source.id);
        let is_retracted = retracted.contains(&source.id) && !is_covered;
        // A retracted event is never part of a snapshot.
        if (is_due(source.ts) || is_covered) && !is_retracted {
            if is_covered { &mut restored } else { &mut folded }.push(number);
            leaving.push(number);
        }
    }
    // An event that is covered may still say what no snapshot says.
    let content = |numbers: &[usize]| join_folded(events, numbers).map(|join| snapshot::content(&join));
    if !restored.is_empty() && content(&restored)? != content(&[])? {
        folded.append(&mut restored);
        folded.sort_unstable();
    }
    let mut plan = ArchivePlan::default();
    if !folded.is_empty() || snapshots.len() > 1 {
        let snapshot = fold(events, folded)?;
        for (folded, from) in snapshots.iter().zip(&events.snapshots) {
            let latest = folded.events.sources().map(|source| source.ts).max().unwrap_or_default();
            if file_name(&from.path) != snapshot.name {
                plan.snapshots.push(ArchiveMove { file: file_name(&from.path), day: latest.day() });
            }
        }
        plan.snapshot = Some(snapshot);
    }
    // Now that no join is in memory.
    plan.events = leaving.into_iter().filter_map(|number| leave(events, number)).collect();
    Ok(plan)
}

/// Folds the snapshots and the events with these numbers.
fn fold(events: &Events, folded: Vec<usize>) -> error::Result<SnapshotPlan> {
    let whole = join_folded(events, &folded)?;
    let content = snapshot::content(&whole);
    let said = Said::by(&whole);
    drop(whole);
    Ok(SnapshotPlan { name: snapshot::name(&content), content, folded, said })
}

/// Where the event with this number moves.
fn leave(events: &Events, number: usize) -> Option<ArchiveMove<ArchivedEvent>> {
    let record = events.records.get(number)?;
    let file = ArchivedEvent { number, read: Digest::of(record.bytes()) };
    Some(ArchiveMove { file, day: record.parts()?.0.ts.day() })
}

/// Joins the snapshots and the events with these numbers.
pub fn join_folded<'e>(events: &'e Events, folded: &'e [usize]) -> error::Result<Join<'e>> {
    let records = folded.iter().filter_map(|number| events.records.get(*number));
    Ok(join(records, &events.snapshots()?, &Filter::default()))
}

/// What counts in a ledger, to find archived events that say more.
pub struct CountedEvents<'e> {
    covered: HashSet<Digest>,
    live: HashSet<Digest>,
    /// The snapshots that count.
    snapshots: HashSet<Digest>,
    known: KnownJoin<'e>,
}

impl<'e> CountedEvents<'e> {
    pub fn of(events: &'e Events) -> error::Result<CountedEvents<'e>> {
        let snapshots = events.snapshots()?;
        let folded = snapshots.iter().flat_map(|snapshot| snapshot.folds.iter().copied().chain([snapshot.content]));
        Ok(CountedEvents {
            snapshots: folded.collect(),
            covered: events.covered()?,
            live: events.records.iter().map(EventRecord::id).collect(),
            known: KnownJoin::of(&events.records, &snapshots),
        })
    }

    /// Whether an archived event counts nowhere or not as a whole. This happens to an event that one branch edits while
    /// another archives it.
    pub fn is_stranded(&self, archived: &EventRecord) -> bool {
        let id = archived.id();
        // Events with one id may say different things. One that is retracted says nothing.
        match self.covered.contains(&id) || self.known.has(id) {
            true => !self.known.says(archived),
            false => !self.live.contains(&id),
        }
    }

    /// Whether what this file held counts elsewhere, by its name: a snapshot is named after its content.
    pub fn has_named(&self, name: &str) -> bool {
        self.snapshots.iter().any(|content| snapshot::name(content) == name)
    }

    /// Whether an archived snapshot counts nowhere: no snapshot that counts was made of it.
    pub fn is_stranded_snapshot(&self, archived: &Snapshot) -> bool {
        !self.snapshots.contains(&archived.content)
    }
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

/// Proves that a snapshot says the same as the events, which will count nowhere else.
pub fn prove(plan: &SnapshotPlan, read: Result<Snapshot, Malformed>) -> error::Result<()> {
    let wrong = |why: String| {
        Failure::failed(format!("the snapshot would not read back as it is ({why}), so nothing was archived"))
            .hint("please report this; the events are unchanged")
    };
    let snapshot = read.map_err(|problem| wrong(problem.why))?;
    if plan.said == Said::by(&join(&[], &[&snapshot], &Filter::default())) {
        Ok(())
    } else {
        Err(wrong("it says something else".into()))
    }
}

pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
