//! The directory of a linked worktree, proven to be the one that the repository has recorded and kept open: whatever is
//! exchanged on the way to it meanwhile, a removal reaches this directory and no other.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::integrity::clean;
use crate::error::{Failure, Result};
use crate::fs::Root;
use crate::path::RelPath;

/// An open worktree whose `.git` is a plain file that names its record.
#[derive(Debug)]
pub struct WorktreeDir {
    parent: Root,
    name: RelPath,
    dir: Root,
}

impl WorktreeDir {
    /// Opens what lies at `worktree`; none if that is no worktree with this record. The record need not exist any more.
    /// Links above are followed, since the directory that they lead to is looked at.
    pub fn open(worktree: &Path, record: &Path) -> Result<Option<WorktreeDir>> {
        let (Some(parent), Some(name)) = (worktree.parent(), worktree.file_name()) else { return Ok(None) };
        let Ok(name) = RelPath::parse_os(name) else { return Ok(None) };
        if !parent.is_dir() {
            return Ok(None);
        }
        let parent = Root::open(parent)?;
        let Ok(Some(dir)) = parent.below(&name) else { return Ok(None) };
        let is_its = dir.read_dot_git().is_some_and(|text| names_record(&text, worktree, record));
        Ok(is_its.then_some(WorktreeDir { parent, name, dir }))
    }

    /// The same of a worktree that has to be there.
    pub fn require(worktree: &Path, record: &Path) -> Result<WorktreeDir> {
        WorktreeDir::open(worktree, record)?.ok_or_else(|| {
            let why = format!("{} does not lead to {}", worktree.join(".git").display(), record.display());
            super::integrity::tampered(why).hint("look at it; nothing there was touched")
        })
    }

    /// The directory itself.
    pub fn root(&self) -> &Root {
        &self.dir
    }

    /// The same, kept.
    pub fn into_root(self) -> Root {
        self.dir
    }

    /// Where it was opened, or renamed to.
    pub fn path(&self) -> PathBuf {
        self.parent.join(&self.name)
    }

    /// Fails if this path does not lead to the directory any more, so that what git said about the path is about
    /// something else.
    pub fn require_at(&self, path: &Path) -> Result<()> {
        match Root::open(path).is_ok_and(|there| there.is_same(&self.dir)) {
            true => Ok(()),
            false => Err(Failure::failed(format!("{} was exchanged meanwhile", path.display()))
                .hint("look at it, and run the command again")),
        }
    }

    /// Gives it another name in the directory that it lies in; `false` if that is taken.
    pub fn rename(&mut self, name: &OsStr) -> Result<bool> {
        let name = RelPath::parse_os(name).map_err(|e| Failure::failed(e.0))?;
        if !self.parent.rename_new(&self.name, &name)? {
            return Ok(false);
        }
        if !self.parent.below(&name).is_ok_and(|found| found.is_some_and(|found| found.is_same(&self.dir))) {
            // Something else had its name by then.
            self.parent.rename_new(&name, &self.name)?;
            return Ok(false);
        }
        self.name = name;
        Ok(true)
    }

    /// Removes it with everything in it.
    pub fn remove(self) -> Result<()> {
        self.dir.remove_contents()?;
        self.parent.remove_empty_dir(&self.name).map(drop)
    }
}

/// Whether the text of a `.git` file names this record. The record need not exist any more.
pub(super) fn names_record(text: &[u8], worktree: &Path, record: &Path) -> bool {
    let named =
        text.strip_prefix(b"gitdir: ").map(|named| clean(&worktree.join(OsStr::from_bytes(named.trim_ascii_end()))));
    let real = |dir: &Path| Some(dir.parent()?.canonicalize().ok()?.join(dir.file_name()?));
    named.is_some_and(|named| real(&named).is_some() && real(&named) == real(record))
}
