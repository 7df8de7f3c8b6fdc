//! Writes the repository's sweatfile, for `init` and for promotions.

use std::path::Path;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{Content, Found, Root, Staging};
use shopfloor_core::git::Repo;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::failure;
use crate::layer::FILE;
use crate::layout;

/// Replaces `dir/sweatfile`, keeping its mode, if it still has the bytes `before`, or still does not exist for `None`.
/// A link to a file inside `dir` is followed. The caller holds the worktree's lock.
pub fn write_sweatfile(repo: &Repo, dir: &Path, before: Option<&[u8]>, text: &str) -> Result<()> {
    let root = Root::open(dir)?;
    let real = dir.join(FILE).canonicalize().ok();
    let below = real.as_deref().and_then(|real| real.strip_prefix(dir.canonicalize().ok()?).ok());
    let file = RelPath::parse_os(below.unwrap_or(Path::new(FILE)).as_os_str()).map_err(|e| Failure::failed(e.0))?;
    let staging = Staging::open(&layout::staging(repo), &root)?;
    let done = match before {
        None => staging.file(&root, &file, text.as_bytes(), None)?.place(&root, &file)?,
        Some(before) => {
            let mode = match root.look(&file)? {
                Found::File(mode) => Some(mode),
                _ => None,
            };
            let expected = Content::File(Digest::of(before));
            staging.file(&root, &file, text.as_bytes(), mode)?.swap(&root, &file, &expected)?
        }
    };
    if done {
        return Ok(());
    }
    let path = root.join(&file);
    Err(match before {
        None => failure::EXISTS.failure(format!("{} exists already", path.display())),
        Some(_) => failure::CHANGED.failure(format!("{} changed while it was edited", path.display())),
    }
    .hint("run the same command again"))
}

/// Removes `dir/sweatfile` if it still has this text. The caller holds the worktree's lock.
pub fn remove_sweatfile(repo: &Repo, dir: &Path, text: &str) -> Result<bool> {
    let root = Root::open(dir)?;
    let file = RelPath::parse(FILE).map_err(|e| Failure::failed(e.0))?;
    let staging = Staging::open(&layout::staging(repo), &root)?;
    staging.remove(&root, &file, &Content::File(Digest::of(text.as_bytes())))
}
