//! A repository as one of its worktrees sees it, and the worktrees themselves: plain values that `facts::repository`
//! reads.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Root};
use shopfloor_core::git::{Git, Home, Repo, no_worktree};
use shopfloor_core::path::RelPath;

use crate::layout;

/// A worktree of the repository, as git has registered it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    /// Its top directory.
    pub path: PathBuf,
    /// Its private git directory.
    pub git_dir: PathBuf,
    /// The branch checked out now; none when HEAD is detached.
    pub branch: Option<String>,
    /// Whether this is the main checkout, which `git worktree add` did not make.
    pub is_main: bool,
    /// Whether the worktree is no longer at its path. One in a closed directory is.
    pub is_lost: bool,
}

impl Worktree {
    /// Whether its directory is there with files, and without a `.git`.
    pub fn is_cut_off(&self) -> bool {
        !self.path.join(".git").exists() && fs::list(&self.path).is_ok_and(|names| !names.is_empty())
    }

    /// A git that works on what the repository has recorded of this worktree, because an agent may have rewritten the
    /// worktree's `.git` file and configuration (exit 4, kind `tampered`).
    pub fn git(&self, git: &Git, place: &Place) -> Result<Git> {
        match self.is_main {
            true => git.guarded_main(&place.common_dir, &self.path),
            false => git.guarded(&place.common_dir, &self.path),
        }
    }
}

/// The repository a command works in, and the worktree it was started in.
#[derive(Clone, Debug)]
pub struct Place {
    pub env: Env,
    pub common_dir: PathBuf,
    /// The current worktree; none in a bare repository.
    pub here: Option<Worktree>,
    pub main_checkout: PathBuf,
    pub home: Home,
    /// Whether refs are stored in another format than git's classic one, so that the file HEAD means nothing.
    pub has_ref_storage: bool,
}

impl Place {
    /// Something of git's or our own below the common directory, for core's [`Root`], which follows no link there.
    fn below(&self, path: &Path) -> Result<RelPath> {
        let below = path.strip_prefix(&self.common_dir).unwrap_or(path);
        RelPath::parse_os(below.as_os_str()).map_err(|e| Failure::failed(format!("{}: {e}", path.display())))
    }

    /// Removes it.
    pub fn remove_state(&self, path: &Path) -> Result<()> {
        Root::open(&self.common_dir)?.remove_tree(&self.below(path)?)
    }

    /// Gives it another name that is free; `false`, and nothing done, if that is taken or nothing is there.
    pub fn move_state(&self, from: &Path, to: &Path) -> Result<bool> {
        Root::open(&self.common_dir)?.rename_new(&self.below(from)?, &self.below(to)?)
    }

    /// Writes a worktree's path into git's record of it.
    pub fn record_path(&self, record: &Path, path: &Path) -> Result<()> {
        let record = self.common_dir.join("worktrees").join(record.file_name().unwrap_or_default());
        let text = [path.join(".git").as_os_str().as_bytes(), b"\n"].concat();
        Root::open(&self.common_dir)?.replace(&self.below(&record.join("gitdir"))?, &text)
    }

    /// The state that all worktrees share.
    pub fn shared(&self) -> PathBuf {
        layout::state_dir(&self.common_dir)
    }

    /// The same repository as core's type, for core's functions.
    pub fn repo(&self) -> Repo {
        let here = self.here.as_ref();
        Repo {
            worktree: here.map(|worktree| worktree.path.clone()),
            git_dir: here.map_or(&self.common_dir, |worktree| &worktree.git_dir).clone(),
            common_dir: self.common_dir.clone(),
            hooks_dir: self.common_dir.join("hooks"),
            main_checkout: self.main_checkout.clone(),
            branch: here.and_then(|worktree| worktree.branch.clone()),
            home: self.home.clone(),
        }
    }

    /// The current worktree; exit 2 in a bare repository.
    pub fn require_here(&self) -> Result<&Worktree> {
        self.here.as_ref().ok_or_else(|| no_worktree(&self.common_dir, &self.common_dir))
    }

    /// The same repository as another of its worktrees sees it.
    pub fn seen_from(&self, worktree: &Worktree) -> Place {
        Place { here: Some(worktree.clone()), ..self.clone() }
    }
}

/// Whether two paths lead to one directory.
pub fn is_same(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}
