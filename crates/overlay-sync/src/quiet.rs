//! A cache of what was quiet when it was last looked at, so that a pass with nothing to do opens no file and does not
//! ask git. It is kept with the repository; losing it costs one slower pass.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use shopfloor_core::env::Env;
use shopfloor_core::fs::{self, Stat};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::manifest::Workspace;
use crate::settings::Settings;

const VERSION: u32 = 2;

/// What is known of one file of a workspace: fingerprints that any change alters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FilePrints {
    /// Both sides as the system describes them, and their base.
    sides: u64,
    /// Everything that makes git ignore the file and not track it.
    git: u64,
}

/// What is known of one workspace.
#[derive(Debug, Default)]
pub struct QuietFiles(BTreeMap<RelPath, FilePrints>);

impl QuietFiles {
    pub fn sides_are(&self, path: &RelPath, print: u64) -> bool {
        self.0.get(path).is_some_and(|prints| prints.sides == print)
    }

    pub fn git_is(&self, path: &RelPath, print: u64) -> bool {
        self.0.get(path).is_some_and(|prints| prints.git == print)
    }
}

/// A file of the cache. Workspaces have the same paths, so each path is in it once.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SavedCache<T> {
    v: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    paths: Vec<RelPath>,
    workspaces: BTreeMap<Digest, T>,
}

/// The fingerprints of a workspace's files: the index of the path, the two sides, git.
type SavedFiles = Vec<(usize, u64, u64)>;

/// The cache of one repository: a fingerprint for each workspace, and one for each file. The latter are read only when
/// the former has changed.
#[derive(Debug)]
pub struct QuietCache {
    dir: PathBuf,
    whole: BTreeMap<Digest, u64>,
    files: OnceCell<BTreeMap<Digest, QuietFiles>>,
    is_changed: bool,
}

const WHOLE: &str = "quiet.json";
const FILES: &str = "quiet-files.json";

impl QuietCache {
    /// Loads the cache; one that cannot be read counts as empty.
    pub fn load(dir: &Path) -> QuietCache {
        QuietCache {
            dir: dir.to_path_buf(),
            whole: load(&dir.join(WHOLE)).workspaces,
            files: OnceCell::new(),
            is_changed: false,
        }
    }

    /// Saves the cache if it changed. Best effort.
    pub fn save(&mut self, is_attached: impl Fn(&Digest) -> bool) {
        if !std::mem::take(&mut self.is_changed) || fs::create_private_dir(&self.dir).is_err() {
            return;
        }
        self.whole.retain(|id, _| is_attached(id));
        save(&self.dir.join(WHOLE), &SavedCache { v: VERSION, paths: Vec::new(), workspaces: self.whole.clone() });
        if let Some(files) = self.files.get_mut() {
            files.retain(|id, _| is_attached(id));
            save(&self.dir.join(FILES), &to_saved(files));
        }
    }

    /// The fingerprint of a workspace whose files were all quiet.
    pub fn whole(&self, workspace: &Digest) -> Option<u64> {
        self.whole.get(workspace).copied()
    }

    pub fn set_whole(&mut self, workspace: &Digest, print: u64) {
        self.is_changed |= self.whole.insert(*workspace, print) != Some(print);
    }

    pub fn files(&self, workspace: &Digest) -> Option<&QuietFiles> {
        self.files.get_or_init(|| from_saved(load(&self.dir.join(FILES)))).get(workspace)
    }

    pub fn set_sides(&mut self, workspace: &Digest, path: &RelPath, print: u64) {
        self.set(workspace, path, |prints| prints.sides = print);
    }

    /// Remembers that git neither shows nor tracks these files.
    pub fn set_git(&mut self, workspace: &Digest, prints: &BTreeMap<RelPath, u64>) {
        prints.iter().for_each(|(path, print)| self.set(workspace, path, |prints| prints.git = *print));
    }

    fn set(&mut self, workspace: &Digest, path: &RelPath, change: impl FnOnce(&mut FilePrints)) {
        self.files(workspace);
        let Some(all) = self.files.get_mut() else { return };
        let prints = all.entry(*workspace).or_default().0.entry(path.clone()).or_default();
        let before = *prints;
        change(prints);
        self.is_changed |= *prints != before;
    }
}

fn load<T: DeserializeOwned + Default>(path: &Path) -> SavedCache<T> {
    let bytes = fs::read_no_follow(path).ok().flatten().unwrap_or_default();
    serde_json::from_slice::<SavedCache<T>>(&bytes).ok().filter(|saved| saved.v == VERSION).unwrap_or_default()
}

fn save<T: Serialize>(path: &Path, cache: &SavedCache<T>) {
    let _ = serde_json::to_vec(cache).map(|bytes| fs::replace(path, &bytes, Some(fs::PRIVATE)));
}

fn from_saved(saved: SavedCache<SavedFiles>) -> BTreeMap<Digest, QuietFiles> {
    let paths = saved.paths;
    let file = |(path, sides, git): (usize, u64, u64)| Some((paths.get(path)?.clone(), FilePrints { sides, git }));
    let files = |files: SavedFiles| QuietFiles(files.into_iter().filter_map(file).collect());
    saved.workspaces.into_iter().map(|(id, saved)| (id, files(saved))).collect()
}

fn to_saved(workspaces: &BTreeMap<Digest, QuietFiles>) -> SavedCache<SavedFiles> {
    let mut indexes: HashMap<&RelPath, usize> = HashMap::new();
    let mut paths = Vec::new();
    let mut saved = BTreeMap::new();
    for (id, files) in workspaces {
        let index = |path: &RelPath, paths: &mut Vec<RelPath>| {
            paths.push(path.clone());
            paths.len() - 1
        };
        let files = files.0.iter().map(|(path, prints)| {
            let index = *indexes.entry(path).or_insert_with(|| index(path, &mut paths));
            (index, prints.sides, prints.git)
        });
        saved.insert(*id, files.collect());
    }
    SavedCache { v: VERSION, paths, workspaces: saved }
}

/// The fingerprint of all files of a workspace.
pub fn whole(files: &[u64]) -> u64 {
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    hasher.finish()
}

/// The fingerprint of each file of a workspace; `None` where a side does not have the file.
pub fn prints<'s>(
    workspace: &'s Workspace,
    here: &'s [Option<Stat>],
    overlay: &'s HashMap<RelPath, Option<Stat>>,
    settings: u64,
) -> impl Iterator<Item = Option<u64>> + 's {
    workspace.files.iter().zip(here).map(move |((path, base), here)| {
        Some(sides(here.as_ref()?, overlay.get(path)?.as_ref()?, &base.sha256, settings))
    })
}

/// The fingerprint of two files with a common base, under these settings.
pub fn sides(here: &Stat, overlay: &Stat, base: &Digest, settings: u64) -> u64 {
    // In one piece, because this is done for every file in every pass.
    let parts: [&[u8]; 4] = [&here.key(), &overlay.key(), base.as_bytes(), &settings.to_le_bytes()];
    let mut hasher = DefaultHasher::new();
    hasher.write(&parts.concat());
    hasher.finish()
}

/// The fingerprint of the settings: under other settings the same files may have something to do.
pub fn settings(settings: &Settings) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{settings:?}").hash(&mut hasher);
    hasher.finish()
}

/// The fingerprint of everything that makes git ignore files in all worktrees of a repository. `None` when some of it
/// changed so recently that a further change might not show.
pub fn git_everywhere(env: &Env, common_dir: &Path, excludes: Option<&Path>) -> Option<u64> {
    let mut files = vec![PathBuf::from("/etc/gitconfig")];
    files.extend(["config", "info/exclude"].map(|name| common_dir.join(name)));
    let home = env.home().map(Path::to_path_buf);
    let xdg = env.var("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(".config")));
    files.extend(home.map(|home| home.join(".gitconfig")));
    files.extend(xdg.into_iter().flat_map(|dir| ["git/config", "git/ignore"].map(|name| dir.join(name))));
    files.extend(["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].iter().filter_map(|name| env.var(name)).map(PathBuf::from));
    files.extend(excludes.map(Path::to_path_buf));
    let mut hasher = DefaultHasher::new();
    settled(env, &files)?.hash(&mut hasher);
    files.hash(&mut hasher);
    env.vars
        .iter()
        .filter(|(name, _)| name.to_string_lossy().starts_with("GIT_"))
        .for_each(|var| var.hash(&mut hasher));
    Some(hasher.finish())
}

/// The same with what makes git ignore or track files in one worktree, except its `.gitignore`s. `None` also if the
/// worktree's configuration may name another file of patterns.
pub fn git_here(env: &Env, everywhere: u64, git_dir: &Path) -> Option<u64> {
    let files = ["index", "config.worktree"].map(|name| git_dir.join(name));
    let config = fs::read(&files[1]).ok()?.unwrap_or_default().to_ascii_lowercase();
    let has = |word: &[u8]| config.windows(word.len()).any(|part| part == word);
    if has(b"excludesfile") || has(b"[include") {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    (everywhere, settled(env, &files)?).hash(&mut hasher);
    Some(hasher.finish())
}

/// The same for the files in one directory, with the `.gitignore`s there and above.
pub fn git_dir(env: &Env, here: u64, root: &Path, dir: &Path) -> Option<u64> {
    let files: Vec<PathBuf> = dir.ancestors().map(|dir| root.join(dir).join(".gitignore")).collect();
    let mut hasher = DefaultHasher::new();
    (here, settled(env, &files)?).hash(&mut hasher);
    // Zero means that nothing is known.
    Some(hasher.finish().max(1))
}

/// The state of these files; `None` when one of them changed just now. A device such as /dev/null holds no patterns,
/// and its times mean nothing.
fn settled(env: &Env, files: &[PathBuf]) -> Option<Vec<Option<Stat>>> {
    let stats: Vec<Option<Stat>> = files.iter().map(|path| Stat::at(path).filter(|stat| !stat.is_device())).collect();
    stats.iter().flatten().all(|stat| stat.is_settled(env.now)).then_some(stats)
}
