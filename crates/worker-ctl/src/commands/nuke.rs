//! `nuke` and `reset`: a worker, or its task, is given up; its work is kept where it is anywhere else already, or on demand.

use std::path::Path;

use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::ui::printable;

use super::{Site, hook};
use crate::apply::{publish, session, trash};
use crate::facts::is_rebasing;
use crate::facts::losses::Losses;
use crate::plan::machine::Event;
use crate::store;
use crate::tmux::deliver;
use crate::worker::{Session, Worker};

pub fn nuke(site: &Site<'_>, name: Option<&str>, all: bool, force: bool, yes: bool) -> Result<Exit> {
    site.finish_left()?;
    let state = store::load(&site.root.path)?;
    let workers: Vec<Worker> = match (name, all) {
        (Some(name), false) => vec![state.require(name)?.clone()],
        (None, true) => state.workers.values().cloned().collect(),
        _ => return Err(Failure::usage("name a worker, or use `--all`").hint("`worker-ctl status` lists them")),
    };
    let names = workers.iter().map(|worker| worker.name.as_str()).collect::<Vec<_>>().join(", ");
    renew_base(site);
    // All are looked at before one is touched.
    for worker in &workers {
        refuse_loss(site, worker, force)?;
    }
    if workers.iter().filter(|worker| site.would(gone(site, worker))).count() > 0 {
        return Ok(Exit::Done);
    }
    if !yes {
        let declined = || Failure::new(Exit::Decide, "undecided", format!("nothing was removed: {names}"));
        if !site.ui.can_ask() {
            return Err(declined().hint("a person must decide: run it on a terminal, or with `--yes`"));
        }
        if !site.ui.confirm(&format!("Remove {names}, with their sessions, worktrees and branches?")) {
            return Err(declined());
        }
    }
    for worker in &workers {
        let _lock = site.lock(&worker.name)?;
        let Some(worker) = store::load(&site.root.path)?.workers.get(&worker.name).cloned() else { continue };
        let kept = remove(site, &worker, force)?;
        site.ui.note(format!("{} is gone", worker.name));
        answer(site, &worker.name, &kept);
    }
    Ok(Exit::Done)
}

/// What is to be removed, for a person.
fn gone(site: &Site<'_>, worker: &Worker) -> String {
    let lost = Losses::of(&site.clone, worker).map(|found| found.told().len()).unwrap_or_default();
    let kept = if lost > 0 { format!(", and keep {lost} commits and files of it under a ref") } else { String::new() };
    format!("remove {} with {} and {}{kept}", worker.name, worker.worktree_path, worker.branch)
}

/// Under the worker's lock: nothing writes any more, then everything is kept, then it goes; the state last, so that after
/// a kill the same command goes on.
fn remove(site: &Site<'_>, worker: &Worker, force: bool) -> Result<Vec<String>> {
    let tree = Path::new(&worker.worktree_path);
    refuse_loss(site, worker, force)?;
    trash::refuse_locked(site, worker)?;
    // Asked before its program is ended, and again for what that wrote at the last.
    trash::take_leave(site, worker)?.require(tree, force)?;
    if site.tmux()?.is_running() {
        session::end(site, std::slice::from_ref(worker), force)?;
    }
    refuse_loss(site, worker, force)?;
    let farewell = trash::take_leave(site, worker)?;
    farewell.require(tree, force)?;
    farewell.notes.iter().chain(&farewell.refused).for_each(|note| site.ui.note(note));
    let dir = &site.root.path;
    let branch = format!("refs/heads/{}", worker.branch);
    let tip = site.clone.commit(dir, &branch)?;
    let mut kept = trash::keep(site, worker)?;
    let removed = || -> Result<Vec<String>> {
        let aside = trash::remove_worktree(site, worker, !kept.is_empty())?;
        if let Some(tip) = tip {
            // Only as it was kept.
            site.clone.ask(dir, &["update-ref", "-d", &branch, &tip])?;
        }
        publish::drop_journal(&site.clone, &worker.name)?;
        site.unpin(&worker.name)?;
        hook::remove(dir, &worker.name)?;
        deliver::forget_files(dir, &worker.name)?;
        forget_table(site, &worker.name)?;
        store::update(dir, |state| {
            state.workers.remove(&worker.name);
            state.last_reviewed.take_if(|last| *last == worker.name);
            Ok(())
        })?;
        Ok(aside)
    };
    let aside = told(&kept, removed())?;
    kept.extend(aside);
    Ok(kept)
}

/// A failure also says where what was kept is.
fn told<T>(kept: &[String], done: Result<T>) -> Result<T> {
    done.map_err(|failure| kept.iter().fold(failure, |failure, place| failure.hint(format!("kept: {place}"))))
}

/// Where its work is kept.
fn answer(site: &Site<'_>, name: &str, kept: &[String]) {
    match site.ui.is_json() {
        true => site.ui.json(&json!({ "worker": name, "kept": kept })),
        false => kept.iter().for_each(|place| site.ui.line(printable(place))),
    }
}

/// Idle again, on the default branch, with a program that knows nothing of the task.
pub fn reset(site: &Site<'_>, name: &str, force: bool) -> Result<Exit> {
    site.finish_left()?;
    store::load(&site.root.path)?.require(name)?;
    let _lock = site.lock(name)?;
    let worker = store::load(&site.root.path)?.require(name)?.clone();
    renew_base(site);
    let base = site.clone.require_base()?;
    refuse_loss(site, &worker, force)?;
    if site.would(format!("put {} on {base}, and make {name} idle", worker.worktree_path)) {
        return Ok(Exit::Done);
    }
    let tree = Path::new(&worker.worktree_path);
    if !tree.is_dir() {
        return Err(Failure::failed(format!("{} is missing", tree.display()))
            .hint("`worker-ctl doctor --repair` makes it again from its branch"));
    }
    let is_up = worker.session == Session::Up;
    if is_up {
        session::end(site, std::slice::from_ref(&worker), force)?;
    }
    refuse_loss(site, &worker, force)?;
    // Ignored files stay: nothing is lost where that fails.
    let farewell = trash::share(site, &worker)?;
    farewell.notes.iter().chain(&farewell.refused).for_each(|note| site.ui.note(note));
    let mut kept = trash::keep(site, &worker)?;
    let aside = told(&kept, put_back(site, &worker, &base))?;
    kept.extend(aside);
    site.record(name, &Event::Reset)?;
    if is_up {
        told(&kept, store::load(&site.root.path)?.require(name).and_then(|worker| session::start(site, worker)))?;
    }
    answer(site, name, &kept);
    Ok(Exit::Done)
}

/// Its worktree on its branch, at the default branch's commit; gives back where repositories in it went.
fn put_back(site: &Site<'_>, worker: &Worker, base: &str) -> Result<Vec<String>> {
    let tree = Path::new(&worker.worktree_path);
    let mut kept = trash::set_aside(site, worker)?;
    if is_rebasing(tree) {
        // Its commits are kept; its files go back below.
        crate::facts::require_own_rebase(worker)?;
        site.clone.ask(tree, &["rebase", "--quit"])?;
    }
    site.clone.ask(tree, &["checkout", "--quiet", "--force", "--no-track", "-B", &worker.branch, base])?;
    kept.extend(trash::set_aside(site, worker)?);
    site.clone.ask(tree, &["clean", "--quiet", "-f", "-d"])?;
    Ok(kept)
}

/// What the source has got meanwhile is no loss; where it cannot be asked, more counts as lost.
fn renew_base(site: &Site<'_>) {
    if let Err(failure) = site.clone.fetched(&site.source()) {
        site.ui.warn(failure);
    }
}

fn refuse_loss(site: &Site<'_>, worker: &Worker, force: bool) -> Result<()> {
    let found = Losses::of(&site.clone, worker)?;
    if found.is_empty() || force {
        return Ok(());
    }
    Err(Failure::new(Exit::No, "unmerged", format!("{} has work that is nowhere else", worker.name))
        .details(found.told().into_iter().take(20).map(|line| printable(&line)))
        .hint("accept or save it first, or let `--force` keep it under refs/shopfloor/trash/"))
}

/// Its table in config.toml; the rest of the file stays.
fn forget_table(site: &Site<'_>, name: &str) -> Result<()> {
    let _lock = site.lock_out("config")?;
    let path = site.root.path.join("config.toml");
    let text = String::from_utf8_lossy(&fs::read(&path)?.unwrap_or_default()).into_owned();
    let Ok(mut document) = text.parse::<toml_edit::DocumentMut>() else { return Ok(()) };
    let removed = document
        .get_mut("workers")
        .and_then(|workers| workers.as_table_like_mut())
        .and_then(|table| table.remove(name));
    match removed {
        Some(_) => fs::replace(&path, document.to_string().as_bytes(), None),
        None => Ok(()),
    }
}
