//! The ground that a pass works on: the two sides and the memory between them. It is a trait so that the same decisions
//! and the same executor run over real directories and over a file system in memory that crashes on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::conflict::ConflictRecord;
use crate::include_patterns::DeclaredFiles;
use crate::merge::MergeInput;
use crate::store::{LogRecord, PlannedWrite, RemovedEntries, WriteIntent};
use crate::workspace::Workspace;

/// A file as it was read once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFile {
    pub bytes: Arc<[u8]>,
    pub mode: u32,
    pub sha256: Digest,
}

impl ReadFile {
    pub fn new(bytes: Vec<u8>, mode: u32) -> ReadFile {
        ReadFile { sha256: Digest::of(&bytes), bytes: bytes.into(), mode }
    }
}

/// One of the two sides.
#[derive(Clone, Copy, Debug)]
pub enum Side<'w> {
    Overlay,
    Here(&'w Workspace),
}

/// Why a path is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftAlone {
    /// git would show it as untracked.
    NotIgnored,
    /// git tracks it.
    Tracked,
    /// It is a link, a directory or the like; the text says what.
    Strange(String),
    /// It is a link to the overlay's own file, so there is nothing to do.
    Alias,
    /// It cannot be read; the text says why.
    Unreadable(String),
}

/// A text that a program wrote into a file after the file was displaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateText {
    /// The path that the file had; `None` when its side no longer knows it.
    pub path: Option<RelPath>,
    /// The text that was displaced.
    pub before: Digest,
    pub bytes: Vec<u8>,
    /// Whether a program can still write to it.
    pub is_open: bool,
    /// Whether it has waited long enough for a file that is missing: some programs save by removing and creating.
    pub is_overdue: bool,
    /// Where it is now.
    pub file: PathBuf,
}

/// What is at a path: a file, nothing, or something that is left alone.
pub type Lookup = std::result::Result<Option<ReadFile>, LeftAlone>;

/// The ground that a pass works on. When the process is killed, each method that writes has either done its work or not
/// begun it.
pub trait Ground {
    /// Every path in the overlay, with the reason why it is left alone if it is not a regular file. Exit 1 when the
    /// overlay is gone.
    fn overlay(&self) -> Result<BTreeMap<RelPath, Option<LeftAlone>>>;
    /// The directory of a side.
    fn root(&self, side: Side<'_>) -> PathBuf;
    /// Whether the workspace is still at its path.
    fn is_present(&self, workspace: &Workspace) -> Result<bool>;
    /// Removes what killed runs left half written for a workspace.
    fn sweep(&self, workspace: &Workspace) -> Result<()>;
    /// What programs wrote into displaced files of a side that may be taken now.
    fn late_texts(&self, side: Side<'_>) -> Result<Vec<LateText>>;
    /// Forgets a late text: what it says is on its side or in the store. One that a program can still write to
    /// stays.
    fn forget_late_text(&self, late: &LateText) -> Result<()>;
    /// The files that a workspace may bring into the overlay without `add`, and those that are too large for that.
    fn declared(&self, workspace: &Workspace) -> Result<DeclaredFiles>;
    /// Those of these paths that git shows or tracks in a workspace.
    fn left_alone(&self, workspace: &Workspace, paths: &BTreeSet<RelPath>) -> Result<BTreeMap<RelPath, LeftAlone>>;
    /// The files of a workspace that may have changed on a side since a pass last looked.
    fn changed_files(&self, workspace: &Workspace) -> Result<Vec<RelPath>>;
    /// Records that there is nothing to do about a file.
    fn note_in_step(&self, workspace: &Workspace, path: &RelPath);
    /// When a workspace edited a file whose base is `base`, in nanoseconds; `None` if it did not. Edits are only put in
    /// order by it.
    fn edited(&self, workspace: &Workspace, path: &RelPath, base: Digest) -> Option<i128>;
    /// Reads a file.
    fn read(&self, side: Side<'_>, path: &RelPath) -> Result<Lookup>;
    /// Replaces the text that was expected (`None`: no file) and nothing else; `false` when something else is there.
    fn put(&self, side: Side<'_>, path: &RelPath, expected: Option<Digest>, bytes: &[u8], mode: u32) -> Result<bool>;
    /// Removes the text that was expected and nothing else.
    fn remove(&self, workspace: &Workspace, path: &RelPath, expected: Digest) -> Result<bool>;
    /// Keeps a text in the store, where its digest finds it.
    fn keep(&self, bytes: &[u8]) -> Result<Digest>;
    /// A kept text; `None` when it was lost.
    fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>>;
    /// Replaces a workspace's manifest.
    fn save(&self, workspace: &Workspace) -> Result<()>;
    fn record(&self, conflict: &ConflictRecord) -> Result<()>;
    fn log(&self, events: &[LogRecord]) -> Result<()>;
    fn intents(&self) -> Result<Vec<WriteIntent>>;
    fn save_intent(&self, intent: &WriteIntent) -> Result<()>;
    fn forget_intent(&self, workspace: &Workspace, path: &RelPath) -> Result<()>;
    /// Every attached workspace.
    fn workspaces(&self) -> Result<Vec<Workspace>>;
    /// Records what is about to be written, unless that is recorded already.
    fn announce(&self, planned: &[PlannedWrite]) -> Result<()>;
    /// What earlier runs recorded and may have written in part.
    fn announced(&self) -> Result<BTreeSet<PlannedWrite>>;
    /// Forgets what was announced: all of it is done.
    fn forget_announced(&self) -> Result<()>;
    fn removed(&self) -> Result<RemovedEntries>;
    fn save_removed(&self, removed: &RemovedEntries) -> Result<()>;
    /// Asks the merge command, with the lock released meanwhile, so that everything must be read again afterwards.
    /// Gives its answer, or in words why that cannot be taken.
    fn ask(&mut self, path: &RelPath, input: &MergeInput<'_>) -> Result<std::result::Result<Vec<u8>, String>>;
}
