//! The snapshot of `.sweatshop-env` that a review compares with. It lies in the worktree's private git directory,
//! so `git status` never shows it, and it goes with the worktree.

use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::Repo;

use crate::env_file::EnvFile;
use crate::state;

/// Loads the snapshot, if one was taken and its review has not ended.
pub fn load(repo: &Repo) -> Result<Option<EnvFile>> {
    Ok(fs::read_no_follow(&state::snapshot(repo))?.map(|bytes| EnvFile::parse(&bytes)))
}

/// Saves the snapshot, or deletes it for `None`. The caller holds the worktree's lock.
pub fn save(repo: &Repo, file: Option<&EnvFile>) -> Result<()> {
    let Some(file) = file else { return fs::remove(&state::snapshot(repo)) };
    fs::create_private_dir(&state::worktree_dir(repo))?;
    fs::replace(&state::snapshot(repo), &file.to_bytes(), Some(fs::PRIVATE))
}

/// Applies apply's own changes to the snapshot too, so that a review does not show them. A variable that a person
/// changed before keeps its snapshot value.
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
