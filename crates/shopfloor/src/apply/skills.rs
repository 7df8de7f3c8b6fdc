//! Writes skills, and takes them back.

use shopfloor_core::error::Result;
use shopfloor_core::fs::{Content, Root, Staging};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::facts::repository::Repository;

/// Creates a file. `false`: somebody else has created it.
pub fn create(repository: &Repository, top: &Root, file: &RelPath, text: &str) -> Result<bool> {
    let staging = Staging::open(&repository.repo.common_dir.join("shopfloor"), top)?;
    staging.file(top, file, text.as_bytes(), None)?.place(top, file)
}

/// Removes a file, and the directories that are then empty. `false`: it has another text by now.
pub fn remove(repository: &Repository, top: &Root, file: &RelPath, text: &str) -> Result<bool> {
    let staging = Staging::open(&repository.repo.common_dir.join("shopfloor"), top)?;
    let is_removed = staging.remove(top, file, &Content::File(Digest::of(text.as_bytes())))?;
    let mut dir = file.parent().filter(|_| is_removed);
    while let Some(empty) = dir.filter(|dir| top.remove_empty_dir(dir).unwrap_or(false)) {
        dir = empty.parent();
    }
    Ok(is_removed)
}
