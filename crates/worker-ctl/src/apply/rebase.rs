//! A worker's work onto what the default branch is by now. Whether that conflicts is known before anything is left half
//! done; a rebase of ours that its worker was never told of is taken back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{failed, private_dir};
use shopfloor_core::proc::Output;

use crate::apply::{deliver, transition, trash};
use crate::clone::{is_rebasing, require_own_rebase};
use crate::facts::conflicts::{Conflict, conflicts};
use crate::facts::standing::Standing;
use crate::layout;
use crate::plan::machine::Input;
use crate::plan::prompt;
use crate::plan::rebase::{self as plan, Rebase, Refresh, is_behind};
use crate::plan::start::permit;
use crate::site::Site;
use crate::store;
use crate::tmux::typing;
use crate::worker::{Task, Worker};

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

/// Carries a plan out, under the worker's lock.
pub fn carry_out(site: &Site<'_>, standing: &Standing, plan: Rebase, is_forced: bool) -> Result<Rebased> {
    let (worker, base) = (&standing.worker, standing.base.as_str());
    let Some(work) = &standing.work else { return Ok(Rebased::UpToDate) };
    match plan {
        Rebase::UpToDate => Ok(Rebased::UpToDate),
        Rebase::Tell => begin(site, worker, base, &work.sha, is_forced),
        Rebase::Replay => {
            let rebased = run(site, worker, base, &work.sha)?;
            if !rebased.status.success() {
                give_up(site, worker)?;
                return Ok(Rebased::LeftAsItIs);
            }
            fs::remove(&mark(Path::new(&worker.worktree_path))?)?;
            done(site, worker, base, &work.sha)
        }
    }
}

/// Brings a review that the default branch has left behind onto it, where nobody has anything uncommitted.
///
/// A worker that would have to be told of conflicts while a person types there waits: the next look tries again (kind
/// `occupied`).
pub fn refresh(site: &Site<'_>, worker: &Worker, base: &str) -> Result<()> {
    let tree = Path::new(&worker.worktree_path);
    if !is_behind(worker, base) || worker.commit_sha.is_none() || is_rebasing(tree) || !tree.is_dir() {
        return Ok(());
    }
    let standing = Standing::read_on(site, worker, base)?;
    let plan = match plan::refresh(&standing, &site.clone.branch) {
        Refresh::Wait => return Ok(()),
        Refresh::Settled => return remember_tried(site, worker, base),
        Refresh::Rebase(plan) => plan,
    };
    if plan == Rebase::Tell {
        deliver::require_free(site, worker, false)?;
    }
    // First: what fails is not tried again until the default branch moves on.
    remember_tried(site, worker, base)?;
    if let Rebased::Conflicts(files) = carry_out(site, &standing, plan, false)? {
        site.ui.note(format!("{} was told to resolve conflicts in {} files", worker.name, files.len()));
    }
    Ok(())
}

/// Remembers it, so that a worker that gave a rebase up is not asked again until the default branch moves on.
fn remember_tried(site: &Site<'_>, worker: &Worker, base: &str) -> Result<()> {
    store::update(&site.root.path, |state| {
        if let Some(worker) = state.workers.get_mut(&worker.name) {
            worker.base_sha = Some(base.to_owned());
        }
        Ok(())
    })
}

/// Where it sits now, and whether it is the same work.
fn done(site: &Site<'_>, worker: &Worker, base: &str, before: &str) -> Result<Rebased> {
    let sha = site.clone.ask(Path::new(&worker.worktree_path), &["rev-parse", "HEAD"])?;
    let patch = site.clone.work_of(&sha)?;
    let is_same = worker.task != Task::NeedsReview || site.clone.work_of(before)? == patch;
    let onto = Some(base.to_owned());
    let event = if is_same { Input::Rebased { sha, patch, onto } } else { Input::Commit { sha, onto } };
    transition::record(site, &worker.name, &event)?;
    Ok(Rebased::Done)
}

/// Leaves the rebase that conflicts in its worktree, and tells the worker.
pub fn begin(site: &Site<'_>, worker: &Worker, base: &str, sha: &str, is_forced: bool) -> Result<Rebased> {
    let name = &worker.name;
    let input = |files| Input::Conflict { pre_sha: sha.to_owned(), base: base.to_owned(), files, force: is_forced };
    permit(worker, &input(Vec::new()))?;
    deliver::require_free(site, worker, is_forced)?;
    let tree = Path::new(&worker.worktree_path);
    let rebased = run(site, worker, base, sha)?;
    if rebased.status.success() {
        fs::remove(&mark(tree)?)?;
        return done(site, worker, base, sha);
    }
    let files = conflicts(&site.clone, tree)?;
    if !is_rebasing(tree) || files.is_empty() {
        give_up(site, worker)?;
        return Err(failed("rebase", &rebased));
    }
    let paths = files.iter().map(|file| file.path.clone()).collect();
    let text = prompt::conflicts(&site.clone.branch, site.root.config.repo.validate.as_deref(), &files);
    match deliver::deliver(site, worker, &input(paths), &text) {
        Ok(_) => fs::remove(&mark(tree)?).map(|()| Rebased::Conflicts(files)),
        Err(failure) if typing::is_nothing_typed(&failure) => {
            site.warn_on_failure(name, || give_up(site, worker));
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
    Ok(layout::private(&private).join("rebasing"))
}

/// Takes back what a kill left, under the worker's lock.
pub fn finish_open(site: &Site<'_>, worker: &Worker) -> Result<()> {
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

/// Whether there is something for [`finish_open`] to do.
pub fn is_open(worker: &Worker) -> bool {
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
