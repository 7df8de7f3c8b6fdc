//! Worktrees that are no longer where git's records say, and where they are now.

use std::path::{Path, PathBuf};

use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::private_dir;

use super::repository;
use crate::place::{Place, Worktree};

/// A worktree and its new path.
#[derive(Clone, Debug)]
pub struct MovedWorktree {
    pub worktree: Worktree,
    pub path: PathBuf,
}

/// Finds the worktrees that are elsewhere than git's records say, or whose `.git` files lead elsewhere.
pub fn moved(place: &Place, base: &Path) -> Result<Vec<MovedWorktree>> {
    let mut trees = repository::worktrees(place)?;
    trees.sort_by_key(|worktree| worktree.path.components().count());
    let mut found: Vec<MovedWorktree> = Vec::new();
    let mut tops = vec![place.main_checkout.clone()];
    for worktree in trees.into_iter().filter(|worktree| !worktree.is_main) {
        let is_whole = private_dir(&worktree.path).is_some_and(|dir| is_same(&dir, &worktree.git_dir));
        if is_whole {
            tops.push(worktree.path.clone());
            continue;
        }
        let mut candidates = candidates(&worktree, &tops, base).into_iter();
        if let Some(path) = candidates.find(|path| names(path, &worktree) && !belongs_to_another(path, &worktree)) {
            tops.push(path.clone());
            found.push(MovedWorktree { worktree, path });
        }
    }
    Ok(found)
}

/// Whether the worktree at `path` belongs to another record that knows of it. Then this repository is a copy, and the
/// worktree is the original's.
pub fn belongs_to_another(path: &Path, worktree: &Worktree) -> bool {
    let Some(dir) = private_dir(path).filter(|dir| !is_same(dir, &worktree.git_dir)) else { return false };
    let gitdir = fs::read(&dir.join("gitdir")).unwrap_or_default().unwrap_or_default();
    is_same(Path::new(String::from_utf8_lossy(&gitdir).trim()), &path.join(".git"))
}

/// Where a worktree may be: where it was, or below one of `tops` at an end of the path it had.
fn candidates(worktree: &Worktree, tops: &[PathBuf], base: &Path) -> Vec<PathBuf> {
    let parts: Vec<_> = worktree.path.components().collect();
    let ends = (1..parts.len()).map(|n| parts[parts.len() - n..].iter().collect::<PathBuf>());
    let name = worktree.path.file_name().unwrap_or_default().to_owned();
    let below = ends.chain([base.join(name)]).flat_map(|end| tops.iter().map(move |top| top.join(&end)));
    std::iter::once(worktree.path.clone()).chain(below).collect()
}

/// Whether the `.git` file at `path` names this worktree's record. Only the record's name counts, because the directory
/// above it may have changed.
fn names(path: &Path, worktree: &Worktree) -> bool {
    let Ok(Some(text)) = fs::read(&path.join(".git")) else { return false };
    let text = String::from_utf8_lossy(&text).into_owned();
    let Some(named) = text.strip_prefix("gitdir: ").map(|named| Path::new(named.trim_end())) else { return false };
    named.file_name() == worktree.git_dir.file_name() && named.parent().is_some_and(|p| p.ends_with("worktrees"))
}

fn is_same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}
