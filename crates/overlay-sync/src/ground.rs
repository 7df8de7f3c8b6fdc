//! What a pass stands on: the two sides and the memory between them. A trait, so that the same decisions
//! and the same executor run over real directories and over a file system in memory that crashes at will.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::manifest::Workspace;
use crate::merge::MergeInput;
use crate::store::{ConflictRecord, Intent, LogRecord, PlannedWrite, RemovedEntries};

/// A file as it was read, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFile {
    pub bytes: Rc<[u8]>,
    pub mode: u32,
    pub sha256: Digest,
}

impl ReadFile {
    pub fn new(bytes: Vec<u8>, mode: u32) -> ReadFile {
        ReadFile { sha256: Digest::of(&bytes), bytes: bytes.into(), mode }
    }
}

/// Which of the two sides.
#[derive(Clone, Copy, Debug)]
pub enum Side<'w> {
    Overlay,
    Here(&'w Workspace),
}

/// Why a path is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bar {
    /// git would show it as untracked.
    NotIgnored,
    /// git tracks it.
    Tracked,
    /// A link, a directory: why.
    Strange(String),
    /// A link to the overlay's own file: nothing is to be done.
    Alias,
    /// It cannot be read: why.
    Unreadable(String),
}

/// What lies at a path: a file, nothing, or something that is left alone.
pub type Lookup = std::result::Result<Option<ReadFile>, Bar>;

/// What a pass stands on. Every method that writes either did or did not when its process is killed.
pub trait Ground {
    /// Everything in the overlay; what is no regular file with its bar. Exit 1 when the overlay is gone.
    fn overlay(&self) -> Result<BTreeMap<RelPath, Option<Bar>>>;
    /// Whether a workspace is where it was, and the same one.
    fn is_present(&self, workspace: &Workspace) -> Result<bool>;
    /// Removes what killed runs left half written for a workspace.
    fn sweep(&self, workspace: &Workspace) -> Result<()>;
    /// The files of a workspace that it may bring into the overlay by itself.
    fn declared(&self, workspace: &Workspace) -> Result<BTreeSet<RelPath>>;
    /// Those of these paths that git sees in a workspace.
    fn barred(&self, workspace: &Workspace, paths: &BTreeSet<RelPath>) -> Result<BTreeMap<RelPath, Bar>>;
    /// Takes a first look at many workspaces at once: those in which there is nothing to do.
    fn prepare(&self, workspaces: &[Workspace]) -> HashSet<Digest>;
    /// Those of a workspace's files that both sides hold as they did when a pass looked last.
    fn quiet<'w>(&self, workspace: &'w Workspace) -> Result<HashSet<&'w RelPath>>;
    /// Takes note that there is nothing to do about a file.
    fn is_quiet_now(&self, workspace: &Workspace, path: &RelPath);
    /// When a workspace edited a file that both sides knew as `base`, in nanoseconds; none where it did not. Only for
    /// putting edits in their order: nothing is decided on it.
    fn edited(&self, workspace: &Workspace, path: &RelPath, base: Digest) -> Option<i128>;
    /// Reads a file whole, if it is one.
    fn read(&self, side: Side<'_>, path: &RelPath) -> Result<Lookup>;
    /// Replaces exactly what was expected (nothing, for none); `false` when something else is there.
    fn put(&self, side: Side<'_>, path: &RelPath, expected: Option<Digest>, bytes: &[u8], mode: u32) -> Result<bool>;
    /// Removes exactly what was expected.
    fn remove(&self, workspace: &Workspace, path: &RelPath, expected: Digest) -> Result<bool>;
    /// Keeps a content; after this it can be had back by its digest.
    fn keep(&self, bytes: &[u8]) -> Result<Digest>;
    /// A kept content; none when it was lost.
    fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>>;
    /// Replaces a workspace's manifest.
    fn save(&self, workspace: &Workspace) -> Result<()>;
    /// A workspace's manifest as it is now; none when the workspace was detached.
    fn reload(&self, workspace: &Workspace) -> Result<Option<Workspace>>;
    fn record(&self, conflict: &ConflictRecord) -> Result<()>;
    fn log(&self, events: &[LogRecord]) -> Result<()>;
    fn intents(&self) -> Result<Vec<Intent>>;
    fn intend(&self, intent: &Intent) -> Result<()>;
    fn fulfil(&self, workspace: &Workspace, path: &RelPath) -> Result<()>;
    /// Every attached workspace.
    fn workspaces(&self) -> Result<Vec<Workspace>>;
    /// Tells what is about to be done, unless that was told.
    fn announce(&self, doing: &[PlannedWrite]) -> Result<()>;
    /// What runs before have told and may have done in part.
    fn announced(&self) -> Result<BTreeSet<PlannedWrite>>;
    /// All of it is done.
    fn is_done(&self) -> Result<()>;
    fn removed(&self) -> Result<RemovedEntries>;
    fn save_removed(&self, removed: &RemovedEntries) -> Result<()>;
    /// Asks the merge command, with no lock held meanwhile: everything must be read anew afterwards. Gives
    /// what it said, or in words why that cannot be taken.
    fn ask(&mut self, path: &RelPath, input: &MergeInput<'_>) -> Result<std::result::Result<Vec<u8>, String>>;
}
