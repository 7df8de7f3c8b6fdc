//! What would be lost with a worker's worktree and branch.

use std::path::{Path, PathBuf};

use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::recorded_dir;

use crate::clone::{LOGGED, MergeResult, SourceClone};
use crate::worker::{Task, Worker};

/// All of it: whoever removes something looks at it, keeps it, and looks again whether it still is all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Commits, each the end of a history that the default branch has not.
    pub tips: Vec<String>,
    /// Those of these histories, for a person.
    pub commits: Vec<String>,
    /// Files with changes, and files git does not know.
    pub files: Vec<String>,
    /// Repositories within the worktree, whose commits are nowhere else perhaps.
    pub nested: Vec<String>,
    /// Whether there are others, which git counts as submodules; these may have commits of their own too.
    pub has_modules: bool,
}

impl Losses {
    pub fn read(clone: &SourceClone, worker: &Worker) -> Result<Losses> {
        let tree = Path::new(&worker.worktree_path);
        let mut found = Losses::default();
        for tip in tips(clone, worker)? {
            if !found.tips.contains(&tip) && !is_in_base(clone, &tip)? {
                found.commits.extend(missing(clone, &tip)?);
                found.tips.push(tip);
            }
        }
        found.commits.dedup();
        if tree.is_dir() {
            let (nested, files) = clone.dirty(tree)?.into_iter().partition(|path| path.ends_with('/'));
            (found.nested, found.files) = (nested, files);
            found.has_modules = !clone.inner(tree)?.is_empty();
        }
        found.has_modules |= admin_dir(clone, tree)?.is_some_and(|dir| dir.join("modules").is_dir());
        Ok(found)
    }

    pub fn is_empty(&self) -> bool {
        self.tips.is_empty() && self.files.is_empty() && self.nested.is_empty()
    }

    /// Line by line, for a person.
    pub fn lines(&self) -> Vec<String> {
        let commits = self.commits.iter().map(|line| format!("  commit {line}"));
        commits.chain(self.nested.iter().chain(&self.files).map(|path| format!("  {path}"))).collect()
    }
}

/// Every commit that only this worker leads to, perhaps: its branch, where its worktree is, what it was at before
/// whatever is under way.
fn tips(clone: &SourceClone, worker: &Worker) -> Result<Vec<String>> {
    let tree = Path::new(&worker.worktree_path);
    let kept = ["pre", "review"].map(|kind| format!("refs/shopfloor/{kind}/{}", worker.name));
    let mut names = vec![format!("refs/heads/{}", worker.branch)];
    names.extend(kept);
    names.extend(worker.commit_sha.clone());
    if let Task::Rebasing { pre_sha, .. } = &worker.task {
        names.push(pre_sha.clone());
    }
    if let Some(dir) = admin_dir(clone, tree)? {
        let files = ["rebase-merge/orig-head", "rebase-apply/orig-head", "MERGE_HEAD", "CHERRY_PICK_HEAD", "HEAD"];
        for file in files {
            let text = fs::read(&dir.join(file))?.unwrap_or_default();
            let text = String::from_utf8_lossy(&text).trim().to_owned();
            // A name of a ref is a branch, which stays or is looked at by itself.
            names.extend(Some(text).filter(|text| text.len() >= 40 && text.chars().all(|c| c.is_ascii_hexdigit())));
        }
    }
    let mut shas = Vec::new();
    for name in names {
        shas.extend(clone.commit(&clone.root, &name)?);
    }
    Ok(shas)
}

/// A worktree's directory in the clone, as the clone has recorded it: also when the worktree itself is gone, and whatever
/// its `.git` file says.
pub fn admin_dir(clone: &SourceClone, worktree: &Path) -> Result<Option<PathBuf>> {
    recorded_dir(&clone.root.join(".git"), worktree)
}

/// Whether the default branch has the commit, or everything it comes to.
fn is_in_base(clone: &SourceClone, tip: &str) -> Result<bool> {
    let Some(base) = clone.commit(&clone.root, &clone.base())? else { return Ok(false) };
    if clone.has(&base, tip)? {
        return Ok(true);
    }
    let is_nothing = clone.merge(&base, tip).is_ok_and(|merge| merge == MergeResult::Nothing);
    Ok(is_nothing && !has_empty(clone, &base, tip)?)
}

/// Whether there is a commit without a change: all that it has is what it says.
fn has_empty(clone: &SourceClone, base: &str, tip: &str) -> Result<bool> {
    let range = format!("{base}..{tip}");
    let how = ["log", "--raw", "--no-merges", "--no-renames", "--format=%x00"];
    let listed = clone.ask(&clone.root, &[&how[..], &LOGGED[..], &[&range]].concat())?;
    Ok(listed.split('\0').skip(1).any(|commit| !commit.lines().any(|line| line.starts_with(':'))))
}

fn missing(clone: &SourceClone, tip: &str) -> Result<Vec<String>> {
    let range = match clone.commit(&clone.root, &clone.base())? {
        Some(base) => format!("{base}..{tip}"),
        None => tip.to_owned(),
    };
    let listed = clone.ask(&clone.root, &[&["log", "--format=%h %s"], &LOGGED[..], &[&range]].concat())?;
    Ok(listed.lines().map(str::to_owned).collect())
}
