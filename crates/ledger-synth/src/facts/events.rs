//! The events that were read from a set of files.

use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use shopfloor_core::error::Failure;
use shopfloor_core::hash::Digest;
use shopfloor_core::text::shell_word;

use super::{EventPath, EventPaths};
use crate::entry::Entry;
use crate::event_file::Malformed;
use crate::record::{EventRecord, RecordBuilder};
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

/// What a file of events is.
pub enum EventFileContent {
    /// The record is this part of a buffer.
    Event(Range<usize>),
    /// Large, and there are few of them.
    Snapshot(Box<Result<Snapshot, Malformed>>),
    Malformed(Malformed),
}

/// Everything that a set of files says, before the join.
#[derive(Debug, Default)]
pub struct Events {
    /// In the order of `files`.
    pub records: Vec<EventRecord>,
    /// The file of each record.
    pub files: EventPaths,
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

    /// The events that the snapshots cover.
    pub fn covered(&self) -> shopfloor_core::error::Result<HashSet<Digest>> {
        Ok(self.snapshots()?.iter().flat_map(|snapshot| snapshot.events.sources().map(|source| source.id)).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.snapshots.is_empty() && self.skipped.is_empty()
    }

    pub fn push(&mut self, record: EventRecord, file: EventPath<'_>) {
        self.records.push(record);
        self.files.push(file);
    }

    /// Adds what a file says. `records` is the buffer of its record.
    pub fn add_content(&mut self, content: EventFileContent, file: EventPath<'_>, records: &Arc<Vec<u8>>) {
        match content {
            EventFileContent::Event(range) => self.push(EventRecord::part(records, range), file),
            EventFileContent::Snapshot(read) => {
                self.snapshots.push(SnapshotFile { path: file.path(), read: *read });
            }
            EventFileContent::Malformed(problem) => self.skipped.push(Skipped { path: file.path(), problem }),
        }
    }

    /// Keeps the events for which `wanted` is true.
    pub fn retain(&mut self, wanted: impl Fn(&EventRecord) -> bool) {
        let numbers = (0..).zip(&self.records).filter(|(_, record)| wanted(record)).map(|(at, _)| at);
        self.pick(numbers.collect());
    }

    /// Keeps what is said for which `wanted` is true, and the events that say any of it.
    pub fn pare(&mut self, wanted: impl Fn(&Digest, &Entry<'_, &str>) -> bool) {
        let mut pared = RecordBuilder::default();
        let mut kept = Vec::new();
        for (number, record) in self.records.iter().enumerate() {
            let id = record.id();
            kept.extend(pared.add_part(record, |entry| wanted(&id, entry)).map(|range| (number, range)));
        }
        let all = pared.finish();
        self.files = self.files.pick(kept.iter().map(|(number, _)| *number));
        self.records = kept.into_iter().map(|(_, range)| EventRecord::part(&all, range)).collect();
    }

    /// Puts the events in the order of their paths, for answers that name files.
    pub fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.records.len()).collect();
        order.sort_unstable_by_key(|at| self.files.at(*at));
        self.pick(order);
    }

    /// Keeps the events with these numbers, in this order.
    fn pick(&mut self, numbers: Vec<usize>) {
        self.files = self.files.pick(numbers.iter().copied());
        let mut records: Vec<_> = std::mem::take(&mut self.records).into_iter().map(Some).collect();
        self.records = numbers.iter().filter_map(|at| records[*at].take()).collect();
    }

    pub fn add(&mut self, other: Events) {
        self.records.extend(other.records);
        other.files.iter().for_each(|file| self.files.push(file));
        self.snapshots.extend(other.snapshots);
        self.skipped.extend(other.skipped);
    }
}
