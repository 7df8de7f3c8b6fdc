//! A ground in memory. It counts each operation that writes; the process can be made to die at any of them, and
//! somebody else to write just before it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::conflict::ConflictRecord;
use crate::include_patterns::DeclaredFiles;
use crate::merge::{MergeInput, Rule, check, merge};
use crate::storage::{Ground, LateText, LeftAlone, Lookup, ReadFile, Side};
use crate::store::{LogRecord, PlannedWrite, RemovedEntries, WriteIntent};
use crate::workspace::Workspace;

pub type MemoryFiles = BTreeMap<RelPath, (Vec<u8>, u32)>;

/// How the merge command behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// It merges, and the workspace wins.
    Right,
    /// It answers something else.
    Wrong,
    /// It merges, but a workspace is edited while it works.
    Slow,
}

/// Somebody else's write: into which workspace (`None`: the overlay), which file, and the text.
pub type Edit = (Option<Digest>, RelPath, Vec<u8>);

#[derive(Clone, Debug, Default)]
pub struct MemoryState {
    pub overlay: MemoryFiles,
    /// The workspaces whose directories exist.
    pub here: BTreeMap<Digest, MemoryFiles>,
    pub manifests: BTreeMap<Digest, Workspace>,
    pub objects: BTreeMap<Digest, Vec<u8>>,
    pub conflicts: BTreeMap<String, ConflictRecord>,
    pub events: Vec<LogRecord>,
    pub intents: BTreeMap<(Digest, RelPath), WriteIntent>,
    pub removed: RemovedEntries,
    pub announced: BTreeSet<PlannedWrite>,
    /// Every text that a pass has read.
    pub read: BTreeMap<Digest, Vec<u8>>,
    /// Every text that was at a path, on each side.
    pub history: BTreeSet<(Option<Digest>, RelPath, Digest)>,
    /// How many operations wrote.
    pub writes: usize,
    /// The process dies at this operation.
    pub dies_at: Option<usize>,
    /// Somebody writes just before this operation.
    pub raced: Option<(usize, Edit)>,
    pub program: Option<Program>,
    pub meanwhile: Option<Edit>,
    /// The files that a workspace may bring in.
    pub declared: BTreeSet<RelPath>,
    /// The files that programs hold open for writing.
    pub open: BTreeSet<(Option<Digest>, RelPath)>,
    /// The files that were displaced while a program held them open, and whose they were.
    pub late: Vec<(Option<Digest>, LateText)>,
    pub asked: usize,
}

impl MemoryState {
    /// The files of a workspace, or (`None`) of the overlay.
    pub fn files(&self, whose: Option<Digest>) -> Option<&MemoryFiles> {
        whose.map_or(Some(&self.overlay), |id| self.here.get(&id))
    }

    /// Somebody writes a file.
    pub fn edit(&mut self, (whose, path, bytes): &Edit) {
        let files = match whose {
            None => Some(&mut self.overlay),
            Some(id) => self.here.get_mut(id),
        };
        if let Some(files) = files {
            files.insert(path.clone(), (bytes.clone(), 0o644));
            self.history.insert((*whose, path.clone(), Digest::of(bytes)));
        }
    }

    /// Whether a text can be restored.
    pub fn has(&self, digest: &Digest) -> bool {
        let stands = |files: &MemoryFiles| files.values().any(|(bytes, _)| Digest::of(bytes) == *digest);
        self.objects.contains_key(digest) || stands(&self.overlay) || self.here.values().any(stands)
    }
}

/// The ground. Once its process is dead, every write fails.
#[derive(Debug, Default)]
pub struct MemoryGround(pub RefCell<MemoryState>);

impl MemoryGround {
    /// Comes before every write: dies, or lets somebody else write first.
    fn tick(&self) -> Result<()> {
        let mut state = self.0.borrow_mut();
        let now = state.writes;
        if state.dies_at.is_some_and(|at| at <= now) {
            return Err(Failure::failed("killed"));
        }
        if state.raced.as_ref().is_some_and(|(at, _)| *at == now)
            && let Some((_, edit)) = state.raced.take()
        {
            state.edit(&edit);
        }
        state.writes += 1;
        Ok(())
    }

    fn with<T>(&self, change: impl FnOnce(&mut MemoryState) -> T) -> Result<T> {
        self.tick()?;
        Ok(change(&mut self.0.borrow_mut()))
    }
}

fn whose(side: Side<'_>) -> Option<Digest> {
    match side {
        Side::Overlay => None,
        Side::Here(workspace) => Some(workspace.id),
    }
}

impl Ground for MemoryGround {
    fn overlay(&self) -> Result<BTreeMap<RelPath, Option<LeftAlone>>> {
        Ok(self.0.borrow().overlay.keys().map(|path| (path.clone(), None)).collect())
    }

    fn root(&self, side: Side<'_>) -> PathBuf {
        match side {
            Side::Overlay => "overlay".into(),
            Side::Here(workspace) => workspace.root.clone(),
        }
    }

    fn is_present(&self, workspace: &Workspace) -> Result<bool> {
        Ok(self.0.borrow().here.contains_key(&workspace.id))
    }

    fn sweep(&self, _: &Workspace) -> Result<()> {
        Ok(())
    }

    fn late_texts(&self, side: Side<'_>) -> Result<Vec<LateText>> {
        let state = self.0.borrow();
        let is_released = |late: &&(Option<Digest>, LateText)| late.0 == whose(side) && !late.1.is_open;
        // What the overlay has given up may be known to workspaces.
        let knows = |w: &Workspace, path: &RelPath| {
            [&w.deleted, &w.retired].iter().any(|past| past.contains_key(path)) || w.files.contains_key(path)
        };
        let is_known = |path: &RelPath| {
            whose(side).is_some()
                || state.overlay.contains_key(path)
                || state.manifests.values().any(|w| knows(w, path))
        };
        let known = |late: &LateText| LateText { path: late.path.clone().filter(is_known), ..late.clone() };
        Ok(state.late.iter().filter(is_released).map(|(_, late)| known(late)).collect())
    }

    fn forget_late_text(&self, late: &LateText) -> Result<()> {
        self.with(|state| state.late.retain(|(_, other)| other.file != late.file))
    }

    fn declared(&self, workspace: &Workspace) -> Result<DeclaredFiles> {
        let state = self.0.borrow();
        let here = state.here.get(&workspace.id);
        let is_here = |path: &&RelPath| here.is_some_and(|files| files.contains_key(*path));
        Ok(DeclaredFiles { files: state.declared.iter().filter(is_here).cloned().collect(), large: BTreeSet::new() })
    }

    fn left_alone(&self, _: &Workspace, _: &BTreeSet<RelPath>) -> Result<BTreeMap<RelPath, LeftAlone>> {
        Ok(BTreeMap::new())
    }

    fn changed_files(&self, workspace: &Workspace) -> Result<Vec<RelPath>> {
        Ok(workspace.files.keys().cloned().collect())
    }

    fn edited(&self, workspace: &Workspace, path: &RelPath, base: Digest) -> Option<i128> {
        let state = self.0.borrow();
        let (bytes, _) = state.here.get(&workspace.id)?.get(path)?;
        (Digest::of(bytes) != base).then_some(0)
    }

    fn note_in_step(&self, _: &Workspace, _: &RelPath) {}

    fn read(&self, side: Side<'_>, path: &RelPath) -> Result<Lookup> {
        let mut state = self.0.borrow_mut();
        let Some((bytes, mode)) = state.files(whose(side)).and_then(|files| files.get(path)).cloned() else {
            return Ok(Ok(None));
        };
        state.read.insert(Digest::of(&bytes), bytes.clone());
        Ok(Ok(Some(ReadFile::new(bytes, mode))))
    }

    fn put(&self, side: Side<'_>, path: &RelPath, expected: Option<Digest>, bytes: &[u8], mode: u32) -> Result<bool> {
        self.with(|state| {
            let files = match whose(side) {
                None => &mut state.overlay,
                Some(id) => match state.here.get_mut(&id) {
                    Some(files) => files,
                    None => return false,
                },
            };
            if files.get(path).map(|(bytes, _)| Digest::of(bytes)) != expected {
                return false;
            }
            let old = files.insert(path.clone(), (bytes.to_vec(), mode));
            state.history.insert((whose(side), path.clone(), Digest::of(bytes)));
            if let Some((old, _)) = old
                && state.open.remove(&(whose(side), path.clone()))
            {
                let file = PathBuf::from(format!("late-{}", state.writes));
                let late = LateText {
                    path: Some(path.clone()),
                    before: Digest::of(&old),
                    bytes: old,
                    is_open: true,
                    is_overdue: false,
                    file,
                };
                state.late.push((whose(side), late));
            }
            true
        })
    }

    fn remove(&self, workspace: &Workspace, path: &RelPath, expected: Digest) -> Result<bool> {
        self.with(|state| {
            let Some(files) = state.here.get_mut(&workspace.id) else { return false };
            let is_expected = files.get(path).is_some_and(|(bytes, _)| Digest::of(bytes) == expected);
            is_expected && files.remove(path).is_some()
        })
    }

    fn keep(&self, bytes: &[u8]) -> Result<Digest> {
        let digest = Digest::of(bytes);
        if self.0.borrow().objects.contains_key(&digest) {
            return Ok(digest);
        }
        self.with(|state| state.objects.insert(digest, bytes.to_vec()))?;
        Ok(digest)
    }

    fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>> {
        Ok(self.0.borrow().objects.get(digest).cloned())
    }

    fn save(&self, workspace: &Workspace) -> Result<()> {
        self.with(|state| drop(state.manifests.insert(workspace.id, workspace.clone())))
    }

    fn record(&self, conflict: &ConflictRecord) -> Result<()> {
        self.with(|state| drop(state.conflicts.insert(conflict.id.clone(), conflict.clone())))
    }

    fn log(&self, events: &[LogRecord]) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        self.with(|state| state.events.extend(events.iter().cloned()))
    }

    fn intents(&self) -> Result<Vec<WriteIntent>> {
        Ok(self.0.borrow().intents.values().cloned().collect())
    }

    fn save_intent(&self, intent: &WriteIntent) -> Result<()> {
        self.with(|state| drop(state.intents.insert((intent.workspace, intent.path.clone()), intent.clone())))
    }

    fn forget_intent(&self, workspace: &Workspace, path: &RelPath) -> Result<()> {
        self.with(|state| drop(state.intents.remove(&(workspace.id, path.clone()))))
    }

    fn workspaces(&self) -> Result<Vec<Workspace>> {
        Ok(self.0.borrow().manifests.values().cloned().collect())
    }

    fn announce(&self, planned: &[PlannedWrite]) -> Result<()> {
        if planned.iter().all(|write| self.0.borrow().announced.contains(write)) {
            return Ok(());
        }
        self.with(|state| state.announced.extend(planned.iter().cloned()))
    }

    fn announced(&self) -> Result<BTreeSet<PlannedWrite>> {
        Ok(self.0.borrow().announced.clone())
    }

    fn forget_announced(&self) -> Result<()> {
        self.with(|state| state.announced.clear())
    }

    fn removed(&self) -> Result<RemovedEntries> {
        Ok(self.0.borrow().removed.clone())
    }

    fn save_removed(&self, removed: &RemovedEntries) -> Result<()> {
        self.with(|state| state.removed = removed.clone())
    }

    fn ask(&mut self, _: &RelPath, input: &MergeInput<'_>) -> Result<std::result::Result<Vec<u8>, String>> {
        let mut state = self.0.borrow_mut();
        if state.dies_at.is_some_and(|at| at <= state.writes) {
            return Err(Failure::failed("killed"));
        }
        state.asked += 1;
        let program = state.program.unwrap_or(Program::Wrong);
        if program == Program::Slow
            && let Some(edit) = state.meanwhile.take()
        {
            state.edit(&edit);
        }
        let answer = match program {
            Program::Wrong => b"Here is the merged file:\n".to_vec(),
            Program::Right | Program::Slow => {
                let base = Some(input.base.unwrap_or_default());
                merge(&MergeInput { base, rule: Rule::Workspace, ..*input }).bytes
            }
        };
        Ok(match check(input, &answer) {
            None => Ok(answer),
            Some(why) => Err(why.to_owned()),
        })
    }
}
