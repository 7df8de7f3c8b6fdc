//! The user's own lists of directories and the repositories that they belong to. An agent can make what looks like any
//! of them, but cannot write these lists.
//!
//! `roots` names the roots of worker-ctl: the configuration of a root runs commands, and its clone shares files with
//! its source, so only listed ones are used. `worktrees` names the linked worktrees that a tool of ours has worked in:
//! from then on a worktree that leads to another repository is refused.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::error::{Failure, Result};
use crate::fs;
use crate::lock::Lock;
use crate::path::real;

/// A list, `DIR<TAB>COMMON` a line, both without links.
#[derive(Clone, Debug)]
pub struct DirList(PathBuf);

impl DirList {
    /// The list of roots; none where there is no place for state.
    pub fn roots(env: &Env) -> Option<DirList> {
        Some(DirList(env.state_home()?.join("roots")))
    }

    /// The list of linked worktrees; none where there is no place for state.
    pub fn worktrees(env: &Env) -> Option<DirList> {
        Some(DirList(env.state_home()?.join("worktrees")))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Reads it: each directory, with the common directory of its repository.
    pub fn load(&self) -> Result<BTreeMap<PathBuf, PathBuf>> {
        let bytes = fs::read_no_follow(&self.0)?.unwrap_or_default();
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let parse = |line: &[u8]| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            Some((path(&line[..tab]), path(&line[tab + 1..])))
        };
        Ok(bytes.split(|byte| *byte == b'\n').filter_map(parse).collect())
    }

    /// Replaces the list by what `change` makes of it, under a lock.
    pub fn update(&self, change: impl FnOnce(&mut BTreeMap<PathBuf, PathBuf>)) -> Result<()> {
        let _lock = Lock::take(&self.0.with_extension("lock"))?;
        let mut all = self.load()?;
        change(&mut all);
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let lines =
            all.iter().flat_map(|(dir, common)| [bytes(dir), b"\t".into(), bytes(common), b"\n".into()].concat());
        fs::replace(&self.0, &lines.collect::<Vec<u8>>(), Some(fs::PRIVATE))
    }
}

/// The listed roots, each with the common directory of the repository that it was made for.
pub fn roots(env: &Env) -> Result<BTreeMap<PathBuf, PathBuf>> {
    DirList::roots(env).map_or(Ok(BTreeMap::new()), |list| list.load())
}

/// Whether a worktree is one in which worker-ctl checks work, below one of these roots. It is nobody's.
pub fn is_for_checks(roots: &BTreeMap<PathBuf, PathBuf>, worktree: &Path) -> bool {
    let name = worktree.file_name().unwrap_or_default().as_bytes();
    let root = worktree.parent().filter(|all| all.ends_with(".worktrees")).and_then(Path::parent);
    name.starts_with(b".check") && root.is_some_and(|root| roots.contains_key(&real(root)))
}

/// Exit 2 for a path that no line can hold.
pub fn require_listable(path: &Path) -> Result<()> {
    match path.as_os_str().as_bytes().iter().any(|byte| b"\t\n".contains(byte)) {
        true => Err(Failure::usage(format!("{} has a tab or a line end in its path", path.display()))
            .hint("choose a path without them")),
        false => Ok(()),
    }
}

/// Lists a linked worktree as one of this repository, and drops the lines of worktrees that are gone. Where the user's
/// state cannot be written, as in an agent's sandbox, nothing happens.
pub fn note_worktree(env: &Env, worktree: &Path, common_dir: &Path) -> Result<()> {
    let (Ok(worktree), Ok(common)) = (worktree.canonicalize(), common_dir.canonicalize()) else { return Ok(()) };
    let Some(list) = DirList::worktrees(env) else { return Ok(()) };
    if require_listable(&worktree).is_err() || list.load()?.get(&worktree) == Some(&common) {
        return Ok(());
    }
    let noted = list.update(|all| {
        all.retain(|dir, common| !is_gone(dir, common));
        all.insert(worktree, common);
    });
    unless_refused(noted)
}

/// Drops the lines of worktrees that are gone, so that another repository can have their places. The same where nothing
/// can be written.
pub fn forget_gone(env: &Env) -> Result<()> {
    let Some(list) = DirList::worktrees(env) else { return Ok(()) };
    if !list.load()?.iter().any(|(dir, common)| is_gone(dir, common)) {
        return Ok(());
    }
    unless_refused(list.update(|all| all.retain(|dir, common| !is_gone(dir, common))))
}

/// The common directory of the repository that has this worktree by the list; none if the worktree is gone.
pub fn owner_of(env: &Env, worktree: &Path) -> Result<Option<PathBuf>> {
    let Some(list) = DirList::worktrees(env) else { return Ok(None) };
    Ok(list.load()?.remove(worktree).filter(|common| !is_gone(worktree, common)))
}

fn unless_refused(written: Result<()>) -> Result<()> {
    written.or_else(|failure| if failure.is_write_refused() { Ok(()) } else { Err(failure) })
}

/// Whether nothing is at the path of a worktree, and its repository has no record of it either: one on a disk that is away,
/// which git still has on record or whose repository is away, too, may come back.
fn is_gone(worktree: &Path, common_dir: &Path) -> bool {
    !fs::is_there(worktree).unwrap_or(true) && !may_come_back(worktree, common_dir)
}

/// Whether the repository of a worktree has one of this name on record, or its disk seems to be away: of its path there is
/// only an empty directory, where a disk is mounted otherwise.
fn may_come_back(worktree: &Path, common_dir: &Path) -> bool {
    let records = common_dir.join("worktrees");
    let has_its_name = |record: &OsString| {
        let says = fs::read_no_follow(&records.join(record).join("gitdir")).ok().flatten().unwrap_or_default();
        let dot_git = Path::new(OsStr::from_bytes(says.trim_ascii_end()));
        dot_git.parent().is_some_and(|path| path.file_name() == worktree.file_name())
    };
    if !common_dir.join("HEAD").exists() {
        let there = common_dir.ancestors().find(|dir| fs::is_there(dir).unwrap_or(true));
        return there.is_none_or(|dir| fs::list(dir).map_or(true, |names| names.is_empty()));
    }
    fs::list(&records).map_or(true, |names| names.iter().any(has_its_name))
}
