//! The work that would be lost with a worker's worktree and branch.

use std::collections::BTreeSet;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{OPERATION_HEADS, commits_to_pick, head_of, named_commits, recorded_dir};
use shopfloor_core::text::shell_word;

use crate::facts::worker_state::dirty;
use crate::work_repo::{MergeResult, WorkRepo};
use crate::worker::{Task, Worker};

/// The work that would be lost. A removal reads the losses, keeps them, and reads them again to see that nothing was
/// added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The commit of the worker's branch.
    pub branch_tip: Option<String>,
    /// The commit that the branch goes back to, if it stays: what that has is no loss.
    pub back_to: Option<String>,
    /// The tips of histories that are not on the default branch.
    pub tips: Vec<String>,
    /// The commits of these histories, for a person.
    pub commits: Vec<String>,
    /// Stashes of the worker that no removal has kept yet.
    pub stashes: Vec<Stash>,
    /// Files with changes, and untracked files, as [`dirty`] tells.
    pub files: Vec<String>,
    /// Repositories nested in the worktree, whose commits may be nowhere else.
    pub nested: Vec<String>,
    /// What would be lost with a repository that git ignores, in words.
    pub ignored: Option<String>,
    /// Whether the worktree has submodules, which may have commits of their own too.
    pub has_modules: bool,
}

/// Nobody has more stashes. Each costs a removal several git processes, and agents can write the list.
const MOST_STASHES: usize = 100;

/// A stash: its commit, and what `git stash list` shows of it.
pub type Stash = (String, String);

impl Losses {
    pub fn read(repo: &WorkRepo, worker: &Worker) -> Result<Losses> {
        Losses::read_beyond(repo, worker, None)
    }

    /// The same where the branch goes back to a commit.
    pub fn read_beyond(repo: &WorkRepo, worker: &Worker, back_to: Option<&str>) -> Result<Losses> {
        let tree = worker.tree();
        let (base, branch_tip, tips) = tips(repo, worker)?;
        let back_to = back_to.map(|sha| repo.commit(&repo.top, sha)).transpose()?.flatten();
        let mut losses = Losses { branch_tip, back_to: back_to.clone(), ..Losses::default() };
        // What was merged on a forge may not be on the branch here yet, and a ref of ours keeps it.
        let landed = worker.adopted.as_ref().and_then(|adopted| adopted.landed.as_ref());
        let stay: Vec<String> = base.iter().chain(landed.map(|landed| &landed.tip)).chain(&back_to).cloned().collect();
        for tip in tips {
            if !is_in_any(repo, &stay, &tip)? {
                losses.add_tip(repo, base.as_ref(), tip)?;
            }
        }
        let stashes = stashes(repo, worker);
        if stashes.len() > MOST_STASHES {
            let path = repo.common.join("logs/refs/stash");
            return Err(Failure::malformed(format!(
                "{} lists {} stashes of {}",
                path.display(),
                stashes.len(),
                worker.name
            ))
            .hint(format!("look at it and move it away: `ls -l {}`", shell_word(&path))));
        }
        for stash in stashes {
            let kept = ["for-each-ref", "--contains", &stash.0, "refs/shopfloor/trash/"];
            if repo.commit(&repo.top, &stash.0)?.is_some() && repo.ask(&repo.top, &kept)?.is_empty() {
                losses.stashes.push(stash);
            }
        }
        if tree.is_dir() {
            losses.files = dirty(repo, tree)?;
            losses.nested = repo.nested(tree, &losses.files)?;
            losses.files.retain(|path| !path.ends_with('/'));
            let git = repo.git_for(tree)?;
            losses.ignored = match git.unreadable(tree)? {
                None => git.ignored_losses(&repo.common, tree)?,
                closed => closed,
            };
            losses.has_modules = !repo.inner(tree)?.is_empty() || losses.ignored.is_some();
        }
        losses.has_modules |= recorded_dir(&repo.common, tree)?.is_some_and(|dir| dir.join("modules").is_dir());
        Ok(losses)
    }

    /// The work that only our own refs and the worker's record name, where its worktree and branch stay.
    pub fn only_pinned(repo: &WorkRepo, worker: &Worker) -> Result<Losses> {
        let mut losses = Losses::default();
        // A repository that is gone has no refs of ours.
        if !repo.common.is_dir() {
            return Ok(losses);
        }
        let names = [vec![format!("refs/heads/{}", worker.branch), repo.base()], pinned(worker)].concat();
        let mut commits = repo.commits(&names)?.into_iter();
        let stay: Vec<String> = commits.by_ref().take(2).flatten().collect();
        for tip in commits.flatten().collect::<BTreeSet<_>>() {
            if !is_held(repo, &tip)? && !is_in_any(repo, &stay, &tip)? {
                losses.add_tip(repo, stay.last(), tip)?;
            }
        }
        Ok(losses)
    }

    fn add_tip(&mut self, repo: &WorkRepo, base: Option<&String>, tip: String) -> Result<()> {
        let mut range = base.map_or_else(|| vec![tip.clone()], |base| repo.range(base, &tip));
        range.extend(self.back_to.iter().map(|sha| format!("^{sha}")));
        self.commits.extend(repo.log(&["--format=%h %s"], &range)?.lines().map(str::to_owned));
        self.commits.dedup();
        self.tips.push(tip);
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.tips.is_empty() && self.lines().is_empty()
    }

    /// One line per loss, for a person.
    pub fn lines(&self) -> Vec<String> {
        let commits = self.commits.iter().map(|line| format!("  commit {line}"));
        let stashes = self.stashes.iter().map(|(_, message)| format!("  stash {message}"));
        commits
            .chain(stashes)
            .chain(self.nested.iter().chain(&self.files).map(|path| format!("  {path}")))
            .chain(self.ignored.iter().map(|why| format!("  {why}")))
            .collect()
    }
}

/// The stashes that were made on a worker's branch. All worktrees of a clone share one list of stashes, and agents write
/// it, so it is read as a plain file. No removal deletes from it, so nothing is lost if it cannot be read.
pub fn stashes(repo: &WorkRepo, worker: &Worker) -> Vec<Stash> {
    let log = fs::read_no_follow(&repo.common.join("logs/refs/stash")).ok().flatten().unwrap_or_default();
    let begins = ["WIP on", "On"].map(|on| format!("{on} {}: ", worker.branch));
    let stash = |line: &str| {
        let (about, message) = line.split_once('\t')?;
        let is_own = begins.iter().any(|begin| message.starts_with(begin));
        Some((about.split(' ').nth(1)?.to_owned(), message.to_owned())).filter(|_| is_own)
    };
    let mut seen = BTreeSet::new();
    String::from_utf8_lossy(&log).lines().filter_map(stash).filter(|(sha, _)| seen.insert(sha.clone())).collect()
}

/// The default branch's commit, that of the worker's branch, and every commit that may be reachable only through this
/// worker: its branch, its worktree's HEAD, and where it was before an operation that is under way.
fn tips(repo: &WorkRepo, worker: &Worker) -> Result<(Option<String>, Option<String>, Vec<String>)> {
    let tree = worker.tree();
    let mut names = vec![repo.base(), format!("refs/heads/{}", worker.branch)];
    names.extend(pinned(worker));
    // As the clone has recorded it: that works without the worktree, and does not trust its `.git` file.
    if let Some(dir) = recorded_dir(&repo.common, tree)? {
        names.push(head_of(&dir));
        names.extend(named_commits(&dir, &OPERATION_HEADS)?);
        names.extend(commits_to_pick(&dir)?);
        names.extend(repo.git.patches(&repo.top, &dir)?);
        if tree.is_dir() {
            names.extend(repo.git_for(tree)?.own_refs(tree, &dir)?);
        }
    }
    let (mut commits, mut seen) = (repo.commits(&names)?.into_iter(), BTreeSet::new());
    let (base, branch_tip) = (commits.next().flatten(), commits.next().flatten());
    let all = branch_tip.clone().into_iter().chain(commits.flatten());
    let tips = all.filter(|sha| seen.insert(sha.clone())).collect();
    Ok((base, branch_tip, tips))
}

/// The commits that only the log of the worktree's HEAD names, as one that was amended, as far as they count.
pub fn only_logged(repo: &WorkRepo, worker: &Worker) -> Result<Vec<String>> {
    let Some(record) = recorded_dir(&repo.common, worker.tree())? else { return Ok(Vec::new()) };
    not_landed(repo, repo.git.only_logged(&repo.top, &record))
}

/// In a clone those of these commits that have not landed; else all.
pub fn not_landed(repo: &WorkRepo, mut commits: Vec<String>) -> Result<Vec<String>> {
    if !repo.is_own {
        let base: Vec<String> = repo.commit(&repo.top, &repo.base())?.into_iter().collect();
        commits.retain(|tip| !is_in_any(repo, &base, tip).unwrap_or(false));
    }
    Ok(commits)
}

/// The commits of a worker's task that our own refs and its record name.
fn pinned(worker: &Worker) -> Vec<String> {
    let kept = ["pre", "review"].map(|kind| format!("refs/shopfloor/{kind}/{}", worker.name));
    let pre_sha = if let Task::Rebasing { pre_sha, .. } = &worker.task { Some(pre_sha.clone()) } else { None };
    kept.into_iter().chain(worker.work.commit_sha.clone()).chain(pre_sha).collect()
}

/// Whether a ref holds the commit that stays when a worker's task is over.
fn is_held(repo: &WorkRepo, tip: &str) -> Result<bool> {
    let stay =
        ["--exclude=refs/shopfloor/*", "--all", "--glob=refs/shopfloor/trash/*", "--glob=refs/shopfloor/accepted/*"];
    // The HEAD of a worktree that was deleted goes with git's record of it.
    let asked = ["rev-list", "--max-count=1", "--ignore-missing", "--single-worktree", tip, "--not"];
    Ok(repo.ask(&repo.top, &[&asked[..], &stay].concat())?.is_empty())
}

/// Whether one of these commits has all of that one.
fn is_in_any(repo: &WorkRepo, commits: &[String], tip: &str) -> Result<bool> {
    commits.iter().try_fold(false, |is_in_one, commit| Ok::<_, Failure>(is_in_one || is_in(repo, commit, tip)?))
}

/// Whether the default branch has the commit, or at least all of its changes.
fn is_in(repo: &WorkRepo, base: &str, tip: &str) -> Result<bool> {
    if repo.has(base, tip)? {
        return Ok(true);
    }
    let is_nothing = repo.merge(base, tip).is_ok_and(|merge| merge == MergeResult::Nothing);
    Ok(is_nothing && !has_empty_commit(repo, base, tip)?)
}

/// Whether there is a commit without changes. Its message would be lost.
fn has_empty_commit(repo: &WorkRepo, base: &str, tip: &str) -> Result<bool> {
    let listed = repo.log(&["--raw", "--no-merges", "--no-renames", "--format=%x00"], &repo.range(base, tip))?;
    Ok(listed.split('\0').skip(1).any(|commit| !commit.lines().any(|line| line.starts_with(':'))))
}
