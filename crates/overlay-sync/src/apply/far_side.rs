//! Overlays of other machines as workspaces: asked before the lock is taken, so that a machine that is slow delays nobody.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::proc;

use super::disk_storage::Disk;
use super::outcome::{SyncOutcome, add_once};
use crate::facts::overlay::Overlay;
use crate::far::{FarMachine, FarView, FarViews, LARGEST, Request, there};
use crate::include_patterns::DeclaredFiles;
use crate::storage::{Ground, LeftAlone, Lookup, ReadFile};
use crate::workspace::Workspace;

/// The machine of a workspace that is an overlay of another one.
pub fn machine(overlay: &Overlay, workspace: &Workspace) -> Option<FarMachine> {
    let (env, dir) = (overlay.env.clone(), overlay.store.ssh());
    workspace.far.clone().map(|place| FarMachine { env, place, dir })
}

/// What came of a sync of other machines, and whether all of them have answered.
pub type FarSync = (SyncOutcome, bool);

/// Asks the machines of these workspaces, all at once. Returns what they have, and who does not answer. Nobody holds a lock
/// meanwhile.
pub fn reach(overlay: &Overlay, workspaces: &[Workspace]) -> Result<(FarViews, Vec<String>)> {
    let (declared, managed) = (overlay.declared()?, Disk::open(overlay, None)?.overlay()?);
    let ask = |workspace: &Workspace| -> Result<Option<FarView>> {
        let (Some(machine), Some(place)) = (machine(overlay, workspace), &workspace.far) else { return Ok(None) };
        let known = workspace.files.iter().map(|(path, base)| (path.clone(), base.sha256)).collect();
        let is_wanted = |path: &RelPath| {
            let is_known = managed.contains_key(path) || workspace.files.contains_key(path);
            (is_known || declared.has(path)) && overlay.settings.travels(path, None, place.takes_private)
        };
        FarView::read(machine, &known, &is_wanted).map(Some)
    };
    let (mut views, mut open) = (BTreeMap::new(), Vec::new());
    for (workspace, view) in workspaces.iter().zip(proc::map_parallel(workspaces, ask)) {
        match view {
            Ok(None) => {}
            Ok(Some(view)) => {
                open.extend(view.open.iter().cloned());
                views.insert(workspace.id, (workspace.clone(), RefCell::new(view)));
            }
            Err(failure) => open.push(format!("{}: {failure}", workspace.root.display())),
        }
    }
    Ok((views, open))
}

/// Brings the overlays of other machines in step, all or those that are named, and with them all workspaces here. None if there
/// are none. Of those that are `refilled`, files that are gone there come back.
pub fn sync_far(overlay: &Overlay, only: Option<&[Digest]>, refilled: &[Digest]) -> Result<Option<FarSync>> {
    let mut far = Workspace::load_all(&overlay.store.workspaces())?;
    far.retain(|workspace| workspace.far.is_some() && only.is_none_or(|only| only.contains(&workspace.id)));
    if far.is_empty() {
        return Ok(None);
    }
    let (views, unreached) = reach(overlay, &far)?;
    let is_all = views.len() == far.len();
    let mut outcome = SyncOutcome::default();
    if !views.is_empty() {
        let mut disk = Disk::open(overlay, Some(overlay.lock()?))?;
        let mut workspaces = Workspace::load_all(&overlay.store.workspaces())?;
        disk.look_at(views, &workspaces);
        let is_meant =
            |workspace: &&mut Workspace| refilled.contains(&workspace.id) && disk.far.contains_key(&workspace.id);
        workspaces.iter_mut().filter(is_meant).try_for_each(|workspace| disk.refill(workspace))?;
        outcome = disk.sync_workspaces(&mut workspaces)?;
        far.retain(|workspace| disk.far.get(&workspace.id).is_some_and(|(_, view)| view.borrow().has_written));
    } else {
        far.clear();
    }
    // What they have got goes on to the workspaces there. The lock is not held any more.
    let spread = |workspace: &Workspace| -> Result<Vec<String>> {
        let Some(machine) = machine(overlay, workspace) else { return Ok(Vec::new()) };
        let open = machine.ask(&[Request::Sync])?.into_iter().flat_map(|answer| answer.open).collect();
        Ok(there(&machine.place, open).collect())
    };
    for (workspace, open) in far.iter().zip(proc::map_parallel(&far, spread)) {
        let open = open.unwrap_or_else(|failure| vec![format!("{}: {failure}", workspace.root.display())]);
        open.into_iter().for_each(|line| add_once(&mut outcome.open, line));
    }
    unreached.into_iter().for_each(|line| add_once(&mut outcome.open, line));
    Ok(Some((outcome, is_all)))
}

impl Disk<'_> {
    /// Uses what machines have said, unless another run has synced their workspace since they were asked.
    pub fn look_at(&mut self, views: FarViews, now: &[Workspace]) {
        self.far = views;
        self.far.retain(|_, (asked, _)| now.contains(asked));
    }

    /// The files of another machine that come into the overlay without `add`: those that git ignores here, too, and that no
    /// workspace here has. One that is here and not in the overlay is nobody's to replace.
    pub(super) fn declared_far(&self, workspace: &Workspace) -> Result<DeclaredFiles> {
        let mut declared =
            self.overlay.declared()?.among(self.view(workspace)?.files.iter().map(|(path, file)| (path, file.size)));
        declared.files.retain(|path| !workspace.files.contains_key(path));
        if declared.files.is_empty() {
            return Ok(declared);
        }
        let near = Workspace::load_all(&self.overlay.store.workspaces())?;
        let near: Vec<Workspace> = near.into_iter().filter(|near| near.far.is_none() && near.root.is_dir()).collect();
        let managed = self.overlay()?;
        let is_here =
            |path: &RelPath| near.iter().any(|near| near.root.join(path.as_path()).symlink_metadata().is_ok());
        declared.files.retain(|path| managed.contains_key(path) || !is_here(path));
        if let Some(first) = near.first().filter(|_| !declared.files.is_empty()) {
            let shown = self.left_alone(first, &declared.files)?;
            declared.files.retain(|path| !shown.contains_key(path));
        }
        Ok(declared)
    }

    /// Lets the machine of a workspace get the files again that are gone there.
    fn refill(&self, workspace: &mut Workspace) -> Result<()> {
        let view = self.view(workspace)?;
        workspace.files.retain(|path, _| view.files.contains_key(path));
        workspace.deleted.retain(|path, _| view.files.contains_key(path));
        drop(view);
        self.save(workspace)
    }

    /// What the machine of a workspace has.
    pub(super) fn view(&self, workspace: &Workspace) -> Result<RefMut<'_, FarView>> {
        let (_, view) = self.far.get(&workspace.id).ok_or_else(|| {
            Failure::failed(format!("{} was not asked", workspace.root.display())).hint("run `overlay-sync sync`")
        })?;
        Ok(view.borrow_mut())
    }

    pub(super) fn read_far(&self, workspace: &Workspace, path: &RelPath) -> Result<Lookup> {
        let mut view = self.view(workspace)?;
        let Some(file) = view.files.get(path) else { return Ok(Ok(None)) };
        if file.size > LARGEST {
            let why = format!("it has more than {} MB there, which does not travel", LARGEST >> 20);
            return Ok(Err(LeftAlone::Strange(why)));
        }
        if let Some(text) = view.texts.get(path) {
            return Ok(Ok(Some(text.clone())));
        }
        // Of other texts a digest is only a claim.
        let is_base = workspace.files.get(path).is_some_and(|base| base.sha256 == file.sha256);
        let (mode, digest) = (file.mode(), file.sha256);
        if let Some(bytes) = is_base.then(|| self.content(&digest)).transpose()?.flatten() {
            return Ok(Ok(Some(ReadFile::new(bytes, mode))));
        }
        view.fetch(std::slice::from_ref(path))?;
        match (view.files.get(path), view.texts.get(path)) {
            (None, _) => Ok(Ok(None)),
            (Some(_), Some(text)) => Ok(Ok(Some(text.clone()))),
            (Some(_), None) => Ok(Err(LeftAlone::Unreadable("its machine did not send it".into()))),
        }
    }
}
