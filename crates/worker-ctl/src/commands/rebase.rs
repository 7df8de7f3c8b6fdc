//! `rebase`: a worker's commit onto what the default branch is by now.

use std::path::Path;

use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};

use super::Site;
use crate::apply::rebase::{self, Rebased};
use crate::facts::{Merge, is_rebasing};
use crate::store;
use crate::worker::{Session, Task, Worker};

pub fn run(site: &Site<'_>, name: &str, force: bool) -> Result<Exit> {
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
    if is_rebasing(Path::new(&worker.worktree_path)) {
        return Err(refuse(format!("{name} is in a rebase of its own")).hint("let it finish that first"));
    }
    site.require_clean(&worker)?;
    let base = site.clone.require_base()?;
    if site.would(format!("rebase {name} onto {base}")) {
        return Ok(Exit::Done);
    }
    let outcome = rebase::onto(site, &worker, &base, force)?;
    if site.ui.is_json() {
        site.ui.json(&json!({ "worker": name, "outcome": outcome.word() }));
    } else {
        site.ui.note(format!("{name}: {}", outcome.word().replace('_', " ")));
    }
    Ok(match outcome {
        Rebased::UpToDate | Rebased::Done => Exit::Done,
        Rebased::Conflicts(_) | Rebased::LeftAsItIs => Exit::No,
    })
}

/// Reviews that the default branch has left behind, where nobody has anything uncommitted.
///
/// One whose worker would have to be told of conflicts while a person types there waits: the next look tries again
/// (kind `occupied`).
pub fn stale(site: &Site<'_>, worker: &Worker, base: &str) -> Result<()> {
    let tree = Path::new(&worker.worktree_path);
    let is_ready = worker.task == Task::NeedsReview && worker.fault.is_none() && !is_rebasing(tree);
    let Some(sha) = worker.commit_sha.as_ref().filter(|_| is_ready && tree.is_dir()) else { return Ok(()) };
    if worker.base_sha.as_deref() == Some(base) {
        return Ok(());
    }
    if site.clone.has(sha, base)? && !site.clone.was_moved_back(worker, base, sha)? {
        return tried(site, worker, base);
    }
    if site.clone.require_at(worker, sha).is_err() || !site.clone.dirty(tree)?.is_empty() {
        return Ok(());
    }
    // One that has nobody to resolve a conflict is left as it is.
    let merges = site.clone.merge(base, sha)?;
    if merges == Merge::Conflict && (worker.session != Session::Up || worker.is_in_doubt) {
        return Ok(());
    }
    if merges == Merge::Conflict {
        site.require_free(worker, false)?;
    }
    // First: what fails is not tried again until the default branch moves on.
    tried(site, worker, base)?;
    if merges != Merge::Nothing
        && let Rebased::Conflicts(files) = rebase::onto(site, worker, base, false)?
    {
        site.ui.note(format!("{} was told to resolve conflicts in {} files", worker.name, files.len()));
    }
    Ok(())
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
