//! What `doctor` mends: nothing is lost with it.

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
use crate::worker::{Before, Session, Task, Worker};

/// What a repair does.
pub enum Mend {
    /// A session that is no worker's.
    KillSession(String),
    /// A worktree that is gone, from its branch.
    Worktree(String),
    /// A setting of the clone.
    Setting(&'static str, String),
    /// A session that is gone without the state knowing.
    Gone(String),
    /// A fault that a person has seen.
    Fault(String, Fault),
    /// A rebase that nobody is at.
    Rebase(String),
    /// A record that cannot be.
    Record(String),
    /// Times to come.
    Times(String),
}

pub fn mend(site: &Site<'_>, mend: &Mend) -> Result<()> {
    match mend {
        Mend::KillSession(name) => site.tmux()?.must(&["kill-session", "-t", &format!("={name}:")]).map(drop),
        Mend::Gone(name) => {
            let _lock = site.lock(name)?;
            let worker = store::load(&site.root.path)?.require(name)?.clone();
            match site.tmux()?.pane_of(&worker)? {
                Some(_) => Ok(()),
                None => transition::record(site, name, &Input::SessionGone).map(drop),
            }
        }
        Mend::Setting(key, value) => site.clone.ask(&site.root.path, &["config", key, value]).map(drop),
        Mend::Worktree(name) => make_again(site, name),
        Mend::Fault(name, reason) => {
            transition::record(site, name, &Input::Mended { reason: reason.clone() }).map(drop)
        }
        Mend::Rebase(name) => end_rebase(site, name),
        Mend::Record(name) => {
            let known = store::load_any(&site.root.path)?.workers.remove(name);
            let path = known
                .as_ref()
                .map_or_else(|| layout::worktree(&site.root.path, name), |worker| worker.worktree_path.clone().into());
            let worker = derive(site, name, &path, known.as_ref(), None)?;
            store::mend(&site.root.path, |state| drop(state.workers.insert(name.clone(), worker)))
        }
        Mend::Times(name) => store::mend(&site.root.path, |state| {
            if let Some(worker) = state.workers.get_mut(name) {
                worker.clamp(site.now());
            }
        }),
    }
}

/// A worktree that is gone, from its branch. What git still knows of it is kept first.
fn make_again(site: &Site<'_>, name: &str) -> Result<()> {
    let _lock = site.lock(name)?;
    let worker = store::load(&site.root.path)?.require(name)?.clone();
    let tree = Path::new(&worker.worktree_path);
    if tree.symlink_metadata().is_ok() {
        return Ok(());
    }
    if tree.parent() != Some(&layout::worktrees(&site.root.path)) {
        let root = site.root.path.display();
        let why = format!("{} was not made below {root}: the root was moved", tree.display());
        return Err(Failure::new(Exit::No, "moved", why).hint(format!(
            "move it back; or `git -C {root} worktree repair {root}/.worktrees/*`, then `worker-ctl doctor --rebuild`"
        )));
    }
    // Its program works in a directory that is no more.
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
    site.clone
        .must_with_hooks(&site.root.path, &["worktree", "add", "--quiet", &worker.worktree_path, &worker.branch])?;
    copies::bring(site, tree)?;
    transition::record(site, name, &Input::SessionGone)?;
    transition::record(site, name, &Input::Mended { reason: Fault::WorktreeMissing }).map(drop)
}

/// Back to where it was before a rebase; where that had got to is kept.
fn end_rebase(site: &Site<'_>, name: &str) -> Result<()> {
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

/// A worker's record from its worktree, and from what is known of it otherwise: an earlier record, and the last thing the
/// log has of it where that is later. git decides whether it rebases, and whether there is anything to review.
pub fn derive(
    site: &Site<'_>,
    name: &str,
    path: &Path,
    known: Option<&Worker>,
    later: Option<&Value>,
) -> Result<Worker> {
    let branch = match (site.clone.branch_of(path)?, known) {
        (_, Some(known)) => known.branch.clone(),
        (Some(branch), None) => branch,
        (None, None) => format!("{}{name}", site.root.config.defaults.branch_prefix),
    };
    let said = site.root.worker(name).agent.or(known.map(|known| known.agent.clone()));
    let agent = said.unwrap_or_else(|| site.root.config.defaults.agent.clone());
    let mut worker = Worker::new(name, &agent, &path.to_string_lossy(), &branch, site.now());
    let tip = site.clone.commit(&site.root.path, &format!("refs/heads/{branch}"))?;
    let tip = match tip {
        Some(tip) => tip,
        None => site.clone.ask(path, &["rev-parse", "HEAD"])?,
    };
    let is_ahead = site.clone.ahead(&tip)? > 0;
    // As it was, where nothing speaks against it; what has happened since is found by the next look.
    if let Some(known) = known.filter(|known| later.is_none() && known.check().is_ok()) {
        let is_at_rebase = matches!(known.task, Task::Rebasing { .. });
        let has_what_it_says = match known.task {
            Task::Idle => !is_ahead,
            Task::NeedsReview => is_ahead,
            _ => true,
        };
        if is_at_rebase == is_rebasing(path) && has_what_it_says {
            return Ok(Worker { agent, worktree_path: worker.worktree_path, ..known.clone() });
        }
    }
    let said = later.map(|record| (record["task"].as_str(), record["rejected"].as_str()));
    worker.task = match (is_rebasing(path), is_ahead, said) {
        (true, ..) => Task::Rebasing { from: Before::NeedsReview, pre_sha: tip.clone() },
        // What was rejected is no news; a commit since then is.
        (_, _, Some((Some("rejected"), rejected))) if rejected == Some(&tip) => Task::Rejected,
        (_, false, Some((Some("working"), _))) => Task::Working,
        (_, true, _) => Task::NeedsReview,
        (_, false, _) => Task::Idle,
    };
    if worker.task != Task::Idle {
        worker.onto_sha = known.and_then(|known| known.onto_sha.clone());
        worker.prompt = known.and_then(|known| known.prompt.clone());
    }
    match worker.task {
        Task::Idle => {}
        Task::Working | Task::Rejected => worker.baseline_sha = Some(tip),
        Task::NeedsReview | Task::Rebasing { .. } => worker.commit_sha = Some(tip),
    }
    Ok(worker)
}
