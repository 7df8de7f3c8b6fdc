//! The events that were read from a set of files.

use std::collections::HashSet;
use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::text::shell_word;

use crate::event_file::Malformed;
use crate::problem::{Level, Problem};
use crate::snapshot::{NEWER, Snapshot};
use crate::stored_event::EventRecord;

/// The file of an event.
#[derive(Debug)]
pub struct EventFile {
    pub path: PathBuf,
    /// In a box, because lists of many thousands grow while others still hold the same events.
    pub record: Box<EventRecord>,
}

/// The file of a snapshot.
#[derive(Debug)]
pub struct SnapshotFile {
    pub path: PathBuf,
    pub read: Result<Snapshot, Malformed>,
}

/// What a file of events is.
pub enum EventFileContent {
    Event(Box<EventRecord>),
    Snapshot(Result<Snapshot, Malformed>),
    Malformed(Malformed),
    /// By its name it was probably meant to be an event.
    Misnamed,
}

/// Everything that a set of files says, before the join.
#[derive(Debug, Default)]
pub struct Events {
    pub files: Vec<EventFile>,
    pub snapshots: Vec<SnapshotFile>,
    /// The files that are malformed.
    pub skipped: Vec<Problem>,
    /// Files that are not read because of their names.
    pub misnamed: Vec<PathBuf>,
    /// Links, pipes and directories in their place. They are not opened.
    pub others: Vec<PathBuf>,
}

impl Events {
    pub fn records(&self) -> impl Iterator<Item = &EventRecord> + Clone {
        self.files.iter().map(|file| &*file.record)
    }

    /// The snapshots. Exit 2 if one is damaged, because it may be the only copy of its events.
    pub fn snapshots(&self) -> Result<Vec<&Snapshot>> {
        let read = self.snapshots.iter().map(|file| {
            file.read.as_ref().map_err(|problem| {
                let failure = problem.in_file(file.path.display());
                match problem.why.ends_with(NEWER) {
                    true => failure.hint("install the newest shopfloor"),
                    false => failure.hint(format!(
                        "restore the snapshot, which may be the only copy of its events, with `git checkout -- {}`; move it away if ledger-synth did not write it",
                        shell_word(&file.path)
                    )),
                }
            })
        });
        read.collect()
    }

    /// The events that the snapshots cover, as they are held there.
    pub fn folded(&self) -> Result<Vec<&EventRecord>> {
        Ok(self.snapshots()?.into_iter().flat_map(|snapshot| &snapshot.events).collect())
    }

    /// The ids of these events.
    pub fn covered(&self) -> Result<HashSet<Digest>> {
        Ok(self.folded()?.iter().map(|event| event.id).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.snapshots.is_empty() && self.skipped.is_empty()
    }

    pub fn add_file(&mut self, path: PathBuf, content: EventFileContent) {
        match content {
            EventFileContent::Event(record) => self.files.push(EventFile { path, record }),
            EventFileContent::Snapshot(read) => self.snapshots.push(SnapshotFile { path, read }),
            EventFileContent::Malformed(Malformed { line, why }) => {
                self.skipped.push(Problem::new(&path, line, why, Level::Malformed));
            }
            EventFileContent::Misnamed => self.misnamed.push(path),
        }
    }

    pub fn append(&mut self, other: Events) {
        self.files.extend(other.files);
        self.snapshots.extend(other.snapshots);
        self.skipped.extend(other.skipped);
        self.misnamed.extend(other.misnamed);
        self.others.extend(other.others);
    }
}
