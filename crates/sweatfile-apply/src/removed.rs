//! What worktrees had added to `.sweatshop-env` when they were removed. It is kept with the repository until a person
//! promotes or discards it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Repo;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;

use crate::env_file::EnvFile;
use crate::review::{Change, changes};
use crate::state;

const VERSION: u32 = 1;

/// Which worktree was removed, and when: the file `about.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemovedAbout {
    pub v: u32,
    pub worktree: PathBuf,
    pub git_dir: PathBuf,
    /// The time of its removal.
    pub time: String,
}

/// The `.sweatshop-env` of a removed worktree, and the file that it is compared with.
#[derive(Clone, Debug)]
pub struct RemovedWorktree {
    pub about: RemovedAbout,
    before: EnvFile,
    now: EnvFile,
    dir: PathBuf,
}

/// Takes the lock that is held while a person decides about removed worktrees.
pub fn lock(repo: &Repo) -> Result<Lock> {
    Lock::take(&state::removed_lock(repo))
}

/// Keeps what the worktree of `repo` has beyond `before`, in place of what was kept of it earlier. Returns the changes.
pub fn keep(repo: &Repo, worktree: &Path, before: &EnvFile, now: &EnvFile, time: &str) -> Result<Vec<Change>> {
    let kept = changes(before, now);
    let id = load_id(repo)?;
    if kept.is_empty() && id.is_none() {
        return Ok(kept);
    }
    let id = match id.filter(|id| is_id(id)) {
        Some(id) => id,
        None => create_id(repo)?,
    };
    let dir = state::removed_dir(repo).join(id);
    if kept.is_empty() {
        fs::remove_tree(&dir)?;
        return Ok(kept);
    }
    let (worktree, git_dir, time) = (worktree.to_path_buf(), repo.git_dir.clone(), time.to_owned());
    let about = RemovedAbout { v: VERSION, worktree, git_dir, time };
    let text = serde_json::to_string(&about)
        .map_err(|e| Failure::failed("cannot save the variables of the removed worktree").because(e))?;
    fs::create_private_dir(&dir)?;
    fs::replace(&dir.join("before.env"), &before.to_bytes(), Some(fs::PRIVATE))?;
    fs::replace(&dir.join("now.env"), &now.to_bytes(), Some(fs::PRIVATE))?;
    // Written last: the other files are complete once this one exists.
    fs::replace(&dir.join("about.json"), format!("{text}\n").as_bytes(), Some(fs::PRIVATE))?;
    Ok(kept)
}

fn load_id(repo: &Repo) -> Result<Option<String>> {
    let bytes = fs::read_no_follow(&state::worktree_id(&repo.git_dir))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn create_id(repo: &Repo) -> Result<String> {
    let id = Digest::random().to_string();
    fs::create_private_dir(&state::worktree_dir(repo))?;
    fs::replace(&state::worktree_id(&repo.git_dir), id.as_bytes(), Some(fs::PRIVATE))?;
    Ok(id)
}

fn is_id(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Loads what is kept of all removed worktrees, in the order of their removal.
pub fn load_all(repo: &Repo) -> Result<Vec<RemovedWorktree>> {
    let mut all = Vec::new();
    for name in fs::list(&state::removed_dir(repo))? {
        let id = name.to_string_lossy().into_owned();
        let dir = state::removed_dir(repo).join(&name);
        let path = dir.join("about.json");
        let Some(bytes) = fs::read_no_follow(&path)?.filter(|_| is_id(&id) && !dir.is_symlink()) else { continue };
        let about: RemovedAbout = state::parse(&path, &bytes, VERSION, "the files beside it stay")?;
        let mark = fs::read_no_follow(&state::worktree_id(&about.git_dir)).ok().flatten();
        let still_exists = mark.as_deref() == Some(id.as_bytes());
        if !still_exists {
            let file = |name: &str| -> Result<EnvFile> {
                Ok(EnvFile::parse(&fs::read_no_follow(&dir.join(name))?.unwrap_or_default()))
            };
            all.push(RemovedWorktree { about, before: file("before.env")?, now: file("now.env")?, dir: dir.clone() });
        }
    }
    all.sort_by(|a, b| (&a.about.time, &a.about.worktree).cmp(&(&b.about.time, &b.about.worktree)));
    Ok(all)
}

impl RemovedWorktree {
    /// The changes that nobody has decided about yet.
    pub fn changes(&self) -> Vec<Change> {
        changes(&self.before, &self.now)
    }

    /// Marks changes as decided. After the last one everything that is kept of the worktree is deleted.
    pub fn settle(&mut self, decided: &[Change]) -> Result<()> {
        decided.iter().for_each(|change| self.before.set(&change.key, &change.new));
        if self.changes().is_empty() {
            // Removed first: without it the other files do not count.
            fs::remove(&self.dir.join("about.json"))?;
            return fs::remove_tree(&self.dir);
        }
        fs::replace(&self.dir.join("before.env"), &self.before.to_bytes(), Some(fs::PRIVATE))
    }
}
