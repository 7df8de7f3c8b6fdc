//! `up` and `down`: sessions come and go, tasks stay.

use std::path::Path;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::printable;

use super::Site;
use crate::apply::session;
use crate::plan::machine::Event;
use crate::store;
use crate::worker::Worker;

pub fn up(site: &Site<'_>, names: &[String]) -> Result<Exit> {
    site.finish_accepts()?;
    let state = store::load(&site.root.path)?;
    let wanted: Vec<Worker> = match names {
        [] => state.workers.values().filter(|worker| worker.fault.is_none()).cloned().collect(),
        names => names.iter().map(|name| state.require(name).cloned()).collect::<Result<_>>()?,
    };
    let mut failures = Vec::new();
    for worker in &wanted {
        let _lock = site.lock(&worker.name)?;
        if !Path::new(&worker.worktree_path).is_dir() {
            site.record(&worker.name, &Event::Fault { reason: "worktree missing".into() })?;
            failures.push(format!("{}: its worktree {} is missing", worker.name, worker.worktree_path));
            continue;
        }
        match session::start(site, worker) {
            Ok(_) => site.ui.note(format!("{} is up", worker.name)),
            Err(failure) => failures.push(format!("{}: {failure}", worker.name)),
        }
    }
    match failures.is_empty() {
        true => Ok(Exit::Done),
        false => {
            Err(Failure::failed("not all workers are up").details(failures).hint("`worker-ctl status` shows them"))
        }
    }
}

pub fn down(site: &Site<'_>, force: bool) -> Result<Exit> {
    let state = store::load(&site.root.path)?;
    let workers: Vec<Worker> = state.workers.values().cloned().collect();
    let tmux = site.tmux()?;
    if tmux.is_running() {
        session::end(site, &workers, force)?;
        tmux.kill()?;
    } else {
        for worker in &workers {
            site.record(&worker.name, &Event::SessionGone)?;
        }
    }
    site.ui.note(format!(
        "{} are down: {}",
        workers.len(),
        printable(&state.workers.keys().cloned().collect::<Vec<_>>().join(", "))
    ));
    Ok(Exit::Done)
}
