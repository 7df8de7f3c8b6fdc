//! The snapshot of `.sweatshop-env` that a review compares with. It lies in the worktree's private git directory,
//! so `git status` never shows it, and it goes with the worktree.

use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::written_files;

use crate::env_file::EnvFile;
use crate::layout;
use crate::worktree::OpenWorktree;

/// Loads the snapshot, if one was taken and its review has not ended.
pub fn load(worktree: &OpenWorktree) -> Result<Option<EnvFile>> {
    Ok(fs::read_no_follow(&layout::snapshot(&worktree.repo))?.map(|bytes| EnvFile::parse(&bytes)))
}

/// Loads the snapshot if the user's own list has it. Another one may be an agent's.
pub fn load_listed(worktree: &OpenWorktree) -> Result<Option<EnvFile>> {
    let path = layout::snapshot(&worktree.repo);
    let bytes = fs::read_no_follow(&path)?.filter(|bytes| written_files::is_listed(&worktree.env, &path, bytes));
    Ok(bytes.map(|bytes| EnvFile::parse(&bytes)))
}

/// Saves the snapshot, or deletes it for `None`. The caller holds the worktree's lock.
pub fn save(worktree: &OpenWorktree, file: Option<&EnvFile>) -> Result<()> {
    let path = layout::snapshot(&worktree.repo);
    let Some(file) = file else { return fs::remove(&path) };
    fs::create_private_dir(&layout::worktree_dir(&worktree.repo))?;
    written_files::write(&worktree.env, &path, &file.to_bytes())
}

/// Applies apply's own changes to the snapshot too, so that a review does not show them. A variable that a person
/// changed before keeps its snapshot value.
pub fn follow(worktree: &OpenWorktree, before: &EnvFile, after: &EnvFile) -> Result<()> {
    let Some(old) = load_listed(worktree)? else { return Ok(()) };
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
    if snapshot == old { Ok(()) } else { save(worktree, Some(&snapshot)) }
}
