//! What git says of the clone, its worktrees and the source.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::{Git, private_dir};
use shopfloor_core::hash::Digest;
use shopfloor_core::proc::Output;

use crate::root::Root;
use crate::worker::Worker;

/// git in the root's clone.
#[derive(Clone, Debug)]
pub struct Clone {
    pub git: Git,
    pub root: PathBuf,
    /// The default branch, without `refs/`.
    pub branch: String,
}

/// A worker's worktree, as git lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub head: String,
    pub branch: Option<String>,
}

impl Clone {
    pub fn new(git: &Git, root: &Root) -> Clone {
        Clone { git: git.clone(), root: root.path.clone(), branch: root.config.repo.branch.clone() }
    }

    /// The default branch as it was fetched last.
    pub fn base(&self) -> String {
        format!("refs/remotes/origin/{}", self.branch)
    }

    pub fn run(&self, dir: &Path, args: &[&str]) -> Result<Output> {
        self.git.cmd(dir).args(args.iter().copied()).capture()
    }

    /// What a command that must succeed prints.
    pub fn ask(&self, dir: &Path, args: &[&str]) -> Result<String> {
        let output = self.run(dir, args)?;
        if !output.status.success() {
            return Err(git_failed(args[0], &output));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
    }

    /// Brings the source's branches here.
    pub fn fetch(&self) -> Result<()> {
        self.ask(&self.root, &["fetch", "--quiet", "--no-tags", "origin"]).map(drop)
    }

    /// The commit a name stands for; none where it stands for nothing.
    pub fn commit(&self, dir: &Path, name: &str) -> Result<Option<String>> {
        let asked = self.run(dir, &["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])?;
        let sha = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        Ok((asked.status.success() && !sha.is_empty()).then_some(sha))
    }

    pub fn require_base(&self) -> Result<String> {
        self.commit(&self.root, &self.base())?.ok_or_else(|| {
            Failure::failed(format!("the source has no branch {}", self.branch))
                .hint("set `branch` in `[repo]` of config.toml to the branch that work goes to")
        })
    }

    /// All worktrees, in one process.
    pub fn trees(&self) -> Result<BTreeMap<PathBuf, Tree>> {
        let listed = self.run(&self.root, &["worktree", "list", "--porcelain", "-z"])?;
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let mut trees: BTreeMap<PathBuf, Tree> = BTreeMap::new();
        let mut at = PathBuf::new();
        for field in text.split('\0') {
            if let Some(path) = field.strip_prefix("worktree ") {
                at = PathBuf::from(path);
                trees.insert(at.clone(), Tree { head: String::new(), branch: None });
            } else if let Some(tree) = trees.get_mut(&at) {
                if let Some(head) = field.strip_prefix("HEAD ") {
                    tree.head = head.to_owned();
                } else if let Some(branch) = field.strip_prefix("branch refs/heads/") {
                    tree.branch = Some(branch.to_owned());
                }
            }
        }
        Ok(trees)
    }

    /// How many commits `sha` has that the default branch has not.
    pub fn ahead(&self, sha: &str) -> Result<usize> {
        let count = self.ask(&self.root, &["rev-list", "--count", sha, &format!("^{}", self.base())])?;
        Ok(count.parse().unwrap_or(0))
    }

    /// What the work on `sha` is, wherever it sits: its patch and its message.
    pub fn work_of(&self, sha: &str) -> Result<String> {
        let base = self.base();
        let merge_base = self.ask(&self.root, &["merge-base", sha, &base]).unwrap_or_else(|_| base.clone());
        let diff = self.run(&self.root, &["diff", "--no-ext-diff", "--full-index", &merge_base, sha])?;
        let id = self.git.cmd(&self.root).args(["patch-id", "--stable"]).input(diff.stdout).capture()?;
        let id = String::from_utf8_lossy(&id.stdout).split(' ').next().unwrap_or_default().to_owned();
        let message = self.ask(&self.root, &["log", "-1", "--format=%B", sha])?;
        Ok(Digest::of(format!("{id}\n{message}").as_bytes()).to_string())
    }

    /// Uncommitted changes, untracked files too.
    pub fn dirty(&self, worktree: &Path) -> Result<Vec<String>> {
        let status = self.run(worktree, &["status", "--porcelain", "-z", "--untracked-files=all"])?;
        if !status.status.success() {
            return Err(git_failed("status", &status));
        }
        let text = String::from_utf8_lossy(&status.stdout).into_owned();
        Ok(text.split('\0').filter(|line| line.len() > 3).map(|line| line[3..].to_owned()).collect())
    }
}

/// Whether a rebase is under way in a worktree.
pub fn is_rebasing(worktree: &Path) -> bool {
    let Some(dir) = private_dir(worktree) else { return false };
    ["rebase-merge", "rebase-apply"].iter().any(|name| dir.join(name).exists())
}

/// Files with conflicts, each with its kind, from the index alone.
pub fn conflicts(clone: &Clone, worktree: &Path) -> Result<Vec<(String, &'static str)>> {
    let listed = clone.run(worktree, &["ls-files", "-u", "-z"])?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut stages: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for entry in text.split('\0') {
        let Some((about, path)) = entry.split_once('\t') else { continue };
        let stage = about.as_bytes().last().map_or(0, |b| b - b'0');
        stages.entry(path.to_owned()).or_default().push(stage);
    }
    let kind = |stages: &[u8]| match stages {
        [1, 2, 3] => "content",
        [2, 3] => "add/add",
        [1, 2] | [1, 3] => "modify/delete",
        _ => "rename/rename",
    };
    Ok(stages.into_iter().map(|(path, stages)| (path, kind(&stages))).collect())
}

/// A commit that is new: its branch is checked out, no rebase is under way, it is ahead of the default branch, and its
/// work is not what the worker stood at when it was told what to do.
pub fn new_commit(clone: &Clone, worker: &Worker, tree: &Tree) -> Result<Option<String>> {
    let sha = &tree.head;
    let is_at = |known: &Option<String>| known.as_ref() == Some(sha);
    if tree.branch.as_ref() != Some(&worker.branch) || is_at(&worker.baseline_sha) || is_at(&worker.commit_sha) {
        return Ok(None);
    }
    if is_rebasing(Path::new(&worker.worktree_path)) || clone.ahead(sha)? == 0 {
        return Ok(None);
    }
    let is_same = worker.baseline_patch.is_some() && worker.baseline_patch.as_ref() == Some(&clone.work_of(sha)?);
    Ok((!is_same).then(|| sha.clone()))
}

pub fn git_failed(command: &str, output: &Output) -> Failure {
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Failure::new(Exit::Failed, "git", format!("git {command} failed with {}", output.status))
        .because(std::io::Error::other(said))
}
