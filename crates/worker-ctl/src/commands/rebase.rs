//! `rebase`: a worker's commit onto what the default branch is by now. Whether that conflicts is known before anything
//! is left half done.

use std::path::Path;

use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};

use super::{Site, accept};
use crate::apply::publish::{self, Merge};
use crate::facts::is_rebasing;
use crate::plan::machine::Event;
use crate::store;
use crate::worker::{Session, Task, Worker};

pub fn run(site: &Site<'_>, name: &str) -> Result<Exit> {
    site.finish_left()?;
    site.clone.fetched(&site.source())?;
    store::load(&site.root.path)?.require(name)?;
    let _lock = site.lock(name)?;
    let worker = store::load(&site.root.path)?.require(name)?.clone();
    let refuse = |why: String| Failure::new(Exit::No, "wrong_state", why);
    if !matches!(worker.task, Task::Working | Task::NeedsReview | Task::Rejected) {
        return Err(
            refuse(format!("{name} is {}", worker.task.word())).hint("`worker-ctl status` shows what workers are at")
        );
    }
    let tree = Path::new(&worker.worktree_path);
    if is_rebasing(tree) {
        return Err(refuse(format!("{name} is in a rebase of its own")).hint("let it finish that first"));
    }
    let dirty = site.clone.dirty(tree)?;
    if !dirty.is_empty() {
        return Err(Failure::new(Exit::No, "dirty", format!("{name} has uncommitted changes"))
            .details(dirty.into_iter().take(10).map(|path| format!("  {path}")))
            .hint("ask for a commit first"));
    }
    let outcome = rebase(site, &worker)?;
    if site.ui.is_json() {
        site.ui.json(&json!({ "worker": name, "outcome": outcome }));
    } else {
        site.ui.note(format!("{name}: {}", outcome.replace('_', " ")));
    }
    Ok(if outcome == "rebasing" { Exit::No } else { Exit::Done })
}

/// Reviews that the default branch has left behind, where nobody has anything uncommitted.
pub fn stale(site: &Site<'_>, worker: &Worker, base: &str) -> Result<()> {
    let tree = Path::new(&worker.worktree_path);
    let is_ready = worker.task == Task::NeedsReview && worker.fault.is_none() && !is_rebasing(tree);
    let Some(sha) = worker.commit_sha.as_ref().filter(|_| is_ready && tree.is_dir()) else { return Ok(()) };
    if worker.base_sha.as_deref() == Some(base) {
        return Ok(());
    }
    let has_it = site.clone.run(&site.root.path, &["merge-base", "--is-ancestor", base, sha])?.status.success();
    if has_it {
        return tried(site, worker, base);
    }
    if site.clone.ask(tree, &["rev-parse", "HEAD"])? != *sha || !site.clone.dirty(tree)?.is_empty() {
        return Ok(());
    }
    // One that has nobody to resolve a conflict is left as it is.
    let merges = publish::merge(&site.clone, base, sha)?;
    if merges == Merge::Conflict && worker.session != Session::Up {
        return Ok(());
    }
    if merges != Merge::Nothing {
        rebase(site, worker)?;
    }
    tried(site, worker, base)
}

/// Remembers it, so that a worker that gave a rebase up is not asked again until the default branch moves on.
fn tried(site: &Site<'_>, worker: &Worker, base: &str) -> Result<()> {
    store::update(&site.root.path, |state| {
        if let Some(worker) = state.workers.get_mut(&worker.name) {
            worker.base_sha = Some(base.to_owned());
        }
        Ok(())
    })
}

fn rebase(site: &Site<'_>, worker: &Worker) -> Result<&'static str> {
    let tree = Path::new(&worker.worktree_path);
    let head = site.clone.ask(tree, &["rev-parse", "HEAD"])?;
    let base = site.clone.require_base()?;
    if site.clone.run(&site.root.path, &["merge-base", "--is-ancestor", &base, &head])?.status.success() {
        return Ok("up_to_date");
    }
    if publish::merge(&site.clone, &base, &head)? == Merge::Conflict {
        accept::conflict(site, worker, &base, &head)?;
        return Ok("rebasing");
    }
    let rebased = site.clone.run(tree, &["rebase", "--quiet", &base])?;
    if !rebased.status.success() {
        // Commit by commit it conflicts, though all of it together does not.
        site.clone.run(tree, &["rebase", "--abort"])?;
        return Ok("left_as_it_is");
    }
    let now = site.clone.ask(tree, &["rev-parse", "HEAD"])?;
    site.record(&worker.name, &Event::Rebased { sha: now })?;
    Ok("rebased")
}
