//! What `archive` does: which events the snapshot covers, and which files move into the archive.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::hash::Digest;

use super::{Filter, join, join_all};
use crate::event_time::{AHEAD, EventTime};
use crate::facts::{ARCHIVE, EVENTS, Events};
use crate::joined_ledger::Join;
use crate::snapshot::{self, Snapshot};
use crate::stored_event::EventRecord;

/// A file of `events/` that moves into the archive, and its day there: that of the event, so that two branches archive
/// it to the same place.
pub struct ArchiveMove {
    pub name: String,
    /// What the file held when it was read: the id of an event, or the content of a snapshot.
    pub read: Digest,
    pub day: Date,
}

/// An archived file that is to be deleted, and what it held when it was read, as in [`ArchiveMove`].
pub type DoomedFile = (PathBuf, Digest);

/// The snapshot that is to be written.
pub struct SnapshotPlan {
    pub name: String,
    pub text: String,
}

/// What `archive` is to do.
#[derive(Default)]
pub struct ArchivePlan {
    pub snapshot: Option<SnapshotPlan>,
    pub moves: Vec<ArchiveMove>,
}

impl ArchivePlan {
    /// The files that come and go, by their paths below the ledger, and whether each is there afterwards.
    pub fn changes(&self) -> Vec<(String, bool)> {
        let gone = self.moves.iter().map(|file| (format!("{EVENTS}/{}", file.name), false));
        let kept = self.moves.iter().map(|file| (format!("{ARCHIVE}/{}/{}", file.day, file.name), true));
        let snapshot = self.snapshot.iter().map(|snapshot| (format!("{EVENTS}/{}", snapshot.name), true));
        gone.chain(kept).chain(snapshot).collect()
    }
}

/// Folds every event that is old enough and not from the future, and every snapshot.
pub fn archive(now: Timestamp, events: &Events, age: Option<Duration>) -> Result<ArchivePlan> {
    let snapshots = events.snapshots()?;
    let all = join(events)?;
    // A join cannot be undone, so events from the future stay: somebody may retract them.
    let limit = age.map_or(now.checked_add(AHEAD).ok(), |age| now.checked_sub(age).ok()).map(EventTime::from);
    let is_due = |ts: EventTime| limit.is_some_and(|limit| ts <= limit);
    let (mut plan, mut folded) = (ArchivePlan::default(), Vec::new());
    for file in &events.files {
        let record: &EventRecord = &file.record;
        // A name that is not UTF-8 is no name in the archive, so the file stays.
        let Some(name) = file.path.file_name().and_then(OsStr::to_str) else { continue };
        let is_covered = all.folded.contains(&record.id);
        // A retracted event is never part of a snapshot.
        if is_covered || is_due(record.ts()) && !all.retracted.contains(&record.id) {
            plan.moves.push(ArchiveMove { name: name.to_owned(), read: record.id, day: record.ts().day() });
            folded.push(record);
        }
    }
    // A snapshot may say that it covers an event and lack what that says: an agent can write one.
    if snapshots.len() > 1 || !are_in(&snapshots, folded.iter().copied(), &[]) {
        let snapshot = fold(&folded, &snapshots)?;
        for (folded, file) in snapshots.iter().zip(&events.snapshots) {
            let latest = folded.events.iter().map(EventRecord::ts).max().unwrap_or_default();
            let name = file_name(&file.path);
            if name != snapshot.name {
                plan.moves.push(ArchiveMove { name, read: folded.content, day: latest.day() });
            }
        }
        plan.snapshot = Some(snapshot);
    }
    Ok(plan)
}

/// Whether snapshots say everything that these events and other snapshots say.
pub fn are_in<'a>(
    snapshots: &[&'a Snapshot],
    records: impl Iterator<Item = &'a EventRecord> + Clone,
    others: &[&'a Snapshot],
) -> bool {
    let said = |join: Join<'_>| snapshot::statements(&join);
    let whole = join_all(records, &[snapshots, others].concat(), &Filter::default());
    said(join_all(std::iter::empty(), snapshots, &Filter::default())) == said(whole)
}

/// The snapshot of these events and snapshots, which is proved to say the same: they will count nowhere else.
fn fold(records: &[&EventRecord], snapshots: &[&Snapshot]) -> Result<SnapshotPlan> {
    let wrong = |why: String| {
        Failure::failed(format!("the snapshot would not read back as it is ({why}), so nothing was archived"))
            .hint("please report this; the events are unchanged")
    };
    let whole = join_all(records.iter().copied(), snapshots, &Filter::default());
    let (content, text) = snapshot::render(&whole);
    let read = snapshot::parse(text.as_bytes()).map_err(|problem| wrong(problem.why))?;
    if snapshot::statements(&join_all(std::iter::empty(), &[&read], &Filter::default())) != snapshot::statements(&whole)
    {
        return Err(wrong("it says something else".into()));
    }
    Ok(SnapshotPlan { name: snapshot::name(&content), text })
}

/// Files of the archive that count nowhere.
pub struct StrandedFiles {
    pub found: Vec<PathBuf>,
    /// Those that cannot be read.
    pub unreadable: Vec<PathBuf>,
}

/// The archived files that count nowhere, and those that cannot be read, unless others hold what they held. An event is
/// one if one branch edited it while another archived it, a snapshot if none that counts was made of it.
pub fn stranded(events: &Events, archived: Events) -> Result<StrandedFiles> {
    let Join { folded, snapshots: contents, .. } = join(events)?;
    let counted: HashSet<Digest> = events.records().map(|record| record.id).chain(folded).collect();
    let lost = archived.files.into_iter().filter(|file| !counted.contains(&file.record.id));
    let skipped = archived.skipped.into_iter().map(|file| PathBuf::from(file.path));
    let mut stranded = StrandedFiles { found: lost.map(|file| file.path).collect(), unreadable: skipped.collect() };
    for file in archived.snapshots {
        match file.read {
            Ok(snapshot) if contents.contains(&snapshot.content) => {}
            Ok(_) => stranded.found.push(file.path),
            Err(_) => stranded.unreadable.push(file.path),
        }
    }
    // A snapshot is named after its content.
    stranded.unreadable.retain(|path| !contents.iter().any(|content| snapshot::name(content) == file_name(path)));
    Ok(stranded)
}

pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
