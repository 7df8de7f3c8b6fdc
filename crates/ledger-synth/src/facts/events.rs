//! The events that were read from a set of files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::text::shell_word;

use crate::canonical::CanonicalEvent;
use crate::event_file::Malformed;
use crate::snapshot::{self, Snapshot};

/// A file that is no event.
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

/// A snapshot as its file has it, line ends as LF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotFile {
    pub path: PathBuf,
    pub text: String,
}

/// Where an event was read; there may be a hundred thousand.
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

/// Everything a set of files says, unjoined.
#[derive(Debug, Default)]
pub struct Events {
    /// In the order of `files`.
    pub records: Vec<CanonicalEvent>,
    /// The file of each record.
    pub files: Vec<EventPath>,
    pub snapshots: Vec<SnapshotFile>,
    pub skipped: Vec<Skipped>,
}

impl Events {
    /// The snapshots, read. Exit 2 when one cannot be: it stands for events that may be nowhere else.
    pub fn snapshots(&self) -> Result<Vec<Snapshot<'_>>> {
        let mut read = Vec::with_capacity(self.snapshots.len());
        for file in &self.snapshots {
            read.push(snapshot::parse(&file.text).map_err(|problem| {
                Failure::malformed(format!("{}:{}: {}", file.path.display(), problem.line, problem.why))
                    .hint(format!(
                        "it stands for events that may be nowhere else: restore it (`git checkout -- {}`), or move it away if it is none of ledger-synth's",
                        shell_word(&file.path)
                    ))
            })?);
        }
        Ok(read)
    }

    pub fn push(&mut self, record: CanonicalEvent, file: EventPath) {
        self.records.push(record);
        self.files.push(file);
    }

    /// Keeps the events that `wanted` takes.
    pub fn retain(&mut self, wanted: impl Fn(&CanonicalEvent) -> bool) {
        let keeps: Vec<bool> = self.records.iter().map(wanted).collect();
        let mut at = keeps.iter();
        self.records.retain(|_| at.next().copied().unwrap_or(false));
        let mut at = keeps.iter();
        self.files.retain(|_| at.next().copied().unwrap_or(false));
    }

    pub fn add(&mut self, other: Events) {
        self.records.extend(other.records);
        self.files.extend(other.files);
        self.snapshots.extend(other.snapshots);
        self.skipped.extend(other.skipped);
    }
}
