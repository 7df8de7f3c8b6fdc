//! Paths below a directory.

use std::path::{Path, PathBuf};

/// The part of `path` below `dir`, even if links lead to either. `..` is resolved first.
pub fn below(dir: &Path, path: &Path) -> Option<PathBuf> {
    let plain = path.components().collect::<PathBuf>();
    let climbs = plain.components().any(|component| component == std::path::Component::ParentDir);
    if let Some(rel) = plain.strip_prefix(dir).ok().filter(|_| !climbs) {
        return Some(rel.to_path_buf());
    }
    let real = |path: &Path| {
        let there = path.ancestors().find(|p| p.exists())?;
        Some(there.canonicalize().ok()?.join(path.strip_prefix(there).ok()?))
    };
    Some(real(&plain)?.strip_prefix(real(dir)?).ok()?.to_path_buf())
}
