//! What was quiet when it was looked at last: a cache, so that a pass with nothing to do opens no file and
//! asks git nothing. It lies with the repository, and losing it costs one slower pass.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::env::Env;
use shopfloor_core::fs::{self, Stat};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::settings::Settings;

const VERSION: u32 = 1;

/// What is known of one file of a workspace, each as one number that any change changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Prints {
    /// Both sides as the system describes them, and the base they hold.
    #[serde(rename = "s")]
    sides: u64,
    /// Everything by which git tells that it ignores the file and does not track it.
    #[serde(rename = "g")]
    git: u64,
}

/// What is known of one workspace.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Files(BTreeMap<RelPath, Prints>);

impl Files {
    pub fn sides_are(&self, path: &RelPath, print: u64) -> bool {
        self.0.get(path).is_some_and(|prints| prints.sides == print)
    }

    pub fn git_is(&self, path: &RelPath, print: u64) -> bool {
        self.0.get(path).is_some_and(|prints| prints.git == print)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Saved {
    v: u32,
    workspaces: BTreeMap<Digest, Files>,
}

/// The cache of one repository.
#[derive(Debug)]
pub struct Quiet {
    path: PathBuf,
    saved: Saved,
    is_changed: bool,
}

impl Quiet {
    /// Reads it; one that cannot be read is as good as none.
    pub fn load(dir: &Path) -> Quiet {
        let path = dir.join("quiet.json");
        let bytes = fs::read_no_follow(&path).ok().flatten().unwrap_or_default();
        let saved = serde_json::from_slice(&bytes).ok().filter(|saved: &Saved| saved.v == VERSION);
        let saved = saved.unwrap_or(Saved { v: VERSION, workspaces: BTreeMap::new() });
        Quiet { path, saved, is_changed: false }
    }

    /// Writes it if it changed. Best effort.
    pub fn save(&mut self, is_attached: impl Fn(&Digest) -> bool) {
        if !std::mem::take(&mut self.is_changed) {
            return;
        }
        self.saved.workspaces.retain(|id, _| is_attached(id));
        let dir = self.path.parent().unwrap_or(&self.path);
        let written = fs::create_private_dir(dir).ok().and_then(|()| serde_json::to_vec(&self.saved).ok());
        let _ = written.map(|bytes| fs::replace(&self.path, &bytes, Some(fs::PRIVATE)));
    }

    pub fn of(&self, workspace: &Digest) -> Option<&Files> {
        self.saved.workspaces.get(workspace)
    }

    pub fn set_sides(&mut self, workspace: &Digest, path: &RelPath, print: u64) {
        self.set(workspace, path, |prints| prints.sides = print);
    }

    pub fn set_git(&mut self, workspace: &Digest, path: &RelPath, print: u64) {
        self.set(workspace, path, |prints| prints.git = print);
    }

    fn set(&mut self, workspace: &Digest, path: &RelPath, change: impl FnOnce(&mut Prints)) {
        let files = self.saved.workspaces.entry(*workspace).or_default();
        let prints = files.0.entry(path.clone()).or_default();
        let before = *prints;
        change(prints);
        self.is_changed |= *prints != before;
    }
}

/// The print of two files that hold a base, under these settings.
pub fn sides(here: &Stat, overlay: &Stat, base: &Digest, settings: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (here, overlay, base, settings).hash(&mut hasher);
    hasher.finish()
}

/// The print of the settings: under others the same files may have something to do.
pub fn settings(settings: &Settings) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{settings:?}").hash(&mut hasher);
    hasher.finish()
}

/// The print of everything by which git tells what it ignores and tracks in a workspace; none when some
/// of it changed so recently that a further change might not show.
pub fn git(env: &Env, git_dir: &Path, common_dir: &Path, excludes: Option<&Path>, ignores: &[PathBuf]) -> Option<u64> {
    let mut files = vec![git_dir.join("index"), git_dir.join("config.worktree"), PathBuf::from("/etc/gitconfig")];
    files.extend(["config", "info/exclude"].map(|name| common_dir.join(name)));
    let home = env.home().map(Path::to_path_buf);
    let xdg = env.var("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| Some(home.as_ref()?.join(".config")));
    files.extend(home.map(|home| home.join(".gitconfig")));
    files.extend(xdg.into_iter().flat_map(|dir| ["git/config", "git/ignore"].map(|name| dir.join(name))));
    files.extend(["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].iter().filter_map(|name| env.var(name)).map(PathBuf::from));
    files.extend(excludes.map(Path::to_path_buf));
    let stats: Vec<Option<Stat>> = files.iter().chain(ignores).map(|path| Stat::at(path)).collect();
    // A device, such as /dev/null, holds no patterns; its times mean nothing.
    let devices = files.iter().chain(ignores).map(|path| path.starts_with("/dev"));
    let is_settled = |stat: &Option<Stat>| stat.is_none_or(|stat| stat.is_settled(env.now));
    if !stats.iter().zip(devices).all(|(stat, is_device)| is_device || is_settled(stat)) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    stats.hash(&mut hasher);
    env.vars
        .iter()
        .filter(|(name, _)| name.to_string_lossy().starts_with("GIT_"))
        .for_each(|var| var.hash(&mut hasher));
    // Never the number that stands for nothing known.
    Some(hasher.finish().max(1))
}
