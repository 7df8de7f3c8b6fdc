//! `patrol`: one look at who committed and whose program ended.

use std::path::Path;

use shopfloor_core::error::{Exit, Result};
use shopfloor_core::lock::Lock;

use super::{Site, rebase};
use crate::apply::session;
use crate::facts::{self, Tree, is_rebasing, new_commit};
use crate::log;
use crate::plan::machine::{Event, MISSING};
use crate::store;
use crate::tmux::Pane;
use crate::worker::{Session, Task, Worker};

/// A day, after which crashes are forgotten.
const DAY: i64 = 24 * 60 * 60;

pub fn run(site: &Site<'_>) -> Result<Exit> {
    let _tick = Lock::take(&site.root.path.join("locks/patrol.lock"))?;
    site.finish_left()?;
    tick(site)?;
    refresh(site)?;
    Ok(Exit::Done)
}

/// A look, and what it comes to. Done twice without anything new, the second is without effect.
pub fn tick(site: &Site<'_>) -> Result<()> {
    let state = store::load(&site.root.path)?;
    let panes = site.tmux()?.panes()?;
    let trees = site.clone.trees()?;
    for worker in state.workers.values() {
        let pane = panes.iter().find(|pane| pane.session == worker.session_id);
        let mut now = worker.clone();
        while let Some(event) = next(site, &now, pane, &trees)? {
            match site.observe(&now, &event)? {
                Some(after) if after != now => now = after,
                // Somebody else was at it: the next look sees what it is by then.
                _ => break,
            }
        }
        if let Some(pane) = pane.filter(|pane| pane.end.is_none())
            && log::rotate(&log::of_worker(&site.root.path, &worker.name))?
        {
            let tmux = site.tmux()?;
            tmux.must(&["pipe-pane", "-t", &pane.id])?;
            session::keep_log(site, &tmux, &worker.name, &pane.id)?;
        }
    }
    Ok(())
}

/// What has happened to a worker that its record does not tell yet.
fn next(site: &Site<'_>, worker: &Worker, pane: Option<&Pane>, trees: &facts::Trees) -> Result<Option<Event>> {
    if let Some(event) = liveness(site, worker, pane)? {
        return Ok(Some(event));
    }
    if worker.last_crash_unix.is_some_and(|last| site.now() - last >= DAY) {
        return Ok(Some(Event::Quiet));
    }
    let path = Path::new(&worker.worktree_path);
    let is_missing = worker.fault.as_deref() == Some(MISSING);
    let Some(tree) = trees.get(path).filter(|_| path.is_dir()) else {
        return Ok((!is_missing).then(|| Event::Fault { reason: MISSING.into() }));
    };
    if is_missing {
        return Ok(Some(Event::Mended { reason: MISSING.into() }));
    }
    work(site, worker, path, tree)
}

fn work(site: &Site<'_>, worker: &Worker, path: &Path, tree: &Tree) -> Result<Option<Event>> {
    match &worker.task {
        Task::Idle => Ok(None),
        Task::Working | Task::Rejected => {
            let Some(sha) = new_commit(&site.clone, worker, tree)? else { return Ok(None) };
            let is_known = match &worker.baseline_patch {
                Some(known) => *known == site.clone.work_of(&sha)?,
                None => false,
            };
            Ok((!is_known).then_some(Event::Commit { sha }))
        }
        Task::NeedsReview => {
            let Some(sha) = new_commit(&site.clone, worker, tree)? else { return Ok(None) };
            let before = worker.commit_sha.clone().unwrap_or_default();
            // It sits somewhere else, and is the same work: it was rebased.
            match site.clone.work_of(&before)? == site.clone.work_of(&sha)? {
                true => Ok(Some(Event::Rebased { sha })),
                false => Ok(Some(Event::Commit { sha })),
            }
        }
        Task::Rebasing { .. } if is_rebasing(path) || !facts::conflicts(&site.clone, path)?.is_empty() => Ok(None),
        Task::Rebasing { .. } => {
            let sha = tree.head.clone();
            let markers = facts::left_markers(&site.clone, &sha, &worker.conflicted)?;
            Ok(Some(Event::RebaseDone { sha, markers }))
        }
    }
}

/// Brings reviews that the default branch has left behind onto it again: nothing is fetched where it has not moved.
pub fn refresh(site: &Site<'_>) -> Result<()> {
    let base = site.clone.fetched(&site.source())?;
    let is_behind = |worker: &&Worker| worker.task == Task::NeedsReview && worker.base_sha.as_ref() != Some(&base);
    for worker in store::load(&site.root.path)?.workers.values().filter(is_behind) {
        let Some(_lock) = Lock::try_take(&site.lock_path(&worker.name))? else { continue };
        let now = store::load(&site.root.path)?.require(&worker.name)?.clone();
        rebase::stale(site, &now, &base)?;
    }
    Ok(())
}

/// What became of a session since it was looked at last.
fn liveness(site: &Site<'_>, worker: &Worker, pane: Option<&Pane>) -> Result<Option<Event>> {
    if worker.session != Session::Up {
        return Ok(None);
    }
    let Some(pane) = pane else { return Ok(Some(Event::SessionGone)) };
    match pane.end {
        // tmux does not know yet how it ended.
        None | Some(Session::Down) => Ok(None),
        Some(end) => {
            let is_ok = match end {
                Session::Code(code) => site.root.agent(&worker.agent)?.is_ok_exit(code),
                _ => false,
            };
            Ok(Some(Event::Exited { pane: pane.id.clone(), end, is_ok }))
        }
    }
}
