//! A repository as one of its worktrees sees it, and the worktrees themselves: plain values that `facts::repository`
//! reads.

use std::path::PathBuf;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::{Git, Home, Repo};

use crate::failure::SpawnFailure;
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
    /// Whether the worktree is no longer at its path.
    pub is_lost: bool,
}

impl Worktree {
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
        self.here.as_ref().ok_or_else(|| {
            let message = format!("{} has no work tree", self.common_dir.display());
            SpawnFailure::NoWorktree
                .with(Exit::Bad, message)
                .hint("run the command inside a work tree; `git worktree list` shows them")
        })
    }

    /// The same repository as another of its worktrees sees it.
    pub fn seen_from(&self, worktree: &Worktree) -> Place {
        Place { here: Some(worktree.clone()), ..self.clone() }
    }
}
