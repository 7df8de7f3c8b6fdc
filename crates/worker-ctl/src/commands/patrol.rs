//! `patrol`: one look at who committed and whose program ended.

use std::path::Path;

use shopfloor_core::error::{Exit, Result};
use shopfloor_core::lock::Lock;

use super::{Site, rebase};
use crate::facts::{is_rebasing, new_commit};
use crate::plan::machine::Event;
use crate::store;
use crate::tmux::Pane;
use crate::worker::{Session, Task, Worker};

/// A day, after which crashes are forgotten.
const DAY: i64 = 24 * 60 * 60;

pub fn run(site: &Site<'_>) -> Result<Exit> {
    let _tick = Lock::take(&site.root.path.join("locks/patrol.lock"))?;
    site.finish_accepts()?;
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
        for event in liveness(site, worker, pane)? {
            site.record(&worker.name, &event)?;
        }
        let path = Path::new(&worker.worktree_path);
        let Some(tree) = trees.get(path).filter(|_| path.is_dir()) else {
            if worker.fault.as_deref() != Some("worktree missing") {
                site.record(&worker.name, &Event::Fault { reason: "worktree missing".into() })?;
            }
            continue;
        };
        let event = match &worker.task {
            Task::Working | Task::Rejected | Task::NeedsReview => {
                new_commit(&site.clone, worker, tree)?.map(|sha| Event::Commit { sha })
            }
            Task::Rebasing { .. } if !is_rebasing(path) => {
                let unmerged = !crate::facts::conflicts(&site.clone, path)?.is_empty();
                (!unmerged).then(|| Event::RebaseDone { sha: tree.head.clone() })
            }
            Task::Idle | Task::Rebasing { .. } => None,
        };
        if let Some(event) = event {
            site.record(&worker.name, &event)?;
        }
        if worker.last_crash_unix.is_some_and(|last| site.now() - last >= DAY) {
            site.record(&worker.name, &Event::Quiet)?;
        }
    }
    Ok(())
}

/// Brings reviews that the default branch has left behind onto it again: one fetch, and nothing where it has not moved.
pub fn refresh(site: &Site<'_>) -> Result<()> {
    site.clone.fetch()?;
    let base = site.clone.require_base()?;
    let is_behind = |worker: &Worker| worker.task == Task::NeedsReview && worker.base_sha.as_ref() != Some(&base);
    for worker in store::load(&site.root.path)?.workers.values().filter(|worker| is_behind(worker)) {
        let _lock = site.lock(&worker.name)?;
        let now = store::load(&site.root.path)?.require(&worker.name)?.clone();
        rebase::stale(site, &now, &base)?;
    }
    Ok(())
}

/// What became of a session since it was looked at last.
fn liveness(site: &Site<'_>, worker: &Worker, pane: Option<&Pane>) -> Result<Vec<Event>> {
    Ok(match pane {
        None if worker.session == Session::Up => vec![Event::SessionGone],
        None => vec![],
        // tmux does not know yet how it ended.
        Some(Pane { end: Some(Session::Down), .. }) => vec![],
        Some(pane) => match pane.end {
            Some(end) if worker.session == Session::Up => {
                let agent = site.root.agent(&worker.agent)?;
                let is_ok = matches!(end, Session::Code(code) if agent.is_ok_exit(code));
                vec![Event::Exited { pane: pane.id.clone(), end, is_ok }]
            }
            _ => vec![],
        },
    })
}
