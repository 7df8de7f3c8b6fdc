//! The worktree that a command reads and writes.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::fs::Root;
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::lock::Lock;
use shopfloor_core::sandbox::Sandbox;

use crate::layout;

/// A worktree with its repository, opened so that no link in it is followed.
pub struct OpenWorktree {
    pub env: Env,
    pub git: Git,
    pub repo: Repo,
    pub path: PathBuf,
    pub root: Root,
    /// Its repository's default branch, once git was asked for it.
    pub default_branch: Arc<OnceLock<String>>,
}

impl OpenWorktree {
    /// Opens the worktree of the current directory; exit 2 when there is none.
    pub fn find(env: &Env) -> Result<OpenWorktree> {
        let (git, repo) = Git::here(env)?;
        OpenWorktree::open(env, git, repo)
    }

    /// The same for what concerns the whole repository. A bare one, whose last worktree may be gone, stands for itself.
    pub fn find_or_bare(env: &Env) -> Result<OpenWorktree> {
        let (git, repo) = Git::here(env)?;
        if !repo.is_bare() {
            return OpenWorktree::open(env, git, repo);
        }
        let path = repo.common_dir.clone();
        let root = Root::open(&path)?;
        Ok(OpenWorktree { env: env.clone(), git, repo, path, root, default_branch: Arc::default() })
    }

    pub fn open(env: &Env, git: Git, repo: Repo) -> Result<OpenWorktree> {
        let path = repo.require_worktree()?.to_path_buf();
        let root = Root::open(&path)?;
        Ok(OpenWorktree { env: env.clone(), git, repo, path, root, default_branch: Arc::default() })
    }

    /// Whether an agent has worked here in a sandbox: then what it wrote runs nowhere else.
    pub fn is_contained(&self) -> Result<bool> {
        Sandbox::was_entered(&self.env, &self.repo.common_dir, &self.repo.git_dir)
    }

    /// Takes the lock that every command holds while it writes to this worktree.
    pub fn lock(&self) -> Result<Lock> {
        Lock::take(&layout::worktree_lock(&self.repo))
    }
}
