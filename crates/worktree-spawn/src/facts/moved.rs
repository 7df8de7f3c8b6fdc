//! Worktrees that are no longer where git's records say, and where they are now.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shopfloor_core::error::Result;
use shopfloor_core::fs::Root;
use shopfloor_core::git::{clean, common_of, leads_back, private_dir, recorded_path};
use shopfloor_core::known_dirs::DirList;
use shopfloor_core::path::RelPath;

use super::{agents, repository};
use crate::repository_view::{Place, Worktree, is_same};

/// A worktree and its new path.
#[derive(Debug)]
pub struct MovedWorktree {
    pub worktree: Worktree,
    pub path: PathBuf,
    /// The directory there.
    pub dir: Root,
    /// What its `.git` says now; none if there is none.
    pub says: Option<Vec<u8>>,
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
        let was = || Root::open(&worktree.path).ok().and_then(|dir| claimed(place, &worktree, dir, false));
        let elsewhere = || candidates(&worktree, &tops, base).chain(copied(place, &worktree));
        let found_there = || elsewhere().find_map(|dir| claimed(place, &worktree, dir, true));
        if let Some(moved) = was().or_else(|| without_dot_git(place, &worktree)).or_else(found_there) {
            tops.push(moved.path.clone());
            found.push(moved);
        }
    }
    Ok(found)
}

/// The worktrees at their places that the user's list has as those of a repository that is gone, as this one seems to be
/// after it was moved. One that is there keeps its worktrees, wherever an agent leads them.
pub fn listed_as_gone(place: &Place) -> Result<Vec<PathBuf>> {
    let Some(list) = DirList::worktrees(&place.env) else { return Ok(Vec::new()) };
    let listed = list.load()?;
    let is_gone = |dir: &Path| dir.symlink_metadata().is_err_and(|e| e.kind() == ErrorKind::NotFound);
    let is_stale = |worktree: &Worktree| {
        let common = worktree.path.canonicalize().ok().and_then(|path| listed.get(&path));
        common.is_some_and(|common| is_gone(common)) && leads_back(&worktree.path, &worktree.git_dir)
    };
    let linked = repository::worktrees(place)?.into_iter().filter(|worktree| !worktree.is_main);
    Ok(linked.filter(is_stale).map(|worktree| worktree.path).collect())
}

/// The directories, below one of `tops` and not behind a link, at an end of the path that the worktree had.
fn candidates(worktree: &Worktree, tops: &[PathBuf], base: &Path) -> impl Iterator<Item = Root> {
    let parts: Vec<_> = worktree.path.components().collect();
    let ends = (1..parts.len()).map(|n| parts[parts.len() - n..].iter().collect::<PathBuf>());
    let name = worktree.path.file_name().unwrap_or_default().to_owned();
    let ends: Vec<PathBuf> = ends.chain([base.join(name)]).collect();
    let open =
        |top: &PathBuf, end: &Path| Root::open(top).ok()?.below(&RelPath::parse_os(end.as_os_str()).ok()?).ok()?;
    ends.into_iter().flat_map(move |end| tops.iter().filter_map(move |top| open(top, &end)).collect::<Vec<_>>())
}

/// The copy of the worktree of another repository that is at the recorded place: of a worktree beside its main checkout, which
/// was copied with that. It is as far from this repository as the original from its own.
fn copied(place: &Place, worktree: &Worktree) -> Option<Root> {
    let original = private_dir(&worktree.path)?;
    let common_dir = common_of(&original)?;
    let shared = common_dir.ancestors().find(|dir| worktree.path.starts_with(dir))?;
    let top = place.common_dir.ancestors().nth(common_dir.strip_prefix(shared).ok()?.components().count())?;
    let way = RelPath::parse_os(worktree.path.strip_prefix(shared).ok()?.as_os_str()).ok()?;
    let dir = Root::open(top).ok()?.below(&way).ok()??;
    (private_dir(dir.path())? == original).then_some(dir)
}

/// The directory as the new place of this worktree, if its `.git` file names a record of this name that is this one or
/// gone. The record's path may have been written by an agent, and lead to a person's other worktree: where the record that
/// is named is gone, this repository was moved, or another one is away, so our record of the agent has to be about the
/// directory.
///
/// Below a checkout of this repository, or where [`copied`] finds one (`is_within`), it may be the copy of a worktree that
/// another repository still has at its place: then this repository is a copy, too.
fn claimed(place: &Place, worktree: &Worktree, dir: Root, is_within: bool) -> Option<MovedWorktree> {
    let path = dir.path().to_path_buf();
    let says = dir.read_dot_git()?;
    let named = clean(&path.join(OsStr::from_bytes(says.strip_prefix(b"gitdir: ")?.trim_ascii_end())));
    if named.file_name() != worktree.git_dir.file_name() || !named.parent()?.ends_with("worktrees") {
        return None;
    }
    let is_gone = named.symlink_metadata().is_err_and(|e| e.kind() == ErrorKind::NotFound);
    let is_copy = || {
        let original = recorded_path(&named).ok().flatten();
        is_within && original.is_some_and(|original| original.join(".git").exists() && !is_same(&original, &path))
    };
    let is_its = is_same(&named, &worktree.git_dir) || is_gone && (is_within || is_ours(place, worktree)) || is_copy();
    is_its.then(|| MovedWorktree { worktree: worktree.clone(), path, dir, says: Some(says) })
}

/// The directory of a worktree that has lost its `.git`, if our record of its agent is about this directory: git's record
/// may have been written by an agent, and name any.
fn without_dot_git(place: &Place, worktree: &Worktree) -> Option<MovedWorktree> {
    let path = worktree.path.clone();
    let is_missing = path.join(".git").symlink_metadata().is_err_and(|e| e.kind() == ErrorKind::NotFound);
    let is_its = || worktree.is_cut_off() && is_ours(place, worktree);
    let dir = Root::open(&path).ok().filter(|_| is_missing && is_its())?;
    Some(MovedWorktree { worktree: worktree.clone(), path, dir, says: None })
}

/// Whether our record of a worktree's agent is about the directory at its path.
fn is_ours(place: &Place, worktree: &Worktree) -> bool {
    agents::in_tree(place, worktree).first().is_some_and(|known| known.is_managed)
}
