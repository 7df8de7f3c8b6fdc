//! Writes a repository's sweatfile: for `init`, and for a promotion.

use std::path::Path;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{Content, Found, Root, Staging};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::layer::FILE;

/// Replaces `dir/sweatfile` if it still has the bytes `before` (none: if it still is not there),
/// keeping its mode. One that is a link inside `dir` is followed. `state` is this worktree's state, whose
/// lock the caller holds.
pub fn sweatfile(state: &Path, dir: &Path, before: Option<&[u8]>, text: &str) -> Result<()> {
    let root = Root::open(dir)?;
    let real = dir.join(FILE).canonicalize().ok();
    let below = real.as_deref().and_then(|real| real.strip_prefix(dir.canonicalize().ok()?).ok());
    let file = RelPath::parse_os(below.unwrap_or(Path::new(FILE)).as_os_str()).map_err(|e| Failure::failed(e.0))?;
    let staging = Staging::open(&state.join("tmp-sweatfile"), &root)?;
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
        None => Failure::new(Exit::No, "exists", format!("{} exists already", path.display())),
        Some(_) => Failure::new(Exit::Failed, "changed", format!("{} changed while it was edited", path.display())),
    }
    .hint("run the same command again"))
}
