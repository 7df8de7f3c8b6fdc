//! The ground of a dry run: it reads the disk, and keeps in memory what a run would write. So a dry run makes the passes
//! of a real one.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::time;

use super::converge::converge;
use super::disk_storage::Disk;
use super::outcome::SyncOutcome;
use crate::conflict::ConflictRecord;
use crate::facts::overlay::Overlay;
use crate::include_patterns::DeclaredFiles;
use crate::merge::{MergeInput, by_rule};
use crate::storage::{Ground, LateText, LeftAlone, Lookup, ReadFile, Side};
use crate::store::{LogRecord, PlannedWrite, RemovedEntries, WriteIntent};
use crate::workspace::Workspace;

/// What would be written to a workspace or (`None`) to the overlay; without a file it would be removed.
type Written = BTreeMap<(Option<Digest>, RelPath), Option<ReadFile>>;

/// One dry run.
pub struct DryDisk<'a> {
    pub disk: Disk<'a>,
    written: RefCell<Written>,
    kept: RefCell<BTreeMap<Digest, Vec<u8>>>,
    workspaces: RefCell<Vec<Workspace>>,
    /// Those that are about to be attached: they have no mark yet.
    fresh: BTreeSet<Digest>,
    removed: RefCell<RemovedEntries>,
}

impl<'a> DryDisk<'a> {
    /// Opens the overlay for these workspaces, attached or not; exit 1 when it is gone.
    pub fn open(overlay: &'a Overlay, workspaces: &[Workspace]) -> Result<DryDisk<'a>> {
        let disk = Disk::open(overlay, None)?;
        let mut all = disk.workspaces()?;
        let is_fresh = |workspace: &&Workspace| all.iter().all(|known| known.id != workspace.id);
        let fresh = workspaces.iter().filter(is_fresh).map(|workspace| workspace.id).collect();
        all.retain(|known| workspaces.iter().all(|workspace| workspace.id != known.id));
        all.extend(workspaces.iter().cloned());
        Ok(DryDisk {
            fresh,
            written: RefCell::default(),
            kept: RefCell::default(),
            workspaces: RefCell::new(all),
            removed: RefCell::new(disk.removed()?),
            disk,
        })
    }

    /// Makes the passes of a sync. Workspaces that are gone are left out: a sync forgets them without a word.
    pub fn sync_workspaces(&mut self, workspaces: &mut Vec<Workspace>) -> Result<SyncOutcome> {
        let overlay = self.disk.overlay;
        workspaces.retain(|workspace| !workspace.is_gone());
        if workspaces.iter().any(|workspace| workspace.files.len() >= 2) && self.overlay()?.is_empty() {
            return Err(overlay.gone("was emptied"));
        }
        converge(self, &overlay.settings, &time::render(overlay.env.now), workspaces)
    }

    fn write(&self, side: Side<'_>, path: &RelPath, expected: Option<Digest>, new: Option<ReadFile>) -> Result<bool> {
        if self.read(side, path)?.ok().flatten().map(|file| file.sha256) != expected {
            return Ok(false);
        }
        self.written.borrow_mut().insert((whose(side), path.clone()), new);
        Ok(true)
    }
}

fn whose(side: Side<'_>) -> Option<Digest> {
    match side {
        Side::Overlay => None,
        Side::Here(workspace) => Some(workspace.id),
    }
}

impl Ground for DryDisk<'_> {
    fn overlay(&self) -> Result<BTreeMap<RelPath, Option<LeftAlone>>> {
        let mut all = self.disk.overlay()?;
        for (_, path) in self.written.borrow().keys().filter(|(whose, _)| whose.is_none()) {
            all.entry(path.clone()).or_insert(None);
        }
        Ok(all)
    }

    fn root(&self, side: Side<'_>) -> PathBuf {
        self.disk.root(side)
    }

    /// Another machine is not asked for a dry run.
    fn is_present(&self, workspace: &Workspace) -> Result<bool> {
        Ok(workspace.far.is_none() && (self.fresh.contains(&workspace.id) || self.disk.is_present(workspace)?))
    }

    fn sweep(&self, _: &Workspace) -> Result<()> {
        Ok(())
    }

    fn late_texts(&self, _: Side<'_>) -> Result<Vec<LateText>> {
        Ok(Vec::new())
    }

    fn forget_late_text(&self, _: &LateText) -> Result<()> {
        Ok(())
    }

    fn declared(&self, workspace: &Workspace) -> Result<DeclaredFiles> {
        self.disk.declared(workspace)
    }

    fn left_alone(&self, workspace: &Workspace, paths: &BTreeSet<RelPath>) -> Result<BTreeMap<RelPath, LeftAlone>> {
        self.disk.left_alone(workspace, paths)
    }

    fn changed_files(&self, workspace: &Workspace) -> Result<Vec<RelPath>> {
        let written = self.written.borrow();
        let in_overlay = written.keys().filter(|(whose, _)| whose.is_none()).map(|(_, path)| path.clone());
        let mut changed: BTreeSet<RelPath> = in_overlay.filter(|path| workspace.files.contains_key(path)).collect();
        changed.extend(self.disk.changed_files(workspace)?);
        Ok(changed.into_iter().collect())
    }

    fn note_in_step(&self, _: &Workspace, _: &RelPath) {}

    fn edited(&self, workspace: &Workspace, path: &RelPath, base: Digest) -> Option<i128> {
        self.disk.edited(workspace, path, base)
    }

    fn read(&self, side: Side<'_>, path: &RelPath) -> Result<Lookup> {
        match self.written.borrow().get(&(whose(side), path.clone())) {
            Some(file) => Ok(Ok(file.clone())),
            None => self.disk.read(side, path),
        }
    }

    fn put(&self, side: Side<'_>, path: &RelPath, expected: Option<Digest>, bytes: &[u8], mode: u32) -> Result<bool> {
        self.write(side, path, expected, Some(ReadFile::new(bytes.to_vec(), mode)))
    }

    fn remove(&self, workspace: &Workspace, path: &RelPath, expected: Digest) -> Result<bool> {
        self.write(Side::Here(workspace), path, Some(expected), None)
    }

    fn keep(&self, bytes: &[u8]) -> Result<Digest> {
        let digest = Digest::of(bytes);
        self.kept.borrow_mut().insert(digest, bytes.to_vec());
        Ok(digest)
    }

    fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>> {
        match self.kept.borrow().get(digest) {
            Some(bytes) => Ok(Some(bytes.clone())),
            None => self.disk.content(digest),
        }
    }

    fn save(&self, workspace: &Workspace) -> Result<()> {
        let mut all = self.workspaces.borrow_mut();
        all.iter_mut().filter(|known| known.id == workspace.id).for_each(|known| known.clone_from(workspace));
        Ok(())
    }

    fn record(&self, _: &ConflictRecord) -> Result<()> {
        Ok(())
    }

    fn log(&self, _: &[LogRecord]) -> Result<()> {
        Ok(())
    }

    fn intents(&self) -> Result<Vec<WriteIntent>> {
        self.disk.intents()
    }

    fn save_intent(&self, _: &WriteIntent) -> Result<()> {
        Ok(())
    }

    fn forget_intent(&self, _: &Workspace, _: &RelPath) -> Result<()> {
        Ok(())
    }

    fn workspaces(&self) -> Result<Vec<Workspace>> {
        Ok(self.workspaces.borrow().clone())
    }

    fn announce(&self, _: &[PlannedWrite]) -> Result<()> {
        Ok(())
    }

    fn announced(&self) -> Result<BTreeSet<PlannedWrite>> {
        self.disk.announced()
    }

    fn forget_announced(&self) -> Result<()> {
        Ok(())
    }

    fn removed(&self) -> Result<RemovedEntries> {
        Ok(self.removed.borrow().clone())
    }

    fn save_removed(&self, removed: &RemovedEntries) -> Result<()> {
        self.removed.borrow_mut().clone_from(removed);
        Ok(())
    }

    /// The merge command is not asked: a merge by the rule stands for its answer.
    fn ask(&mut self, _: &RelPath, input: &MergeInput<'_>) -> Result<std::result::Result<Vec<u8>, String>> {
        Ok(Ok(by_rule(input).bytes))
    }
}
