//! The events that were read from a set of files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shopfloor_core::error::Failure;
use shopfloor_core::text::shell_word;

use crate::event_file::Malformed;
use crate::record::EventRecord;
use crate::snapshot::Snapshot;

/// A file that is not an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    pub path: PathBuf,
    pub problem: Malformed,
}

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.problem.line, self.problem.why)
    }
}

/// The file of a snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotFile {
    pub path: PathBuf,
    pub read: Result<Snapshot, Malformed>,
}

/// The file of an event. Compact, because there may be a hundred thousand of them.
#[derive(Clone, Debug)]
pub struct EventPath {
    pub dir: Arc<Path>,
    pub name: Box<OsStr>,
}

impl EventPath {
    pub fn at(path: &Path) -> EventPath {
        let dir = path.parent().unwrap_or(path).into();
        EventPath { dir, name: path.file_name().unwrap_or_default().into() }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.join(&*self.name)
    }
}

/// Everything that a set of files says, before the join.
#[derive(Debug, Default)]
pub struct Events {
    /// In the order of `files`.
    pub records: Vec<EventRecord>,
    /// The file of each record.
    pub files: Vec<EventPath>,
    pub snapshots: Vec<SnapshotFile>,
    pub skipped: Vec<Skipped>,
}

impl Events {
    /// The snapshots. Exit 2 if one is damaged, because it may be the only copy of its events.
    pub fn snapshots(&self) -> shopfloor_core::error::Result<Vec<&Snapshot>> {
        let mut read = Vec::with_capacity(self.snapshots.len());
        for file in &self.snapshots {
            read.push(file.read.as_ref().map_err(|problem| {
                Failure::malformed(format!("{}:{}: {}", file.path.display(), problem.line, problem.why))
                    .hint(format!(
                        "restore the snapshot, which may be the only copy of its events, with `git checkout -- {}`; move it away if ledger-synth did not write it",
                        shell_word(&file.path)
                    ))
            })?);
        }
        Ok(read)
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.snapshots.is_empty() && self.skipped.is_empty()
    }

    pub fn push(&mut self, record: EventRecord, file: EventPath) {
        self.records.push(record);
        self.files.push(file);
    }

    /// Keeps the events for which `wanted` is true.
    pub fn retain(&mut self, wanted: impl Fn(&EventRecord) -> bool) {
        let keeps: Vec<bool> = self.records.iter().map(wanted).collect();
        let mut at = keeps.iter();
        self.records.retain(|_| at.next().copied().unwrap_or(false));
        let mut at = keeps.iter();
        self.files.retain(|_| at.next().copied().unwrap_or(false));
    }

    /// Puts the events in the order of their paths, for answers that name files.
    pub fn sort(&mut self) {
        let key = |at: &usize| (&self.files[*at].dir, &self.files[*at].name);
        let mut order: Vec<usize> = (0..self.files.len()).collect();
        order.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        let mut records: Vec<_> = std::mem::take(&mut self.records).into_iter().map(Some).collect();
        let mut files: Vec<_> = std::mem::take(&mut self.files).into_iter().map(Some).collect();
        self.records = order.iter().filter_map(|at| records[*at].take()).collect();
        self.files = order.iter().filter_map(|at| files[*at].take()).collect();
    }

    pub fn add(&mut self, other: Events) {
        self.records.extend(other.records);
        self.files.extend(other.files);
        self.snapshots.extend(other.snapshots);
        self.skipped.extend(other.skipped);
    }
}
