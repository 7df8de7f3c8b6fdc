//! The repairs of `doctor`. None of them loses anything.

use std::path::Path;

use serde_json::Value;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::printable;

use crate::apply::{copies, session, transition, trash};
use crate::clone::{is_rebasing, require_own_rebase};
use crate::layout;
use crate::note::Fault;
use crate::plan::machine::Input;
use crate::site::Site;
use crate::store;
use crate::worker::{Session, Task, TaskBeforeRebase, Worker};

/// A repair, with the worker that it is for.
pub enum Repair {
    /// End a session that belongs to no worker.
    KillSession(String),
    /// Restore a missing worktree from its branch.
    RestoreWorktree(String),
    /// Set a git setting of the clone.
    Setting(&'static str, String),
    /// Record that a session is gone.
    RecordGone(String),
    /// Clear a fault.
    ClearFault(String, Fault),
    /// Abort a rebase that no program works on.
    AbortRebase(String),
    /// Rebuild an invalid record.
    RebuildRecord(String),
    /// Set timestamps that are in the future to now.
    ClampTimes(String),
}

pub fn carry_out(site: &Site<'_>, repair: &Repair) -> Result<()> {
    match repair {
        Repair::KillSession(name) => site.tmux()?.must(&["kill-session", "-t", &format!("={name}:")]).map(drop),
        Repair::RecordGone(name) => {
            let _lock = site.lock(name)?;
            let worker = store::load(&site.root.path)?.require(name)?.clone();
            match site.tmux()?.pane_of(&worker)? {
                Some(_) => Ok(()),
                None => transition::record(site, name, &Input::SessionGone).map(drop),
            }
        }
        Repair::Setting(key, value) => {
            site.clone.ask(&site.root.path, &["config", "--file", ".git/config", key, value]).map(drop)
        }
        Repair::RestoreWorktree(name) => restore_worktree(site, name),
        Repair::ClearFault(name, reason) => {
            transition::record(site, name, &Input::Mended { reason: reason.clone() }).map(drop)
        }
        Repair::AbortRebase(name) => abort_rebase(site, name),
        Repair::RebuildRecord(name) => {
            let earlier = store::load_any(&site.root.path)?.workers.remove(name);
            let path = earlier
                .as_ref()
                .map_or_else(|| layout::worktree(&site.root.path, name), |worker| worker.worktree_path.clone().into());
            let worker = derive(site, name, &path, earlier.as_ref(), None)?;
            store::update_any(&site.root.path, |state| drop(state.workers.insert(name.clone(), worker)))
        }
        Repair::ClampTimes(name) => store::update_any(&site.root.path, |state| {
            if let Some(worker) = state.workers.get_mut(name) {
                worker.clamp(site.now());
            }
        }),
    }
}

/// Restores a missing worktree from its branch. The work that git still has of it is kept first.
fn restore_worktree(site: &Site<'_>, name: &str) -> Result<()> {
    let _lock = site.lock(name)?;
    let worker = store::load(&site.root.path)?.require(name)?.clone();
    let tree = Path::new(&worker.worktree_path);
    if tree.symlink_metadata().is_ok() {
        return Ok(());
    }
    if tree.parent() != Some(&layout::worktrees(&site.root.path)) {
        let root = site.root.path.display();
        let why = format!("{} is not below {root}: the root was moved", tree.display());
        return Err(Failure::new(Exit::No, "moved", why).hint(layout::back(&site.root.path, tree)));
    }
    // A program that still runs works in a directory that is gone.
    if site.tmux()?.is_running() {
        session::end(site, std::slice::from_ref(&worker), false)?;
    }
    trash::refuse_locked(site, &worker)?;
    let mut kept = trash::keep(site, &worker)?;
    kept.extend(trash::remove_worktree(site, &worker, true)?);
    kept.iter().for_each(|place| site.ui.note(format!("kept {}", printable(place))));
    let branch = format!("refs/heads/{}", worker.branch);
    if site.clone.commit(&site.root.path, &branch)?.is_none() {
        let at = worker.commit_sha.clone().unwrap_or(site.clone.require_base()?);
        site.clone.ask(&site.root.path, &["update-ref", &branch, &at])?;
    }
    site.clone.add_worktree(tree, &worker.branch, None)?;
    let warning = site.clone.fill_worktree(tree)?;
    warning.into_iter().for_each(|warning| site.ui.warn(warning));
    copies::copy_all(site, tree)?;
    transition::record(site, name, &Input::SessionGone)?;
    transition::record(site, name, &Input::Mended { reason: Fault::WorktreeMissing }).map(drop)
}

/// Aborts a rebase. The commits that the rebase has made are kept.
fn abort_rebase(site: &Site<'_>, name: &str) -> Result<()> {
    let _lock = site.lock(name)?;
    let worker = store::load(&site.root.path)?.require(name)?.clone();
    let tree = Path::new(&worker.worktree_path);
    if !is_rebasing(tree) || matches!(worker.task, Task::Rebasing { .. }) || worker.session == Session::Up {
        return Ok(());
    }
    require_own_rebase(&worker)?;
    let kept = trash::keep(site, &worker)?;
    kept.iter().for_each(|place| site.ui.note(format!("kept {}", printable(place))));
    site.clone.ask(tree, &["rebase", "--abort"]).map(drop)
}

/// Derives a worker's record from its worktree, an earlier record, and a later record of the event log. git decides
/// whether a rebase is under way and whether there is work to review.
pub fn derive(
    site: &Site<'_>,
    name: &str,
    path: &Path,
    earlier: Option<&Worker>,
    later: Option<&Value>,
) -> Result<Worker> {
    let branch = match (site.clone.branch_of(path)?, earlier) {
        (_, Some(earlier)) => earlier.branch.clone(),
        (Some(branch), None) => branch,
        (None, None) => format!("{}{name}", site.root.config.defaults.branch_prefix),
    };
    let agent = site.root.worker(name).agent.or(earlier.map(|earlier| earlier.agent.clone()));
    let agent = agent.unwrap_or_else(|| site.root.config.defaults.agent.clone());
    let mut worker = Worker::new(name, &agent, &path.to_string_lossy(), &branch, site.now());
    let tip = site.clone.commit(&site.root.path, &format!("refs/heads/{branch}"))?;
    let tip = match tip {
        Some(tip) => tip,
        None => site.clone.ask(path, &["rev-parse", "HEAD"])?,
    };
    let is_ahead = site.clone.ahead(&tip)? > 0;
    // Keep the earlier record unless git contradicts it. The next patrol finds what has happened since.
    if let Some(earlier) = earlier.filter(|earlier| later.is_none() && earlier.check().is_ok()) {
        let was_rebasing = matches!(earlier.task, Task::Rebasing { .. });
        let agrees_with_git = match earlier.task {
            Task::Idle => !is_ahead,
            Task::NeedsReview => is_ahead,
            _ => true,
        };
        if was_rebasing == is_rebasing(path) && agrees_with_git {
            return Ok(Worker { agent, worktree_path: worker.worktree_path, ..earlier.clone() });
        }
    }
    let logged = later.map(|record| (record["task"].as_str(), record["rejected"].as_str()));
    worker.task = match (is_rebasing(path), is_ahead, logged) {
        (true, ..) => Task::Rebasing { from: TaskBeforeRebase::NeedsReview, pre_sha: tip.clone() },
        // Rejected work is not new, but a later commit is.
        (_, _, Some((Some("rejected"), rejected))) if rejected == Some(&tip) => Task::Rejected,
        (_, false, Some((Some("working"), _))) => Task::Working,
        (_, true, _) => Task::NeedsReview,
        (_, false, _) => Task::Idle,
    };
    if worker.task != Task::Idle {
        worker.onto_sha = earlier.and_then(|earlier| earlier.onto_sha.clone());
        worker.prompt = earlier.and_then(|earlier| earlier.prompt.clone());
    }
    match worker.task {
        Task::Idle => {}
        Task::Working | Task::Rejected => worker.baseline_sha = Some(tip),
        Task::NeedsReview | Task::Rebasing { .. } => worker.commit_sha = Some(tip),
    }
    Ok(worker)
}
