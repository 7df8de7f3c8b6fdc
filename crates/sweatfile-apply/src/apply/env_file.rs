//! Writes or deletes `.sweatshop-env`.

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Staging};
use shopfloor_core::path::RelPath;

use crate::applied::Record;
use crate::env_file;
use crate::failure;
use crate::layout;
use crate::plan::EnvOperation;
use crate::worktree::OpenWorktree;

/// Executes `operation`. The caller holds the worktree's lock, and read the file while it held it.
pub fn write_env_file(worktree: &OpenWorktree, operation: &EnvOperation) -> Result<()> {
    let staging = open_staging(worktree, &Record::default())?;
    execute(worktree, &staging, operation)
}

/// Opens the staging directory, and sweeps away what a killed run staged beside its targets: the recorded files and
/// `.sweatshop-env`.
pub fn open_staging(worktree: &OpenWorktree, record: &Record) -> Result<Staging> {
    let staging = Staging::open(&layout::staging(&worktree.repo), &worktree.root)?;
    staging.sweep_beside(&worktree.root, record.files.keys().chain([&path()?]))?;
    Ok(staging)
}

fn path() -> Result<RelPath> {
    RelPath::parse(env_file::FILE).map_err(|e| Failure::failed(e.0))
}

pub fn execute(worktree: &OpenWorktree, staging: &Staging, operation: &EnvOperation) -> Result<()> {
    let path = path()?;
    let root = &worktree.root;
    let done = match operation {
        EnvOperation::Nothing => true,
        EnvOperation::Delete(expected) => staging.remove(root, &path, expected)?,
        EnvOperation::Write(bytes, None) => staging.file(root, &path, bytes, Some(fs::PRIVATE))?.place(root, &path)?,
        EnvOperation::Write(bytes, Some(expected)) => {
            staging.file(root, &path, bytes, Some(fs::PRIVATE))?.swap(root, &path, expected)?
        }
    };
    if done {
        return Ok(());
    }
    Err(failure::CHANGED
        .failure(format!("{} was edited meanwhile and left as it is", env_file::FILE))
        .hint("run the same command again"))
}
