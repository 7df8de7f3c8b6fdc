//! A worker's work onto what the default branch is by now. Whether that conflicts is known before anything is left half
//! done; a rebase of ours that its worker was never told of is taken back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::private_dir;
use shopfloor_core::proc::Output;

use super::trash;
use crate::TOOL;
use crate::commands::Site;
use crate::conflict::{self, Conflict};
use crate::facts::{Merge, git_failed, is_rebasing, require_own_rebase};
use crate::plan::machine::Event;
use crate::tmux::deliver;
use crate::worker::{Session, Task, Worker};

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebased {
    /// It sits there already.
    UpToDate,
    /// It sits there now.
    Done,
    /// The worker was told of these conflicts.
    Conflicts(Vec<Conflict>),
    /// Commit by commit it conflicts, though all of it together does not; so nothing was done.
    LeftAsItIs,
}

impl Rebased {
    pub fn word(&self) -> &'static str {
        match self {
            Rebased::UpToDate => "up_to_date",
            Rebased::Done => "rebased",
            Rebased::Conflicts(_) => "rebasing",
            Rebased::LeftAsItIs => "left_as_it_is",
        }
    }
}

/// Nothing of a person's setup takes part: no hook, no signature, no other branch, no stash.
const ALONE: [&str; 16] = [
    "-c",
    "advice.mergeConflict=false",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "rebase.updateRefs=false",
    "-c",
    "rebase.autoStash=false",
    "-c",
    "rebase.autoSquash=false",
    "-c",
    "rebase.backend=merge",
    "-c",
    "core.fsmonitor=false",
];

/// Under the worker's lock, of a clean worktree.
pub fn onto(site: &Site<'_>, worker: &Worker, base: &str, force: bool) -> Result<Rebased> {
    let tree = Path::new(&worker.worktree_path);
    let head = match &worker.task {
        Task::NeedsReview => worker.commit_sha.clone().unwrap_or_default(),
        _ => site.clone.ask(tree, &["rev-parse", "HEAD"])?,
    };
    site.clone.require_at(worker, &head)?;
    let was_moved_back = site.clone.was_moved_back(worker, base, &head)?;
    if site.clone.has(&head, base)? && !was_moved_back {
        return Ok(Rebased::UpToDate);
    }
    if !was_moved_back && site.clone.merge(base, &head)? == Merge::Conflict {
        return begin(site, worker, base, &head, force);
    }
    let rebased = run(site, worker, base, &head)?;
    if !rebased.status.success() {
        give_up(site, worker)?;
        return Ok(Rebased::LeftAsItIs);
    }
    fs::remove(&mark(tree)?)?;
    done(site, worker, base, &head)
}

/// Where it sits now, and whether it is the same work.
fn done(site: &Site<'_>, worker: &Worker, base: &str, before: &str) -> Result<Rebased> {
    let sha = site.clone.ask(Path::new(&worker.worktree_path), &["rev-parse", "HEAD"])?;
    let patch = site.clone.work_of(&sha)?;
    let is_same = worker.task != Task::NeedsReview || site.clone.work_of(before)? == patch;
    let onto = Some(base.to_owned());
    let event = if is_same { Event::Rebased { sha, patch, onto } } else { Event::Commit { sha, onto } };
    site.record(&worker.name, &event)?;
    Ok(Rebased::Done)
}

/// The rebase that conflicts, in its worktree, and the worker is told of it.
pub fn begin(site: &Site<'_>, worker: &Worker, base: &str, sha: &str, force: bool) -> Result<Rebased> {
    let name = &worker.name;
    let branch = &site.clone.branch;
    if worker.session != Session::Up || worker.fault.is_some() {
        return Err(Failure::new(Exit::No, "conflict", format!("{name} conflicts with {branch}, and has no session"))
            .hint(format!("bring it up, so that it can be told: `worker-ctl up {name}`")));
    }
    let event = |files| Event::Conflict { pre_sha: sha.to_owned(), base: base.to_owned(), files, force };
    // Refused before anything is touched.
    crate::plan::machine::apply(worker, &event(Vec::new()), 0)?;
    site.require_free(worker, force)?;
    let tree = Path::new(&worker.worktree_path);
    site.clone.require_at(worker, sha)?;
    site.require_clean(worker)?;
    let rebased = run(site, worker, base, sha)?;
    if rebased.status.success() {
        fs::remove(&mark(tree)?)?;
        return done(site, worker, base, sha);
    }
    let files = conflict::conflicts(&site.clone, tree)?;
    if !is_rebasing(tree) || files.is_empty() {
        give_up(site, worker)?;
        return Err(git_failed("rebase", &rebased));
    }
    let paths = files.iter().map(|file| file.path.clone()).collect();
    let event = event(paths);
    let text = conflict::prompt(branch, site.root.config.repo.validate.as_deref(), &files);
    match site.deliver(worker, &event, &text) {
        Ok(_) => fs::remove(&mark(tree)?).map(|()| Rebased::Conflicts(files)),
        Err(failure) if deliver::is_nothing_typed(&failure) => {
            site.go_on(name, || give_up(site, worker));
            Err(failure)
        }
        // In doubt the worker may have been told, and may be at it.
        Err(failure) => fs::remove(&mark(tree)?).and(Err(failure)),
    }
}

/// Only what is the worker's: a commit that the default branch has dropped since stays dropped. What it has now is kept
/// under a ref, and until somebody is told of it the rebase is marked as ours.
fn run(site: &Site<'_>, worker: &Worker, base: &str, sha: &str) -> Result<Output> {
    let tree = Path::new(&worker.worktree_path);
    let fork = site.clone.fork(worker, sha)?;
    site.clone.ask(&site.root.path, &["update-ref", &format!("refs/shopfloor/pre/{}", worker.name), sha])?;
    let own = mark(tree)?;
    fs::create_private_dir(own.parent().unwrap_or(tree))?;
    fs::replace(&own, format!("{sha} {base}\n").as_bytes(), Some(fs::PRIVATE))?;
    site.clone.run(tree, &[&ALONE[..], &["rebase", "--quiet", "--onto", base, &fork]].concat())
}

/// Takes back a rebase of ours. What was written meanwhile is kept.
fn give_up(site: &Site<'_>, worker: &Worker) -> Result<()> {
    let tree = Path::new(&worker.worktree_path);
    if is_rebasing(tree) {
        require_own_rebase(worker)?;
        let kept = trash::keep(site, worker)?;
        kept.iter().for_each(|place| site.ui.detail(format!("kept {place}")));
        site.clone.ask(tree, &[&ALONE[..], &["rebase", "--abort"]].concat())?;
    }
    fs::remove(&mark(tree)?)
}

/// The file that says that a rebase is ours, and that nobody was told of it yet.
fn mark(tree: &Path) -> Result<PathBuf> {
    let private = private_dir(tree);
    let private = private.ok_or_else(|| Failure::failed(format!("{} is no worktree", tree.display())))?;
    Ok(private.join("shopfloor").join(TOOL).join("rebasing"))
}

/// Takes back what a kill left, under the worker's lock.
pub fn finish_left(site: &Site<'_>, worker: &Worker) -> Result<()> {
    let tree = Path::new(&worker.worktree_path);
    match (mark(tree), &worker.task) {
        (Ok(own), Task::Rebasing { .. }) => fs::remove(&own),
        (Ok(own), _) if own.exists() && is_own(tree, &own)? => give_up(site, worker),
        // Where we were killed, git may be about to begin it.
        (Ok(own), _) if fs::age(&own, site.env.later().now).is_none_or(|age| age > BEGUN) => fs::remove(&own),
        _ => Ok(()),
    }
}

/// By then a git that outlived us has begun its rebase.
const BEGUN: Duration = Duration::from_secs(60);

/// Whether the rebase under way is the one that the mark tells of.
fn is_own(tree: &Path, mark: &Path) -> Result<bool> {
    let Some(dir) = private_dir(tree).map(|dir| dir.join("rebase-merge")) else { return Ok(false) };
    let text = |path: &Path| -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(path)?.unwrap_or_default()).trim().to_owned())
    };
    Ok(text(mark)? == format!("{} {}", text(&dir.join("orig-head"))?, text(&dir.join("onto"))?))
}

/// Whether there is something for `finish_left` to do.
pub fn is_left(worker: &Worker) -> bool {
    mark(Path::new(&worker.worktree_path)).is_ok_and(|own| own.exists())
}

/// Puts a worktree that is at `landed` on `at`, in place; `false`, and nothing lost, where it is not, or something is in
/// the way.
pub fn put(site: &Site<'_>, worker: &Worker, landed: &str, at: &str) -> Result<bool> {
    let tree = Path::new(&worker.worktree_path);
    // A kill may have come after it was put there.
    if tree.is_dir() && site.clone.require_at(worker, at).is_ok() {
        return Ok(true);
    }
    if !tree.is_dir() || site.clone.require_at(worker, landed).is_err() {
        return Ok(false);
    }
    // `--keep` refuses where a change is in the way.
    if !site.clone.run(tree, &["reset", "--quiet", "--keep", at])?.status.success() {
        return Ok(false);
    }
    // A commit may have come in between: it stays the branch's.
    let before = site.clone.ask(tree, &["rev-parse", "HEAD@{1}"])?;
    if before != landed {
        site.clone.ask(tree, &["reset", "--quiet", "--keep", &before])?;
    }
    Ok(before == landed)
}
