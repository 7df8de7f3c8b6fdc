//! The standing of a worker and its work. It is read once, and `plan` decides from it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, Content, Root};
use shopfloor_core::git::{LOOK_LIMIT, private_dir};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::shell_word;
use shopfloor_core::written_files::Listed;

use crate::context::Context;
use crate::facts::conflicts::left_markers;
use crate::failure;
use crate::work_repo::{MergeResult, WorkRepo, is_rebasing};
use crate::worker::{LandAs, Task, Worker};

/// The standing of a worker: its record, its worktree and its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub worker: Worker,
    /// The default branch's commit, as the source has it.
    pub base: String,
    pub worktree: WorktreeFacts,
    /// The worker's commits, if its task has any.
    pub work: Option<WorkFacts>,
}

/// The state of a worker's worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorktreeFacts {
    /// The branch that is checked out, if any.
    pub branch: Option<String>,
    pub head: Option<String>,
    /// Whether a rebase is under way.
    pub is_rebasing: bool,
    /// What else git is in the middle of, by its command.
    pub unfinished: Option<&'static str>,
    /// Files with uncommitted changes, and untracked files, as [`dirty`] tells.
    pub dirty: Vec<String>,
    /// Those of them that are as they were committed.
    pub always_dirty: Vec<String>,
    /// Whether the worker's branch is others' too, so that only the worker moves it.
    pub is_shared: bool,
    /// Whether HEAD or the worker's own branch has commits that were never on the default branch.
    pub has_unmerged: bool,
}

/// A worker's work: the commit that waits for review, or else the worktree's HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkFacts {
    pub sha: String,
    /// A digest of the work, which does not depend on its base.
    pub patch: String,
    /// The files in which the worker left conflict markers.
    pub markers: Vec<String>,
    /// Whether the default branch's commit is in the work's history.
    pub has_base: bool,
    /// Whether the work has merges; only looked for where its own commits land.
    pub has_merges: bool,
    /// Whether the work begins at several commits of the default branch.
    pub has_several_bases: bool,
    /// Whether the default branch has dropped commits that the work sits on.
    pub was_moved_back: bool,
    /// The result of merging the work into the default branch.
    pub merge: MergeResult,
}

impl Standing {
    /// Reads the standing under the worker's lock. Fetches the default branch if the source has moved on.
    pub fn read(ctx: &Context<'_>, worker: &Worker) -> Result<Standing> {
        let base = ctx.repo.fetched(&ctx.source())?;
        Standing::read_on(ctx, worker, &base)
    }

    /// Like [`read`](Self::read), against a commit of the default branch that was fetched before.
    pub fn read_on(ctx: &Context<'_>, worker: &Worker, base: &str) -> Result<Standing> {
        let worktree = WorktreeFacts::read(ctx, worker)?;
        // In a worktree with changes, or in a rebase, every plan is refused before it looks at the work.
        let is_at_rest = worktree.dirty.is_empty() && !worktree.is_rebasing;
        let sha = match worker.task {
            _ if !is_at_rest => None,
            Task::NeedsReview => worker.work.commit_sha.clone(),
            Task::Working | Task::Rejected => worktree.head.clone(),
            Task::Idle | Task::Rebasing { .. } => None,
        };
        let work = sha.map(|sha| WorkFacts::read(&ctx.repo, worker, base, sha)).transpose()?;
        Ok(Standing { worker: worker.clone(), base: base.to_owned(), worktree, work })
    }

    /// Whether a task begins where the worktree is: neither a branch that others have too, nor a person's changes, nor what
    /// waits for a review are moved.
    pub fn stays(&self) -> bool {
        let has_changes = self.worker.adopted.is_some() && !self.worktree.dirty.is_empty();
        self.worktree.is_shared || has_changes || self.worker.task == Task::NeedsReview
    }

    /// Whether the worktree is on the worker's branch, at this commit, with no rebase under way.
    pub fn is_at(&self, sha: &str) -> bool {
        let WorktreeFacts { branch, head, is_rebasing, .. } = &self.worktree;
        !is_rebasing && branch.as_ref() == Some(&self.worker.branch) && head.as_deref() == Some(sha)
    }
}

impl WorktreeFacts {
    fn read(ctx: &Context<'_>, worker: &Worker) -> Result<WorktreeFacts> {
        let (repo, source, tree) = (&ctx.repo, &ctx.source(), worker.tree());
        if worker.adopted.is_none() || worker.is_replaced(source) {
            worker.require_tree(source)?;
        }
        // Changes first, commits last: what is committed in between shows in HEAD.
        let dirty = dirty(repo, tree).map_err(|mut failure| match failure.kind {
            "lost" => {
                // How any agent is removed, it says after that. This one is a worker.
                failure.hints.truncate(1);
                failure.hint(worker.missing_hint())
            }
            _ => failure,
        })?;
        let is_rebasing = is_rebasing(tree);
        let (branch, head) = repo.head(tree)?;
        let is_home = branch.as_ref() == Some(&worker.branch);
        let own = if is_home { head.clone() } else { repo.commit(tree, &format!("refs/heads/{}", worker.branch))? };
        // Without it git takes all files for new, and nobody can tell what the work is. A person's own is not made anew.
        if own.is_none() && (is_home || worker.task != Task::Idle || worker.adopted.is_some()) {
            let why = format!("the branch {} of {} was deleted", worker.branch, worker.name);
            let failure = failure::WRONG_STATE.failure(why).hint(worker.branch_hint(repo.require_base().ok()));
            let [at, branch] = [tree, Path::new(&worker.branch)].map(shell_word);
            let back = format!("then go back to it: `git -C {at} switch {branch}`");
            return Err(if is_home { failure } else { failure.hint(back) });
        }
        let mut has_unmerged = false;
        if worker.task == Task::Idle {
            for sha in head.iter().chain(own.as_ref().filter(|_| !is_home)) {
                has_unmerged |= repo.ahead(sha)? > 0 && !repo.was_base(source, sha)? && !repo.has_content(sha)?;
            }
        }
        let always_dirty = always_dirty(repo, tree, &dirty)?;
        let is_shared = worker.has_request() || repo.is_shared(&worker.branch)?;
        let unfinished = unfinished(tree);
        Ok(WorktreeFacts { branch, head, is_rebasing, unfinished, dirty, always_dirty, is_shared, has_unmerged })
    }
}

/// The command of git that is under way in a worktree, beside a rebase. No file needs to be changed by it.
pub fn unfinished(tree: &Path) -> Option<&'static str> {
    let dir = private_dir(tree)?;
    let files = [
        ("MERGE_HEAD", "merge"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
        ("rebase-apply/applying", "am"),
    ];
    let stopped = files.into_iter().find(|(file, _)| dir.join(file).symlink_metadata().is_ok());
    stopped.map(|(_, command)| command).or_else(|| {
        // Of several commits there is only the list once the one with conflicts is committed.
        let todo = fs::read(&dir.join("sequencer/todo")).ok()??;
        Some(if todo.starts_with(b"revert") { "revert" } else { "cherry-pick" })
    })
}

/// What we read of sweatfile-apply's record of a worktree.
#[derive(Deserialize)]
struct SetUpRecord {
    files: BTreeMap<RelPath, PlacedFile>,
}

#[derive(Deserialize)]
struct PlacedFile {
    content: Content,
}

/// The uncommitted changes and untracked files of a worktree, but for [what set-up has placed](changes).
pub fn dirty(repo: &WorkRepo, tree: &Path) -> Result<Vec<String>> {
    Ok(changes(repo, tree)?.0)
}

/// The uncommitted changes and untracked files of a worktree. Apart from them the untracked ones that its set-up has placed
/// and nobody has changed since, by a record that no agent wrote: nobody will commit these.
pub fn changes(repo: &WorkRepo, tree: &Path) -> Result<(Vec<String>, Vec<RelPath>)> {
    let (mut changes, mut untouched) = (repo.changes(tree)?, Vec::new());
    if let Some(file) = private_dir(tree).map(|dir| dir.join("shopfloor/sweatfile-apply/record.json"))
        && let Some(text) = fs::read_no_follow(&file)?.filter(|text| Listed::read(repo.git.env()).has(&file, text))
        && let Ok(SetUpRecord { files }) = serde_json::from_slice(&text)
    {
        let root = Root::open(tree)?;
        for (path, placed) in files {
            let is_its = |(is_new, changed): &(bool, String)| *is_new && Path::new(changed).starts_with(path.as_path());
            if changes.iter().any(is_its) && root.content(&path)? == Some(placed.content) {
                changes.retain(|change| !is_its(change));
                untouched.push(path);
            }
        }
    }
    Ok((changes.into_iter().map(|(_, path)| path).collect(), untouched))
}

/// The changed files, of the first few, that are as they were committed: git's attributes ask for other contents. No
/// filter is run for this, because an agent can name one.
fn always_dirty(repo: &WorkRepo, tree: &Path, dirty: &[String]) -> Result<Vec<String>> {
    let is_as_committed = |path: &String| -> Result<bool> {
        let committed = repo.run(tree, &["rev-parse", "--verify", "--quiet", &format!("HEAD:{path}")])?;
        let hash = repo.cmd(tree)?.args(["hash-object", "--no-filters", "--", path]).within(LOOK_LIMIT).capture()?;
        Ok(committed.status.success() && hash.status.success() && committed.text() == hash.text())
    };
    let is_inside = |path: &&String| repo.path_in(tree, path.as_bytes()).is_ok();
    let looked_at = dirty.iter().take(3).filter(is_inside).map(|path| Ok(is_as_committed(path)?.then(|| path.clone())));
    let mut always: Vec<String> = looked_at.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    if !always.is_empty() {
        // What was committed, or put back, since the changes were read is none of them.
        let still = changes(repo, tree)?.0;
        always.retain(|path| still.contains(path));
    }
    Ok(always)
}

impl WorkFacts {
    /// Reads what git knows of the work on `sha`.
    pub fn read(repo: &WorkRepo, worker: &Worker, base: &str, sha: String) -> Result<WorkFacts> {
        let merge_base = repo.work_base(base, &sha)?;
        let has_base = merge_base.as_deref() == Some(base);
        // Most work sits on the branch as it is, which one question tells.
        let is_on_base = has_base && worker.work.onto_sha.as_deref() == Some(base);
        Ok(WorkFacts {
            patch: repo.work_digest_from(merge_base.as_deref().unwrap_or(base), &sha)?,
            markers: left_markers(repo, &sha, &worker.work.conflicted)?,
            has_merges: worker.land() == LandAs::Commits && repo.has_merges(base, &sha)?,
            has_base,
            has_several_bases: !has_base && repo.has_several_bases(base, &sha)?,
            was_moved_back: !is_on_base && repo.was_moved_back(worker, base, &sha)?,
            merge: if has_base { repo.merge_ahead(base, &sha)? } else { repo.merge(base, &sha)? },
            sha,
        })
    }
}
