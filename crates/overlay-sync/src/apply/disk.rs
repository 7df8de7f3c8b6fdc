//! The real ground: the overlay's directory, worktrees, git and the merge command.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, DisplacedFile, Found, Listing, Root, Staging, Stat};
use shopfloor_core::git::Repo;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::path::RelPath;
use shopfloor_core::proc;

use super::bars::{GitBars, read_at};
use super::first_look::{self, FirstLook};
use super::late;
use super::merge_command::{self, CommandAnswer};
use super::prints::Prints;
use super::texts::Texts;
use crate::conflict::ConflictRecord;
use crate::declared::{Declared, DeclaredFiles};
use crate::facts::overlay::Overlay;
use crate::facts::rest::Looked;
use crate::ground::{Bar, Ground, LateText, Lookup, Side};
use crate::manifest::Workspace;
use crate::merge::MergeInput;
use crate::quiet;
use crate::store::{LogRecord, PlannedWrite, RESERVED, RemovedEntries, WriteIntent};
use crate::tool::TOOL;

/// From this size on a file in a workspace shares its blocks with the overlay's, if the file system supports that.
const LARGE: usize = 128 << 10;

/// One run over real directories.
pub struct Disk<'a> {
    env: &'a Env,
    overlay: &'a Overlay,
    root: Root,
    staging: OnceCell<Staging>,
    lock: Option<Lock>,
    declared: OnceCell<Declared>,
    git: GitBars<'a>,
    /// The workspace that was used last.
    here: RefCell<Option<(Digest, Rc<OpenWorkspace>)>>,
    /// The overlay's files as this run knows them. They may be out of date; then the compare-and-swap fails.
    files: RefCell<HashMap<RelPath, Lookup>>,
    /// How the system described the overlay's files before they were read.
    overlay_stats: RefCell<HashMap<RelPath, Option<Stat>>>,
    /// The overlay's files that this run has written.
    written: RefCell<BTreeSet<RelPath>>,
    /// What was found in workspaces in which this run has not written yet.
    first_look: RefCell<HashMap<Digest, FirstLook>>,
    /// What a look before this run found in workspaces whose files were these.
    looked: Option<Looked>,
    /// The workspaces whose directories for temporary files are empty.
    empty: RefCell<HashSet<Digest>>,
    kept: RefCell<HashSet<Digest>>,
    texts: RefCell<Texts>,
    /// What this run has announced.
    announced: RefCell<BTreeSet<PlannedWrite>>,
    prints: Prints<'a>,
    /// Whether nobody will look at these workspaces again, so that what programs still write is taken as it is.
    is_last: bool,
}

struct OpenWorkspace {
    root: Root,
    staging: OnceCell<Staging>,
}

impl<'a> Disk<'a> {
    /// Opens the overlay; exit 1 when it is gone. With the lock, which the caller has taken, the run may write.
    pub fn open(env: &'a Env, overlay: &'a Overlay, lock: Option<Lock>) -> Result<Disk<'a>> {
        let root = overlay.root()?.ok_or_else(|| overlay.gone("is not there"))?;
        let cache = overlay.repo.home.common_dir.join("shopfloor").join(TOOL);
        let is_writing = lock.is_some();
        let disk = Disk {
            env,
            overlay,
            root,
            staging: OnceCell::new(),
            lock,
            declared: OnceCell::new(),
            git: GitBars::new(env, overlay),
            here: RefCell::default(),
            files: RefCell::default(),
            overlay_stats: RefCell::default(),
            written: RefCell::default(),
            first_look: RefCell::default(),
            looked: None,
            empty: RefCell::default(),
            kept: RefCell::default(),
            texts: RefCell::default(),
            announced: RefCell::default(),
            prints: Prints::new(env, quiet::settings(&overlay.settings), &cache),
            is_last: false,
        };
        if is_writing {
            disk.rescue(&overlay.store.staging())?;
            if Staging::is_beside(&overlay.store.staging(), &disk.root)? {
                late::all_dirs(&disk.root)?.iter().try_for_each(|dir| disk.rescue(dir).map(drop))?;
            }
            overlay.store.sweep()?;
            fs::sweep_temporaries(&cache)?;
        }
        Ok(disk)
    }

    /// The same run as the last one that looks at its workspaces.
    pub fn last(self) -> Disk<'a> {
        Disk { is_last: true, ..self }
    }

    /// The same run, which need not look again at what was looked at just now.
    pub fn knowing(self, looked: Option<Looked>) -> Disk<'a> {
        Disk { looked, ..self }
    }

    /// The files of one side that were replaced while a program may have held them open.
    pub fn displaced(&self, side: Side<'_>) -> Result<Vec<DisplacedFile>> {
        match side {
            Side::Here(workspace) => {
                let root = &self.here(workspace)?.root;
                late::displaced(&workspace.staging(), root, || Ok(late::known_dirs(workspace, root)))
            }
            Side::Overlay => late::displaced(&self.overlay.store.staging(), &self.root, || late::all_dirs(&self.root)),
        }
    }

    /// Saves for the next run which files were quiet.
    pub fn finish(&self) {
        self.prints.save(&self.overlay.store.workspaces());
    }

    fn here(&self, workspace: &Workspace) -> Result<Rc<OpenWorkspace>> {
        if let Some((id, here)) = &*self.here.borrow()
            && *id == workspace.id
        {
            return Ok(here.clone());
        }
        workspace.refuse_links()?;
        let here = Rc::new(OpenWorkspace { root: Root::open(&workspace.root)?, staging: OnceCell::new() });
        *self.here.borrow_mut() = Some((workspace.id, here.clone()));
        Ok(here)
    }

    /// The directory for files of a workspace that are not complete yet. They can be made again from the overlay.
    fn here_staging<'h>(&self, workspace: &Workspace, here: &'h OpenWorkspace) -> Result<&'h Staging> {
        if let Some(staging) = here.staging.get() {
            return Ok(staging);
        }
        let is_empty = self.empty.borrow().contains(&workspace.id);
        let open = if is_empty { Staging::open_empty } else { Staging::open };
        let staging = open(&workspace.staging(), &here.root)?.reproducible();
        if staging.lies_beside() {
            let repo = Repo { common_dir: workspace.common_dir(), ..self.overlay.repo.clone() };
            repo.exclude_reserved()?;
            let beside: BTreeSet<&Path> =
                workspace.files.keys().map(|path| path.dir().unwrap_or(Path::new(""))).collect();
            beside.iter().try_for_each(|dir| self.rescue(&here.root.path().join(dir)).map(drop))?;
            staging.sweep_beside(&here.root, workspace.files.keys())?;
        }
        Ok(here.staging.get_or_init(|| staging))
    }

    fn overlay_staging(&self) -> Result<&Staging> {
        if let Some(staging) = self.staging.get() {
            return Ok(staging);
        }
        let staging = Staging::open(&self.overlay.store.staging(), &self.root)?;
        Ok(self.staging.get_or_init(|| staging))
    }

    /// The declared files of a workspace, and those that are too large to be taken.
    pub fn declared_files(&self, workspace: &Workspace) -> Result<DeclaredFiles> {
        self.declarations()?.files(&self.overlay.git, &workspace.root, &self.overlay.dir)
    }

    fn declarations(&self) -> Result<&Declared> {
        if let Some(declared) = self.declared.get() {
            return Ok(declared);
        }
        let declared = self.overlay.declared()?;
        Ok(self.declared.get_or_init(|| declared))
    }

    /// Removes what a killed run left in a directory, and keeps its content: that may be what somebody wrote just when
    /// the file was exchanged. Returns whether the directory was empty.
    fn rescue(&self, dir: &Path) -> Result<bool> {
        let names = fs::list(dir)?;
        let is_left = |name: &&OsString| name.to_string_lossy().starts_with(fs::RESERVED) && !fs::is_displaced(name);
        for name in names.iter().filter(is_left) {
            if let Some(bytes) = fs::read_own(&dir.join(name))? {
                self.keep(&bytes)?;
            }
        }
        if !names.is_empty() {
            fs::sweep_temporaries(dir)?;
        }
        Ok(names.is_empty())
    }
}

impl Ground for Disk<'_> {
    fn overlay(&self) -> Result<BTreeMap<RelPath, Option<Bar>>> {
        let Listing { mut files, odd, .. } = self.root.files(&[RESERVED])?;
        // These are there if the state is on another device.
        files.retain(|path| !path.name().to_string_lossy().starts_with(fs::RESERVED));
        let stats = self.root.stats(files.iter())?;
        *self.overlay_stats.borrow_mut() = files.iter().cloned().zip(stats).collect();
        // A manifest can only name paths in UTF-8.
        let unnameable = || Bar::Strange("in the overlay its name is not UTF-8".into());
        let bar = |path: &RelPath| path.as_path().to_str().is_none().then(unnameable);
        let mut all: BTreeMap<RelPath, Option<Bar>> =
            files.into_iter().map(|path| (path.clone(), bar(&path))).collect();
        for (path, why) in odd {
            if let Ok(path) = RelPath::parse_os(path.as_os_str()) {
                all.insert(path, Some(Bar::Strange(format!("in the overlay {why}"))));
            }
        }
        Ok(all)
    }

    fn root(&self, side: Side<'_>) -> PathBuf {
        if let Side::Here(workspace) = side { workspace.root.clone() } else { self.overlay.dir.clone() }
    }

    fn is_present(&self, workspace: &Workspace) -> Result<bool> {
        let is_proven = self.first_look.borrow().get(&workspace.id).is_some_and(|look| look.proves(workspace));
        if is_proven { Ok(true) } else { workspace.is_present() }
    }

    fn sweep(&self, workspace: &Workspace) -> Result<()> {
        workspace.refuse_links()?;
        let staging = workspace.staging();
        let was_empty = self.first_look.borrow().get(&workspace.id).is_some_and(|look| look.has_empty_staging);
        if was_empty || self.rescue(&staging)? && staging.is_dir() {
            self.empty.borrow_mut().insert(workspace.id);
        }
        Ok(())
    }

    fn late(&self, side: Side<'_>) -> Result<Vec<LateText>> {
        let Side::Here(workspace) = side else {
            return late::released_in_overlay(self, self.displaced(side)?, self.env.now);
        };
        let here = self.here(workspace)?;
        let is_empty = self.empty.borrow().contains(&workspace.id);
        if is_empty && !self.here_staging(workspace, &here)?.lies_beside() {
            return Ok(Vec::new());
        }
        late::released(late::known(workspace), self.displaced(side)?, self.env.now, self.is_last)
    }

    fn is_taken(&self, late: &LateText) -> Result<()> {
        if late.is_open { Ok(()) } else { fs::remove(&late.file) }
    }

    fn declared(&self, workspace: &Workspace) -> Result<BTreeSet<RelPath>> {
        Ok(self.declared_files(workspace)?.files)
    }

    fn barred(&self, workspace: &Workspace, paths: &BTreeSet<RelPath>) -> Result<BTreeMap<RelPath, Bar>> {
        self.git.barred(&self.prints.cache, workspace, paths)
    }

    fn prepare(&self, workspaces: &[Workspace]) -> HashSet<Digest> {
        let (overlay, quiet) = (&*self.overlay_stats.borrow(), self.prints.cache.borrow());
        let known: HashMap<Digest, Option<u64>> = workspaces.iter().map(|w| (w.id, quiet.whole(&w.id))).collect();
        let is_declared = self.declarations().map_or(true, |declared| !declared.is_empty());
        let (settings, looked) = (self.prints.settings, self.looked.as_ref());
        let look = |workspace: &Workspace| {
            let look = FirstLook::of(workspace, looked, overlay, settings)?;
            let waits = !workspace.held.is_empty() || !workspace.deleted.is_empty() || is_declared;
            // If the files are the very same, the workspace is too.
            let is_known =
                look.whole(overlay.len()).is_some_and(|print| known.get(&workspace.id) == Some(&Some(print)));
            let is_quiet = !waits && !look.has_late && is_known;
            Ok::<_, Failure>((workspace.id, look, is_quiet))
        };
        // Errors are found again, and reported, when the workspace is looked at.
        let looked: Vec<_> = proc::map_parallel(workspaces, look).into_iter().flatten().collect();
        let quiet = looked.iter().filter(|(_, _, is_quiet)| *is_quiet).map(|(id, ..)| *id).collect();
        // A new workspace gets all files of the overlay, so git is asked about all of them at once.
        let new: Vec<&Workspace> = workspaces.iter().filter(|w| w.files.is_empty()).collect();
        let files: BTreeSet<RelPath> =
            overlay.iter().filter(|(_, stat)| stat.is_some()).map(|(p, _)| p.clone()).collect();
        self.git.ask_about_new(&new, &files);
        *self.first_look.borrow_mut() = looked.into_iter().map(|(id, look, _)| (id, look)).collect();
        quiet
    }

    fn news(&self, workspace: &Workspace) -> Result<Vec<RelPath>> {
        let (mut looks, written) = (self.first_look.borrow_mut(), self.written.borrow());
        let overlay = &*self.overlay_stats.borrow();
        let first_look = looks.get_mut(&workspace.id).filter(|look| look.stats.len() == workspace.files.len());
        let mut news = match first_look {
            Some(FirstLook { news: Some(news), .. }) => news.clone(),
            Some(look) => {
                let news = self.prints.news(workspace, &look.stats, &look.prints, overlay);
                look.news.insert(news).clone()
            }
            None => {
                let stats = self.here(workspace)?.root.stats(workspace.files.keys())?;
                let prints: Vec<_> = quiet::prints(workspace, &stats, overlay, self.prints.settings).collect();
                self.prints.news(workspace, &stats, &prints, overlay)
            }
        };
        let known: HashSet<&RelPath> = news.iter().collect();
        let too = written.iter().filter(|path| workspace.files.contains_key(path) && !known.contains(path));
        let too: Vec<RelPath> = too.cloned().collect();
        news.extend(too);
        Ok(news)
    }

    fn read_ahead(&self, wanted: &[(&Workspace, Vec<RelPath>)]) {
        first_look::read_ahead(&mut self.first_look.borrow_mut(), wanted, &self.overlay.dir);
    }

    fn large(&self) -> BTreeSet<RelPath> {
        let is_large = |stat: Stat| stat.size() >= first_look::SLOW;
        let (overlay, looks) = (self.overlay_stats.borrow(), self.first_look.borrow());
        let in_overlay = overlay.iter().filter(|(_, stat)| stat.is_some_and(is_large)).map(|(path, _)| path.clone());
        in_overlay.chain(looks.values().flat_map(|look| look.large.iter().cloned())).collect()
    }

    fn is_there(&self, workspace: &Workspace, path: &RelPath) -> bool {
        let found = self.here(workspace).and_then(|here| here.root.look(path));
        !matches!(found, Ok(Found::Missing))
    }

    fn is_quiet_now(&self, workspace: &Workspace, path: &RelPath) {
        self.prints.is_quiet_now(workspace, path);
    }

    fn edited(&self, workspace: &Workspace, path: &RelPath, base: Digest) -> Option<i128> {
        let here = self.here(workspace).ok()?;
        let ahead =
            self.first_look.borrow().get(&workspace.id).and_then(|look| Some(look.text(&here.root, path)?.sha256));
        let found = match ahead {
            Some(found) => found,
            None => self.read(Side::Here(workspace), path).ok()?.ok()??.sha256,
        };
        if found == base {
            return None;
        }
        let stats = here.root.stats([path].into_iter()).ok()?;
        stats.into_iter().next()?.map(|stat| stat.modified())
    }

    fn read(&self, side: Side<'_>, path: &RelPath) -> Result<Lookup> {
        match side {
            Side::Here(workspace) => {
                let here = self.here(workspace)?;
                let mut looks = self.first_look.borrow_mut();
                match looks.get_mut(&workspace.id).and_then(|look| look.take(&here.root, path)) {
                    Some(ahead) => Ok(Ok(Some(ahead))),
                    None => read_at(&here.root, path, &self.overlay.dir),
                }
            }
            Side::Overlay => {
                if let Some(found) = self.files.borrow().get(path) {
                    return Ok(found.clone());
                }
                let found = read_at(&self.root, path, &self.overlay.dir)?;
                self.files.borrow_mut().insert(path.clone(), found.clone());
                Ok(found)
            }
        }
    }

    fn put(&self, side: Side<'_>, path: &RelPath, expected: Option<Digest>, bytes: &[u8], mode: u32) -> Result<bool> {
        let here;
        let (root, staging) = match side {
            Side::Overlay => {
                self.files.borrow_mut().remove(path);
                self.overlay_stats.borrow_mut().remove(path);
                self.written.borrow_mut().insert(path.clone());
                (&self.root, self.overlay_staging()?)
            }
            Side::Here(workspace) => {
                here = self.here(workspace)?;
                self.first_look.borrow_mut().remove(&workspace.id);
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
        let here = self.here(workspace)?;
        self.first_look.borrow_mut().remove(&workspace.id);
        self.here_staging(workspace, &here)?.remove_open(&here.root, path, &expected)
    }

    fn keep(&self, bytes: &[u8]) -> Result<Digest> {
        let digest = Digest::of(bytes);
        if !self.kept.borrow().contains(&digest) {
            self.overlay.store.keep(self.env, &digest, bytes)?;
            self.kept.borrow_mut().insert(digest);
        }
        Ok(digest)
    }

    fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>> {
        if let Some(text) = self.texts.borrow().get(digest) {
            return Ok(Some(text));
        }
        let text = self.overlay.store.content(digest)?;
        text.iter().for_each(|text| self.texts.borrow_mut().add(*digest, text));
        Ok(text)
    }

    fn save(&self, workspace: &Workspace) -> Result<()> {
        workspace.save(&self.overlay.store.workspaces())
    }

    fn reload(&self, workspace: &Workspace) -> Result<Option<Workspace>> {
        Workspace::load(&self.overlay.store.workspaces(), &workspace.id)
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

    fn intend(&self, intent: &WriteIntent) -> Result<()> {
        self.overlay.store.intend(intent)
    }

    fn fulfil(&self, workspace: &Workspace, path: &RelPath) -> Result<()> {
        self.overlay.store.fulfil(&workspace.id, path)
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

    fn is_done(&self) -> Result<()> {
        self.announced.borrow_mut().clear();
        self.overlay.store.is_done()
    }

    fn removed(&self) -> Result<RemovedEntries> {
        self.overlay.store.removed()
    }

    fn save_removed(&self, removed: &RemovedEntries) -> Result<()> {
        self.overlay.store.save_removed(removed)
    }

    fn ask(&mut self, path: &RelPath, input: &MergeInput<'_>) -> Result<CommandAnswer> {
        let Some(program) = &self.overlay.settings.merge_command else { return Ok(Err("is not set".into())) };
        let was_locked = self.lock.take().is_some();
        let (dir, staging) = (&self.overlay.repo.home.checkout, self.overlay.store.staging());
        let answer = merge_command::ask(self.env, program, dir, &staging, path, input);
        if was_locked {
            self.lock = Some(Lock::take(&self.overlay.store.lock_path())?);
        }
        // Other runs may have changed everything that was read before.
        self.files.borrow_mut().clear();
        self.announced.borrow_mut().clear();
        self.prints.forget();
        self.first_look.borrow_mut().clear();
        self.git.forget();
        answer
    }
}
