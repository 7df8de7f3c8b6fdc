//! What worktrees had added to `.sweatshop-env` when they were removed: kept with the repository, until somebody
//! promotes or discards it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Repo;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;

use crate::TOOL;
use crate::env_file::EnvFile;
use crate::record::parse_state;
use crate::review::{Change, changes};

const VERSION: u32 = 1;

/// Which worktree it was.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    pub v: u32,
    pub worktree: PathBuf,
    pub git_dir: PathBuf,
    /// When it was about to go.
    pub time: String,
}

/// One worktree's file as it was, and what it is compared with.
#[derive(Clone, Debug)]
pub struct Removed {
    pub about: About,
    before: EnvFile,
    now: EnvFile,
    dir: PathBuf,
}

/// Where they lie, a directory each.
fn dir(repo: &Repo) -> PathBuf {
    repo.home.common_dir.join("shopfloor").join(TOOL).join("removed")
}

/// Held while one of them is decided about.
pub fn lock(repo: &Repo) -> Result<Lock> {
    Lock::take(&dir(repo).join("lock"))
}

/// What tells a worktree from a later one at the same place.
fn mark(git_dir: &Path) -> PathBuf {
    git_dir.join("shopfloor").join(TOOL).join("id")
}

/// Keeps what the worktree of `repo` has beyond `before`; what was kept of it earlier is replaced. Gives back the
/// changes.
pub fn keep(repo: &Repo, worktree: &Path, before: &EnvFile, now: &EnvFile, time: &str) -> Result<Vec<Change>> {
    let (mark, found) = (mark(&repo.git_dir), changes(before, now));
    let id = fs::read_no_follow(&mark)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if found.is_empty() && id.is_none() {
        return Ok(found);
    }
    let id = match id.filter(|id| is_id(id)) {
        Some(id) => id,
        None => {
            let id = Digest::random().to_string();
            fs::create_private_dir(&repo.git_dir.join("shopfloor").join(TOOL))?;
            fs::replace(&mark, id.as_bytes(), Some(fs::PRIVATE))?;
            id
        }
    };
    let dir = dir(repo).join(id);
    if found.is_empty() {
        fs::remove_tree(&dir)?;
        return Ok(found);
    }
    let about =
        About { v: VERSION, worktree: worktree.to_path_buf(), git_dir: repo.git_dir.clone(), time: time.to_owned() };
    let text = serde_json::to_string(&about).map_err(|e| Failure::failed("cannot write what is kept").because(e))?;
    fs::create_private_dir(&dir)?;
    fs::replace(&dir.join("before.env"), &before.to_bytes(), Some(fs::PRIVATE))?;
    fs::replace(&dir.join("now.env"), &now.to_bytes(), Some(fs::PRIVATE))?;
    // The last: with it the others are whole.
    fs::replace(&dir.join("about.json"), format!("{text}\n").as_bytes(), Some(fs::PRIVATE))?;
    Ok(found)
}

fn is_id(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Everything kept of worktrees that are gone, in the order in which they went.
pub fn load_all(repo: &Repo) -> Result<Vec<Removed>> {
    let mut all = Vec::new();
    for name in fs::list(&dir(repo))? {
        let id = name.to_string_lossy().into_owned();
        let dir = dir(repo).join(&name);
        let path = dir.join("about.json");
        let Some(bytes) = fs::read_no_follow(&path)?.filter(|_| is_id(&id)) else { continue };
        let about: About = parse_state(&path, &bytes, VERSION, "what is kept beside it stays")?;
        let is_there = fs::read_no_follow(&mark(&about.git_dir)).ok().flatten().as_deref() == Some(id.as_bytes());
        if !is_there {
            let file = |name: &str| -> Result<EnvFile> {
                Ok(EnvFile::parse(&fs::read_no_follow(&dir.join(name))?.unwrap_or_default()))
            };
            all.push(Removed { about, before: file("before.env")?, now: file("now.env")?, dir: dir.clone() });
        }
    }
    all.sort_by(|a, b| (&a.about.time, &a.about.worktree).cmp(&(&b.about.time, &b.about.worktree)));
    Ok(all)
}

impl Removed {
    /// The file as it was.
    pub fn now(&self) -> &EnvFile {
        &self.now
    }

    /// What nobody has decided about yet.
    pub fn changes(&self) -> Vec<Change> {
        changes(&self.before, &self.now)
    }

    /// These were decided about; with the last of them it goes.
    pub fn settle(&mut self, decided: &[Change]) -> Result<()> {
        decided.iter().for_each(|change| self.before.set(&change.key, &change.new));
        if self.changes().is_empty() {
            // The first: without it nothing else counts.
            fs::remove(&self.dir.join("about.json"))?;
            return fs::remove_tree(&self.dir);
        }
        fs::replace(&self.dir.join("before.env"), &self.before.to_bytes(), Some(fs::PRIVATE))
    }
}
