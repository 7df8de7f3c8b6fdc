//! What git says of the clone, its worktrees and the source.

pub mod processes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
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

/// The worktrees of a clone, by their place.
pub type Trees = BTreeMap<PathBuf, Tree>;

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

    /// The default branch's commit, fetched where the source has moved on: a source that rests costs one look.
    pub fn fetched(&self, source: &Path) -> Result<String> {
        let there = self.commit(source, &format!("refs/heads/{}", self.branch))?;
        let here = self.commit(&self.root, &self.base())?;
        match there.is_some() && there == here {
            true => Ok(here.unwrap_or_default()),
            false => self.fetch().and_then(|()| self.require_base()),
        }
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
    pub fn trees(&self) -> Result<Trees> {
        let listed = self.run(&self.root, &["worktree", "list", "--porcelain", "-z"])?;
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let mut trees: Trees = BTreeMap::new();
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

/// A file with conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    pub path: String,
    /// From the index alone: `content`, `add/add`, `modify/delete` or `rename/rename`.
    pub kind: &'static str,
    /// How often the two sides meet in it.
    pub markers: usize,
    /// Where they meet, with lines around, as they stand in the file.
    pub regions: String,
}

/// How many lines around a conflict are shown, and how many in all.
const AROUND: usize = 3;
const MOST_SHOWN: usize = 80;

/// Files with conflicts, in the order of their names.
pub fn conflicts(clone: &Clone, worktree: &Path) -> Result<Vec<Conflict>> {
    let listed = clone.run(worktree, &["ls-files", "-u", "-z"])?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut stages: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for entry in text.split('\0') {
        let Some((about, path)) = entry.split_once('\t') else { continue };
        let stage = about.as_bytes().last().map_or(0, |b| b.saturating_sub(b'0'));
        stages.entry(path.to_owned()).or_default().push(stage);
    }
    let kind = |stages: &[u8]| match stages {
        [1, 2, 3] => "content",
        [2, 3] => "add/add",
        [1, 2] | [1, 3] => "modify/delete",
        _ => "rename/rename",
    };
    let conflict = |(path, stages): (String, Vec<u8>)| {
        let bytes = fs::read_own(&worktree.join(&path)).ok().flatten().unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let markers = text.lines().filter(|line| line.starts_with("<<<<<<< ")).count();
        Conflict { kind: kind(&stages), markers, regions: regions(&text), path }
    };
    Ok(stages.into_iter().map(conflict).collect())
}

fn regions(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = vec![false; lines.len()];
    let mut from = None;
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with("<<<<<<< ") {
            from = Some(at);
        } else if line.starts_with(">>>>>>> ")
            && let Some(start) = from.take()
        {
            let end = (at + AROUND + 1).min(lines.len());
            shown[start.saturating_sub(AROUND)..end].fill(true);
        }
    }
    let mut out = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(at, _)| shown[*at]) {
        if at > 0 && !shown[at - 1] && !out.is_empty() {
            out.push("...".to_owned());
        }
        out.push(format!("{:>5}  {line}", at + 1));
    }
    if out.len() > MOST_SHOWN {
        out.truncate(MOST_SHOWN);
        out.push("... and more".to_owned());
    }
    out.join("\n")
}

/// Which of these files still have conflict markers in a commit.
pub fn left_markers(clone: &Clone, sha: &str, files: &[String]) -> Result<Vec<String>> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let mut args = vec!["--literal-pathspecs", "grep", "-l", "-z", "-E", "^(<<<<<<<|>>>>>>>) ", sha, "--"];
    args.extend(files.iter().map(String::as_str));
    let found = clone.run(&clone.root, &args)?;
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    let prefix = format!("{sha}:");
    Ok(text.split('\0').filter_map(|name| name.strip_prefix(&prefix)).map(str::to_owned).collect())
}

/// A commit that may be new: its branch is checked out, no rebase is under way, it is ahead of the default branch, and not
/// where the worker stood. Whether its work is new the caller asks.
pub fn new_commit(clone: &Clone, worker: &Worker, tree: &Tree) -> Result<Option<String>> {
    let sha = &tree.head;
    let is_at = |known: &Option<String>| known.as_ref() == Some(sha);
    if tree.branch.as_ref() != Some(&worker.branch) || is_at(&worker.baseline_sha) || is_at(&worker.commit_sha) {
        return Ok(None);
    }
    if is_rebasing(Path::new(&worker.worktree_path)) || clone.ahead(sha)? == 0 {
        return Ok(None);
    }
    Ok(Some(sha.clone()))
}

pub fn git_failed(command: &str, output: &Output) -> Failure {
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Failure::new(Exit::Failed, "git", format!("git {command} failed with {}", output.status))
        .because(std::io::Error::other(said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_two_sides_meet_is_shown_with_what_is_around() {
        let text = "1\n2\n3\n4\n<<<<<<< HEAD\nbase\n=======\nmine\n>>>>>>> x\n10\n11\n12\n13\n14\n15\n16\n17\n\
                    <<<<<<< HEAD\n=======\n>>>>>>> x\n";
        let shown = regions(text);
        let lines: Vec<&str> = shown.lines().map(str::trim_start).collect();
        assert_eq!(lines.first(), Some(&"2  2"));
        assert!(lines.contains(&"12  12") && lines.contains(&"..."), "{shown}");
        assert!(!lines.contains(&"13  13"));
        assert_eq!(regions("nothing\n"), "");
    }
}
