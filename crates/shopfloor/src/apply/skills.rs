//! Writes skills.

use shopfloor_core::error::Result;
use shopfloor_core::fs::{Root, Staging};
use shopfloor_core::path::RelPath;

use crate::facts::repository::Repository;
use crate::tool::staging_dir;

/// Creates a file. `false`: somebody else has created it.
pub fn create(repository: &Repository, top: &Root, file: &RelPath, text: &str) -> Result<bool> {
    let staging = Staging::open(&staging_dir(&repository.repo.common_dir), top)?;
    staging.file(top, file, text.as_bytes(), None)?.place(top, file)
}
