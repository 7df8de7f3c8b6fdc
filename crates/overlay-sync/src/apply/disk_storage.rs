//! The real ground: the overlay's directory, worktrees, git and the merge command.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, DisplacedFile, Listing, Root, Staging};
use shopfloor_core::git::Repo;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::path::RelPath;

use super::late_writes;
use super::merge_command::{self, CommandAnswer};
use crate::conflict::ConflictRecord;
use crate::facts::fingerprint::{Fingerprint, OverlayStats};
use crate::facts::ignored::GitAnswers;
use crate::facts::overlay::Overlay;
use crate::far::FarViews;
use crate::include_patterns::DeclaredFiles;
use crate::merge::MergeInput;
use crate::storage::{Ground, LateText, LeftAlone, Lookup, ReadFile, Side};
use crate::store::{LogRecord, PlannedWrite, RESERVED, RemovedEntries, WriteIntent, is_reserved};
use crate::workspace::Workspace;

/// From this size on a file in a workspace shares its blocks with the overlay's, if the file system supports that.
const LARGE: usize = 128 << 10;

/// One run over real directories.
pub struct Disk<'a> {
    pub(super) overlay: &'a Overlay,
    root: Root,
    lock: Option<Lock>,
    pub(super) git: GitAnswers<'a>,
    fingerprint: RefCell<Fingerprint<'a>>,
    /// The overlays of other machines that were asked for this run. Others are left alone.
    pub(super) far: FarViews,
    /// The workspace that was used last.
    here: RefCell<Option<(Digest, Rc<OpenWorkspace>)>>,
    /// The overlay's files as this run knows them. They may be out of date; then the compare-and-swap fails.
    files: RefCell<HashMap<RelPath, Lookup>>,
    /// How the system described them before they were read.
    stats: RefCell<OverlayStats>,
    kept: RefCell<HashSet<Digest>>,
    /// What this run has announced.
    announced: RefCell<BTreeSet<PlannedWrite>>,
    /// Whether nobody will look at these workspaces again, so that what programs still write is taken as it is.
    is_last: bool,
}

struct OpenWorkspace {
    root: Root,
    staging: OnceCell<Staging>,
}

impl<'a> Disk<'a> {
    /// Opens the overlay; exit 1 when it is gone. With the lock, which the caller has taken, the run may write.
    pub fn open(overlay: &'a Overlay, lock: Option<Lock>) -> Result<Disk<'a>> {
        let root = overlay.root()?.ok_or_else(|| overlay.gone("is not there"))?;
        let disk = Disk {
            overlay,
            root,
            lock,
            git: GitAnswers::new(overlay),
            fingerprint: RefCell::new(Fingerprint::load(overlay)),
            far: BTreeMap::new(),
            here: RefCell::default(),
            files: RefCell::default(),
            stats: RefCell::default(),
            kept: RefCell::default(),
            announced: RefCell::default(),
            is_last: false,
        };
        if disk.lock.is_some() {
            disk.rescue(&overlay.store.staging())?;
            if Staging::is_beside(&overlay.store.staging(), &disk.root)? {
                late_writes::all_dirs(&disk.root)?.iter().try_for_each(|dir| disk.rescue(dir))?;
            }
            overlay.store.sweep()?;
        }
        Ok(disk)
    }

    /// Removes the overlay's text that was expected and nothing else.
    pub fn remove_from_overlay(&self, path: &RelPath, expected: Digest) -> Result<bool> {
        Staging::open(&self.overlay.store.staging(), &self.root)?.remove_open(&self.root, path, &expected)
    }

    /// The same run as the last one that looks at its workspaces.
    pub fn last(self) -> Disk<'a> {
        Disk { is_last: true, ..self }
    }

    /// The files of one side that were replaced while a program may have held them open.
    pub fn displaced(&self, side: Side<'_>) -> Result<Vec<DisplacedFile>> {
        match side {
            Side::Here(workspace) if workspace.far.is_some() => Ok(Vec::new()),
            Side::Here(workspace) => {
                let root = &self.here(workspace)?.root;
                late_writes::displaced(&workspace.staging(), root, || Ok(late_writes::known_dirs(workspace, root)))
            }
            Side::Overlay => {
                late_writes::displaced(&self.overlay.store.staging(), &self.root, || late_writes::all_dirs(&self.root))
            }
        }
    }

    /// Saves for the next run which files are in step: all of them in workspaces where there was nothing to do at all.
    pub fn save_fingerprint(&self, in_step: &[Workspace]) {
        let mut fingerprint = self.fingerprint.borrow_mut();
        let near: Vec<Workspace> = in_step.iter().filter(|workspace| workspace.far.is_none()).cloned().collect();
        fingerprint.note_all_in_step(&near);
        fingerprint.save();
    }

    fn here(&self, workspace: &Workspace) -> Result<Rc<OpenWorkspace>> {
        if let Some((id, here)) = &*self.here.borrow()
            && *id == workspace.id
        {
            return Ok(here.clone());
        }
        workspace.refuse_links()?;
        let here = Rc::new(OpenWorkspace { root: workspace.open()?, staging: OnceCell::new() });
        *self.here.borrow_mut() = Some((workspace.id, here.clone()));
        Ok(here)
    }

    /// The directory for files of a workspace that are not complete yet. They can be made again from the overlay.
    fn here_staging<'h>(&self, workspace: &Workspace, here: &'h OpenWorkspace) -> Result<&'h Staging> {
        if let Some(staging) = here.staging.get() {
            return Ok(staging);
        }
        let staging = Staging::open(&workspace.staging(), &here.root)?.reproducible();
        if staging.lies_beside() {
            let repo = Repo { common_dir: workspace.common_dir(), ..self.overlay.repo.clone() };
            repo.exclude_reserved()?;
            let beside: BTreeSet<&Path> =
                workspace.files.keys().map(|path| path.dir().unwrap_or(Path::new(""))).collect();
            beside.iter().try_for_each(|dir| self.rescue(&here.root.path().join(dir)))?;
            staging.sweep_beside(&here.root, workspace.files.keys())?;
        }
        Ok(here.staging.get_or_init(|| staging))
    }

    /// Removes what a killed run left in a directory, and keeps its content: that may be what somebody wrote just when
    /// the file was exchanged.
    fn rescue(&self, dir: &Path) -> Result<()> {
        let is_left = |name: &&OsString| name.to_string_lossy().starts_with(fs::RESERVED) && !fs::is_displaced(name);
        for name in fs::list(dir)?.iter().filter(is_left) {
            if let Some(bytes) = fs::read_own(&dir.join(name))? {
                self.keep(&bytes)?;
            }
        }
        fs::sweep_temporaries(dir)
    }
}

/// The most bytes of a file that is synced. A few bytes on the disk can make one of any length, which nobody can merge.
const LARGEST: u64 = 512 << 20;

/// Reads a file below `root`, or says why it is left alone.
fn read_at(root: &Root, path: &RelPath, overlay: &Path) -> Lookup {
    use shopfloor_core::fs::Found as Is;
    let unreadable = |failure: Failure| LeftAlone::Unreadable(failure.to_string());
    if root.open_regular(path).ok().flatten().is_some_and(|(_, meta)| meta.len() > LARGEST) {
        return Err(LeftAlone::Unreadable(format!("it has more than {} MB", LARGEST >> 20)));
    }
    let read = match root.read_whole(path) {
        Ok(Some((bytes, mode))) => return Ok(Some(ReadFile::new(bytes, mode))),
        read => read,
    };
    match root.look(path).map_err(unreadable)? {
        Is::Missing => Ok(None),
        // It may have come just now.
        Is::File(_) => {
            let read = read.and_then(|_| root.read_whole(path)).map_err(unreadable)?;
            Ok(read.map(|(bytes, mode)| ReadFile::new(bytes, mode)))
        }
        Is::Link(target) if points_to(root.path(), path, &target, overlay) => Err(LeftAlone::Alias),
        Is::Link(_) => Err(LeftAlone::Strange("it is a link, which is not followed".into())),
        Is::Blocked(at) => Err(LeftAlone::Strange(format!("{at} is a link or not a directory"))),
        Is::Dir | Is::Special => Err(LeftAlone::Strange("it is not a regular file".into())),
    }
}

/// Whether a link in `root` leads to the overlay's file of the same path.
fn points_to(root: &Path, path: &RelPath, target: &Path, overlay: &Path) -> bool {
    let link = root.join(path.as_path());
    let resolved = link.parent().unwrap_or(root).join(target).canonicalize();
    resolved.is_ok_and(|real| overlay.join(path.as_path()).canonicalize().is_ok_and(|own| own == real))
}

impl Ground for Disk<'_> {
    fn overlay(&self) -> Result<BTreeMap<RelPath, Option<LeftAlone>>> {
        let Listing { mut files, odd, .. } = self.root.files(&[RESERVED])?;
        // These are there if the state is on another device.
        files.retain(|path| !path.name().to_string_lossy().starts_with(fs::RESERVED));
        let stats = self.root.stats(files.iter())?;
        *self.stats.borrow_mut() = files.iter().cloned().zip(stats).collect();
        // git may not have been asked about all of them.
        self.git.forget();
        // A manifest can only name paths in UTF-8.
        let unnameable = || LeftAlone::Strange("in the overlay its name is not UTF-8".into());
        let why = |path: &RelPath| path.as_path().to_str().is_none().then(unnameable);
        let mut all: BTreeMap<RelPath, Option<LeftAlone>> =
            files.into_iter().map(|path| (path.clone(), why(&path))).collect();
        for (path, why) in odd {
            if let Ok(path) = RelPath::parse_os(path.as_os_str()) {
                all.insert(path, Some(LeftAlone::Strange(format!("in the overlay {why}"))));
            }
        }
        Ok(all)
    }

    fn root(&self, side: Side<'_>) -> PathBuf {
        if let Side::Here(workspace) = side { workspace.root.clone() } else { self.overlay.dir.clone() }
    }

    fn is_present(&self, workspace: &Workspace) -> Result<bool> {
        if workspace.far.is_some() {
            return Ok(self.far.contains_key(&workspace.id));
        }
        workspace.is_present()
    }

    fn sweep(&self, workspace: &Workspace) -> Result<()> {
        if workspace.far.is_some() {
            return Ok(());
        }
        workspace.refuse_links()?;
        self.rescue(&workspace.staging())
    }

    fn late_texts(&self, side: Side<'_>) -> Result<Vec<LateText>> {
        let Side::Here(workspace) = side else {
            return late_writes::released_in_overlay(self, self.displaced(side)?, self.overlay.env.now);
        };
        late_writes::released(late_writes::known(workspace), self.displaced(side)?, self.overlay.env.now, self.is_last)
    }

    fn forget_late_text(&self, late: &LateText) -> Result<()> {
        if late.is_open { Ok(()) } else { fs::remove(&late.file) }
    }

    fn declared(&self, workspace: &Workspace) -> Result<DeclaredFiles> {
        if workspace.far.is_some() {
            return self.declared_far(workspace);
        }
        self.overlay.declared()?.files(&self.overlay.git, &workspace.root, &self.overlay.dir)
    }

    fn left_alone(&self, workspace: &Workspace, paths: &BTreeSet<RelPath>) -> Result<BTreeMap<RelPath, LeftAlone>> {
        // No git of ours knows its files.
        if workspace.far.is_some() {
            return Ok(BTreeMap::new());
        }
        let files = self.stats.borrow().keys().cloned().collect();
        self.git.left_alone(&self.fingerprint, workspace, paths, &files)
    }

    fn changed_files(&self, workspace: &Workspace) -> Result<Vec<RelPath>> {
        if workspace.far.is_some() {
            return Ok(workspace.files.keys().cloned().collect());
        }
        let here = self.here(workspace)?;
        self.fingerprint.borrow_mut().changed(workspace, &here.root, &self.stats.borrow())
    }

    fn note_in_step(&self, workspace: &Workspace, path: &RelPath) {
        if workspace.far.is_none() {
            self.fingerprint.borrow_mut().note_in_step(workspace, path);
        }
    }

    fn edited(&self, workspace: &Workspace, path: &RelPath, base: Digest) -> Option<i128> {
        // Its clock is another one.
        if workspace.far.is_some() {
            return None;
        }
        let text = self.read(Side::Here(workspace), path).ok()?.ok()??;
        let stats = self.here(workspace).ok()?.root.stats([path].into_iter()).ok()?;
        stats.first()?.filter(|_| text.sha256 != base).map(|stat| stat.modified())
    }

    fn read(&self, side: Side<'_>, path: &RelPath) -> Result<Lookup> {
        // The state is no file of a workspace, whatever a manifest, a command or another machine says.
        if is_reserved(path) {
            return Ok(Err(LeftAlone::Strange("its name is reserved".into())));
        }
        if let Side::Here(workspace) = side {
            if workspace.far.is_some() {
                return self.read_far(workspace, path);
            }
            return Ok(read_at(&self.here(workspace)?.root, path, &self.overlay.dir));
        }
        if let Some(found) = self.files.borrow().get(path) {
            return Ok(found.clone());
        }
        let found = read_at(&self.root, path, &self.overlay.dir);
        self.files.borrow_mut().insert(path.clone(), found.clone());
        Ok(found)
    }

    fn put(&self, side: Side<'_>, path: &RelPath, expected: Option<Digest>, bytes: &[u8], mode: u32) -> Result<bool> {
        if let Side::Here(workspace) = side
            && workspace.far.is_some()
        {
            let new = ReadFile::new(bytes.to_vec(), mode);
            return self.view(workspace)?.replace(path, expected, Some(&new));
        }
        let here;
        let in_overlay;
        let (root, staging) = match side {
            Side::Overlay => {
                self.files.borrow_mut().remove(path);
                if self.stats.borrow_mut().insert(path.clone(), None).is_none() {
                    // git was not asked about this file.
                    self.git.forget();
                }
                in_overlay = Staging::open(&self.overlay.store.staging(), &self.root)?;
                (&self.root, &in_overlay)
            }
            Side::Here(workspace) => {
                here = self.here(workspace)?;
                (&here.root, self.here_staging(workspace, &here)?)
            }
        };
        let is_large = bytes.len() >= LARGE && matches!(side, Side::Here(_));
        let like = is_large.then(|| self.root.file(path)).flatten();
        let staged = staging.file_like(root, path, bytes, Some(mode), like.as_ref())?;
        match expected {
            // Programs hold files open, such as logs.
            Some(digest) => staged.swap_open(root, path, &digest),
            None => staged.place(root, path),
        }
    }

    fn remove(&self, workspace: &Workspace, path: &RelPath, expected: Digest) -> Result<bool> {
        if workspace.far.is_some() {
            return self.view(workspace)?.replace(path, Some(expected), None);
        }
        let here = self.here(workspace)?;
        self.here_staging(workspace, &here)?.remove_open(&here.root, path, &expected)
    }

    fn keep(&self, bytes: &[u8]) -> Result<Digest> {
        let digest = Digest::of(bytes);
        if !self.kept.borrow().contains(&digest) {
            self.overlay.store.keep(&self.overlay.env, &digest, bytes)?;
            self.kept.borrow_mut().insert(digest);
        }
        Ok(digest)
    }

    fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>> {
        self.overlay.store.content(digest)
    }

    fn save(&self, workspace: &Workspace) -> Result<()> {
        workspace.save(&self.overlay.store.workspaces())
    }

    fn record(&self, conflict: &ConflictRecord) -> Result<()> {
        self.overlay.store.record(conflict)
    }

    fn log(&self, events: &[LogRecord]) -> Result<()> {
        self.overlay.store.log(events)
    }

    fn intents(&self) -> Result<Vec<WriteIntent>> {
        self.overlay.store.intents()
    }

    fn save_intent(&self, intent: &WriteIntent) -> Result<()> {
        self.overlay.store.save_intent(intent)
    }

    fn forget_intent(&self, workspace: &Workspace, path: &RelPath) -> Result<()> {
        self.overlay.store.forget_intent(&workspace.id, path)
    }

    fn workspaces(&self) -> Result<Vec<Workspace>> {
        Workspace::load_all(&self.overlay.store.workspaces())
    }

    fn announce(&self, planned: &[PlannedWrite]) -> Result<()> {
        let mut announced = self.announced.borrow_mut();
        let new: Vec<PlannedWrite> = planned.iter().filter(|write| !announced.contains(write)).cloned().collect();
        if !new.is_empty() {
            self.overlay.store.announce(&new)?;
            announced.extend(new);
        }
        Ok(())
    }

    fn announced(&self) -> Result<BTreeSet<PlannedWrite>> {
        self.overlay.store.announced()
    }

    fn forget_announced(&self) -> Result<()> {
        self.announced.borrow_mut().clear();
        self.overlay.store.forget_announced()
    }

    fn removed(&self) -> Result<RemovedEntries> {
        self.overlay.store.removed()
    }

    fn save_removed(&self, removed: &RemovedEntries) -> Result<()> {
        self.overlay.store.save_removed(removed)
    }

    fn ask(&mut self, path: &RelPath, input: &MergeInput<'_>) -> Result<CommandAnswer> {
        let was_locked = self.lock.take().is_some();
        let answer = merge_command::ask(self.overlay, path, input);
        if was_locked {
            self.lock = Some(Lock::take(&self.overlay.store.lock_path())?);
        }
        // Other runs may have changed everything that was read before.
        self.files.borrow_mut().clear();
        self.announced.borrow_mut().clear();
        answer
    }
}
