//! `.sweatshop-env` of worktrees that were removed with variables of their own: a file for each, which stays until a
//! person deletes it.

use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;

use crate::env_file::{EnvFile, FILE};
use crate::layout;
use crate::worktree::OpenWorktree;

/// Keeps the file of a worktree. Its name comes from the text, so that the same is not kept twice. Returns its path.
pub fn keep(worktree: &OpenWorktree, file: &EnvFile) -> Result<PathBuf> {
    let head = format!("# {FILE} of {}\n", printable(&worktree.path.to_string_lossy()));
    let text = [head.into_bytes(), file.to_bytes()].concat();
    let dir = layout::removed_dir(&worktree.repo);
    let path = dir.join(format!("{}.env", &Digest::of(&text).to_string()[..12]));
    fs::create_private_dir(&dir)?;
    fs::replace(&path, &text, Some(fs::PRIVATE))?;
    Ok(path)
}
