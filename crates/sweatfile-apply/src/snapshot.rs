//! Copies of `.sweatshop-env`: the snapshot that a review compares with, and the files of removed worktrees that had
//! variables of their own. The snapshot lies in the worktree's private git directory, so `git status` never shows it,
//! and it goes with the worktree.

use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::written_files;

use crate::env_file::{EnvFile, FILE};
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

/// Keeps the file of a worktree that is about to be removed, until a person deletes it. Its name comes from the text, so
/// that the same is not kept twice. Returns its path.
pub fn keep(worktree: &OpenWorktree, file: &EnvFile) -> Result<PathBuf> {
    let head = format!("# {FILE} of {}\n", printable(&worktree.path.to_string_lossy()));
    let text = [head.into_bytes(), file.to_bytes()].concat();
    let dir = layout::removed_dir(&worktree.repo);
    let path = dir.join(format!("{}.env", &Digest::of(&text).to_string()[..12]));
    fs::create_private_dir(&dir)?;
    fs::replace(&path, &text, Some(fs::PRIVATE))?;
    Ok(path)
}
