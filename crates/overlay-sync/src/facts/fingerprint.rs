//! The fingerprint of a quiet overlay: how the system described all files when a sync found nothing to do. Files that
//! it still describes are not opened again. It is kept with the repository; losing it costs one slower sync.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::config::SettingSource;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, DisplacedFile, Root, Staging, Stat};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::proc;

use super::overlay::Overlay;
use crate::store::RESERVED;
use crate::tool::TOOL;
use crate::workspace::Workspace;

const VERSION: u32 = 4;

/// How the system describes the overlay's files; `None` for a file that this run has written.
pub type OverlayStats = BTreeMap<RelPath, Option<Stat>>;

#[derive(Default, Serialize, Deserialize)]
struct SavedFingerprint {
    v: u32,
    #[serde(default)]
    workspaces: BTreeMap<Digest, KnownWorkspace>,
}

/// What is known of a workspace.
#[derive(Default, Serialize, Deserialize)]
struct KnownWorkspace {
    root: PathBuf,
    git_dir: PathBuf,
    /// All but its files, if there was nothing at all to do: that it is at its place, its manifest, and that no displaced
    /// file waits there.
    place: Option<u64>,
    /// Everything that made git ignore all files of the overlay and track none.
    git: Option<u64>,
    /// Both sides of each file about which there was nothing to do.
    files: BTreeMap<RelPath, u64>,
}

/// What earlier runs found in step, and what this one finds so. Every description is from before a closer look, and
/// counts only if a later change would show in it.
pub struct Fingerprint<'a> {
    overlay: &'a Overlay,
    /// Under other settings the same files may have something to do.
    settings: u64,
    saved: SavedFingerprint,
    places: HashMap<Digest, Option<u64>>,
    files: HashMap<(Digest, RelPath), u64>,
}

impl<'a> Fingerprint<'a> {
    /// Loads it; one that cannot be read knows nothing.
    pub fn load(overlay: &'a Overlay) -> Fingerprint<'a> {
        let bytes = fs::read_no_follow(&path(overlay)).ok().flatten().unwrap_or_default();
        let saved = serde_json::from_slice(&bytes).ok().filter(|saved: &SavedFingerprint| saved.v == VERSION);
        let saved = SavedFingerprint { v: VERSION, ..saved.unwrap_or_default() };
        let mut settings = overlay.settings.clone();
        for (_, value) in settings.per_path.iter_mut().flat_map(|(_, row)| &mut row.values) {
            // What a line says stays the same when the line moves.
            if let SettingSource::User(_, line) | SettingSource::Repository(_, line) = &mut value.source {
                *line = 0;
            }
        }
        let settings = hash(&format!("{settings:?}"));
        Fingerprint { overlay, settings, saved, places: HashMap::new(), files: HashMap::new() }
    }

    /// Saves it for the next run. Best effort.
    pub fn save(&mut self) {
        let path = path(self.overlay);
        let attached = fs::list(&self.overlay.store.workspaces()).unwrap_or_default();
        self.saved.workspaces.retain(|id, _| attached.contains(&OsString::from(Workspace::file_name(id))));
        if let (Some(dir), Ok(bytes)) = (path.parent(), serde_json::to_vec(&self.saved))
            && fs::read_no_follow(&path).ok().flatten().as_ref() != Some(&bytes)
        {
            let _ = fs::create_private_dir(dir).and_then(|()| fs::replace(&path, &bytes, Some(fs::PRIVATE)));
        }
    }

    /// Whether everything is as it was when a sync found nothing to do. No manifest is read for that.
    pub fn is_same(&self) -> Result<bool> {
        let store = &self.overlay.store;
        let has_work = !store.announced()?.is_empty()
            || !store.intents()?.is_empty()
            || store.is_collection_due(&self.overlay.env)
            || !self.overlay.declared()?.is_empty()
            || !DisplacedFile::list(&store.staging())?.is_empty();
        let Some(root) = self.overlay.root()?.filter(|_| !has_work) else { return Ok(false) };
        let listing = root.files(&[RESERVED])?;
        let names: Vec<OsString> = self.saved.workspaces.keys().map(|id| Workspace::file_name(id).into()).collect();
        if !listing.odd.is_empty() || listing.files.is_empty() || fs::list(&store.workspaces())? != names {
            return Ok(false);
        }
        let stats = root.stats(listing.files.iter())?;
        let overlay: OverlayStats = listing.files.into_iter().zip(stats).collect();
        let known: Vec<_> = self.saved.workspaces.iter().collect();
        let is_same = |(id, earlier): &(&Digest, &KnownWorkspace)| -> Result<bool> {
            let place = self.place_of(id, &earlier.root, &earlier.git_dir);
            let here = Root::open(&earlier.root)?.stats(overlay.keys())?;
            let mut files = overlay.iter().zip(here);
            let is_same = |((path, overlay), here): ((&RelPath, &Option<Stat>), Option<Stat>)| {
                here.zip(*overlay).is_some_and(|sides| earlier.files.get(path) == Some(&self.file(sides)))
            };
            // A file that is gone from the overlay is still in the fingerprint.
            let has_all = earlier.files.len() == overlay.len();
            Ok(place.is_some() && place == earlier.place && has_all && files.all(is_same))
        };
        let same = proc::map_parallel(&known, is_same).into_iter().collect::<Result<Vec<bool>>>()?;
        Ok(same.into_iter().all(|is_same| is_same))
    }

    /// The files of a workspace that may have changed on a side. `root` is the workspace.
    pub fn changed(&mut self, workspace: &Workspace, root: &Root, overlay: &OverlayStats) -> Result<Vec<RelPath>> {
        let Workspace { id, root: at, git_dir, files, .. } = workspace;
        if !self.places.contains_key(id) {
            self.places.insert(*id, self.place_of(id, at, git_dir));
        }
        let mut changed = Vec::new();
        for (path, here) in files.keys().zip(root.stats(files.keys())?) {
            let sides = here.zip(overlay.get(path).copied().flatten());
            let fingerprint = sides.map(|sides| self.file(sides));
            let known = self.saved.workspaces.get(id).and_then(|earlier| earlier.files.get(path));
            if fingerprint.is_some() && known == fingerprint.as_ref() {
                continue;
            }
            changed.push(path.clone());
            let is_settled =
                |(here, overlay): &(Stat, Stat)| [here, overlay].iter().all(|s| s.is_settled(self.overlay.env.now));
            if let Some(fingerprint) = fingerprint.filter(|_| sides.as_ref().is_some_and(is_settled)) {
                self.files.insert((*id, path.clone()), fingerprint);
            }
        }
        Ok(changed)
    }

    /// Records that there is nothing to do about a file.
    pub fn note_in_step(&mut self, workspace: &Workspace, path: &RelPath) {
        if let Some(fingerprint) = self.files.remove(&(workspace.id, path.clone())) {
            self.of(workspace).files.insert(path.clone(), fingerprint);
        }
    }

    /// Records that there was nothing at all to do in these workspaces.
    pub fn note_all_in_step(&mut self, workspaces: &[Workspace]) {
        for workspace in workspaces {
            let place = self.places.get(&workspace.id).copied().flatten().filter(|_| is_clear(workspace));
            let earlier = self.of(workspace);
            earlier.place = place;
            earlier.files.retain(|path, _| workspace.files.contains_key(path));
        }
    }

    /// The fingerprint of everything by which git decides whether it ignores or tracks these files in a workspace, with
    /// its file of patterns for all worktrees. `None` where the worktree has a configuration of its own.
    pub fn git(&self, workspace: &Workspace, excludes: Option<&Path>, files: &BTreeSet<RelPath>) -> Option<u64> {
        let (env, git_dir, common_dir) = (&self.overlay.env, &workspace.git_dir, workspace.common_dir());
        if git_dir.join("config.worktree").exists() {
            return None;
        }
        let home = env.home().map(Path::to_path_buf);
        let xdg = env.var("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(".config")));
        let named = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].iter().filter_map(|name| env.var(name));
        let dirs: BTreeSet<&Path> = files.iter().flat_map(|path| path.as_path().ancestors().skip(1)).collect();
        let mut depends_on = vec![PathBuf::from("/etc/gitconfig"), git_dir.join("index")];
        depends_on.extend(["config", "info/exclude"].map(|name| common_dir.join(name)));
        depends_on.extend(home.map(|home| home.join(".gitconfig")));
        depends_on.extend(xdg.iter().flat_map(|dir| ["git/config", "git/ignore"].map(|name| dir.join(name))));
        depends_on.extend(named.map(PathBuf::from).chain(excludes.map(Path::to_path_buf)));
        depends_on.extend(dirs.iter().map(|dir| workspace.root.join(dir).join(".gitignore")));
        let stats = settled(env, &depends_on)?;
        let vars = env.vars.iter().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_"));
        Some(hash(&(depends_on, stats, files, vars.collect::<Vec<_>>())))
    }

    /// Whether git ignored all files of the overlay and tracked none when this was its fingerprint.
    pub fn knows_git(&self, workspace: &Workspace, git: Option<u64>) -> bool {
        git.is_some() && self.saved.workspaces.get(&workspace.id).is_some_and(|earlier| earlier.git == git)
    }

    pub fn set_git(&mut self, workspace: &Workspace, git: Option<u64>) {
        self.of(workspace).git = git;
    }

    fn of(&mut self, workspace: &Workspace) -> &mut KnownWorkspace {
        let earlier = self.saved.workspaces.entry(workspace.id).or_default();
        earlier.root.clone_from(&workspace.root);
        earlier.git_dir.clone_from(&workspace.git_dir);
        earlier
    }

    fn file(&self, (here, overlay): (Stat, Stat)) -> u64 {
        hash(&(self.settings, here, overlay))
    }

    fn place_of(&self, id: &Digest, root: &Path, git_dir: &Path) -> Option<u64> {
        let manifest = self.overlay.store.workspaces().join(Workspace::file_name(id));
        let marks = [manifest, Workspace::mark_in(git_dir), root.join(".git")];
        let marks = settled(&self.overlay.env, &marks)?.into_iter().collect::<Option<Vec<Stat>>>()?;
        // A workspace without changes may never have had one.
        let staging = settled(&self.overlay.env, &[Workspace::staging_in(git_dir)])?;
        Some(hash(&(self.settings, marks, staging)))
    }
}

fn path(overlay: &Overlay) -> PathBuf {
    overlay.repo.home.common_dir.join("shopfloor").join(TOOL).join("rest.json")
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Whether no displaced file waits in a workspace. As long as the directory for temporary files is described in the same
/// way, that stays so.
fn is_clear(workspace: &Workspace) -> bool {
    let staging = workspace.staging();
    let is_beside = workspace.open().and_then(|root| Staging::is_beside(&staging, &root));
    is_beside.is_ok_and(|beside| !beside) && DisplacedFile::list(&staging).is_ok_and(|displaced| displaced.is_empty())
}

/// How the system describes these files; `None` if one of them changed so recently that a further change might not show.
/// A device such as /dev/null says nothing, and its times mean nothing.
fn settled(env: &Env, files: &[PathBuf]) -> Option<Vec<Option<Stat>>> {
    let stats: Vec<Option<Stat>> = files.iter().map(|path| Stat::at(path).filter(|stat| !stat.is_device())).collect();
    stats.iter().flatten().all(|stat| stat.is_settled(env.now)).then_some(stats)
}
