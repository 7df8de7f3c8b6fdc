//! The snapshot of `.sweatshop-env` that a review compares with, in the worktree's private git
//! directory: never in `git status`, gone with the worktree.

use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::Repo;

use crate::TOOL;
use crate::env_file::EnvFile;

pub fn path(repo: &Repo) -> PathBuf {
    repo.worktree_state(TOOL).join("snapshot.env")
}

/// The file as it was, if a snapshot was taken and not reviewed to its end.
pub fn load(repo: &Repo) -> Result<Option<EnvFile>> {
    Ok(fs::read_no_follow(&path(repo))?.map(|bytes| EnvFile::parse(&bytes)))
}

/// Writes it, or with `None` ends it. The caller holds the worktree's lock.
pub fn save(repo: &Repo, file: Option<&EnvFile>) -> Result<()> {
    let Some(file) = file else { return fs::remove(&path(repo)) };
    fs::create_private_dir(&repo.worktree_state(TOOL))?;
    fs::replace(&path(repo), &file.to_bytes(), Some(fs::PRIVATE))
}

/// What apply itself changes is nothing to review: the snapshot moves along, except where a person
/// had changed the variable already.
pub fn follow(repo: &Repo, before: &EnvFile, after: &EnvFile) -> Result<()> {
    let Some(old) = load(repo)? else { return Ok(()) };
    let mut snapshot = old.clone();
    for (key, value) in after.vars().filter(|(key, value)| before.value(key) != Some(value)) {
        if old.value(key) == before.value(key) {
            snapshot.set(key, value);
        }
    }
    for (key, value) in before.vars().filter(|(key, _)| after.value(key).is_none()) {
        if old.value(key) == Some(value) {
            snapshot.unset(key);
        }
    }
    if snapshot == old { Ok(()) } else { save(repo, Some(&snapshot)) }
}
