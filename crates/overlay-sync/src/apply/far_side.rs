//! Overlays of other machines as workspaces: asked before the lock is taken, so that a machine that is slow delays nobody.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::proc;

use super::disk_storage::Disk;
use super::outcome::SyncOutcome;
use crate::facts::overlay::Overlay;
use crate::far::{FarMachine, FarView, LARGEST, Request};
use crate::storage::{Ground, LeftAlone, Lookup, ReadFile};
use crate::workspace::Workspace;

/// The machine of a workspace that is an overlay of another one.
pub fn machine(overlay: &Overlay, workspace: &Workspace) -> Option<FarMachine> {
    let (env, dir) = (overlay.env.clone(), overlay.store.ssh());
    workspace.far.clone().map(|place| FarMachine { env, place, dir })
}

/// Asks the machines of these workspaces, all at once. Returns what they have, and who does not answer.
fn reach(overlay: &Overlay, workspaces: &[Workspace]) -> (BTreeMap<Digest, RefCell<FarView>>, Vec<String>) {
    let ask = |workspace: &Workspace| -> Result<Option<FarView>> {
        let known = workspace.files.iter().map(|(path, base)| (path.clone(), base.sha256)).collect();
        machine(overlay, workspace).map(|machine| FarView::read(machine, &known)).transpose()
    };
    let (mut views, mut open) = (BTreeMap::new(), Vec::new());
    for (workspace, view) in workspaces.iter().zip(proc::map_parallel(workspaces, ask)) {
        match view {
            Ok(None) => {}
            Ok(Some(view)) => {
                open.extend(view.open.iter().map(|line| format!("{}: {line}", workspace.root.display())));
                views.insert(workspace.id, RefCell::new(view));
            }
            Err(failure) => open.push(format!("{}: {failure}", workspace.root.display())),
        }
    }
    (views, open)
}

/// Brings the overlays of other machines in step, and with them all workspaces here. Returns also whether all machines have
/// answered. None if there are none.
pub fn sync_far(overlay: &Overlay) -> Result<Option<(SyncOutcome, bool)>> {
    let mut far = Workspace::load_all(&overlay.store.workspaces())?;
    far.retain(|workspace| workspace.far.is_some());
    if far.is_empty() {
        return Ok(None);
    }
    let (views, unreached) = reach(overlay, &far);
    let is_all = views.len() == far.len();
    let reached: Vec<Workspace> = far.into_iter().filter(|workspace| views.contains_key(&workspace.id)).collect();
    let mut outcome = SyncOutcome::default();
    if !reached.is_empty() {
        let mut disk = Disk::open(overlay, Some(overlay.lock()?))?;
        disk.far = views;
        let mut workspaces = Workspace::load_all(&overlay.store.workspaces())?;
        outcome = disk.sync_workspaces(&mut workspaces)?;
    }
    // What they have got goes on to the workspaces there.
    let spread = |workspace: &Workspace| machine(overlay, workspace).map(|machine| machine.ask(&[Request::Sync]));
    for (workspace, answer) in reached.iter().zip(proc::map_parallel(&reached, spread)) {
        let name = workspace.root.display();
        match answer {
            None => {}
            Some(Ok(answers)) => {
                let open = answers.into_iter().flat_map(|answer| answer.open);
                open.for_each(|line| outcome.note_open(format!("{name}: {line}")));
            }
            Some(Err(failure)) => outcome.note_open(format!("{name}: {failure}")),
        }
    }
    unreached.into_iter().for_each(|line| outcome.note_open(line));
    Ok(Some((outcome, is_all)))
}

impl Disk<'_> {
    /// Asks the machines of these workspaces for this run. Returns who does not answer.
    pub fn reach(&mut self, workspaces: &[Workspace]) -> Vec<String> {
        let (views, open) = reach(self.overlay, workspaces);
        self.far.extend(views);
        open
    }

    /// What the machine of a workspace has.
    pub(super) fn view(&self, workspace: &Workspace) -> Result<RefMut<'_, FarView>> {
        let view = self.far.get(&workspace.id).ok_or_else(|| {
            Failure::failed(format!("{} was not asked", workspace.root.display())).hint("run `overlay-sync sync`")
        })?;
        Ok(view.borrow_mut())
    }

    pub(super) fn read_far(&self, workspace: &Workspace, path: &RelPath) -> Result<Lookup> {
        let mut view = self.view(workspace)?;
        let Some(file) = view.file(path) else { return Ok(Ok(None)) };
        if file.size > LARGEST {
            let why = format!("it has more than {} MB there, which does not travel", LARGEST >> 20);
            return Ok(Err(LeftAlone::Unreadable(why)));
        }
        if let Some(text) = view.text(path) {
            return Ok(Ok(Some(text.clone())));
        }
        // Of other texts a digest is only a claim.
        let is_base = workspace.files.get(path).is_some_and(|base| base.sha256 == file.sha256);
        let (mode, digest) = (file.mode & 0o777, file.sha256);
        if let Some(bytes) = is_base.then(|| self.content(&digest)).transpose()?.flatten() {
            return Ok(Ok(Some(ReadFile::new(bytes, mode))));
        }
        view.fetch(std::slice::from_ref(path))?;
        Ok(Ok(view.text(path).cloned()))
    }
}
