//! Giving up a worker, or its task. Its work is kept where it is anywhere else already, or on demand.

use std::path::Path;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;

use crate::apply::{publish, session, transition, trash};
use crate::clone::{is_rebasing, require_own_rebase};
use crate::facts::losses::Losses;
use crate::layout::{self, RootLock};
use crate::plan::machine::Input;
use crate::plan::removal::refuse_loss;
use crate::receipt;
use crate::site::Site;
use crate::store;
use crate::tmux::typing;
use crate::worker::{Session, Worker};

/// Removes a worker under its lock: first nothing writes any more, then everything is kept, then it goes. The state comes
/// last, so that after a kill the same command goes on. Gives back where its work is kept.
pub fn nuke(site: &Site<'_>, worker: &Worker, is_forced: bool) -> Result<Vec<String>> {
    let tree = Path::new(&worker.worktree_path);
    check_losses(site, worker, is_forced)?;
    trash::refuse_locked(site, worker)?;
    // Asked before its program is ended, and again for what that wrote at the last.
    trash::take_leave(site, worker)?.require(tree, is_forced)?;
    if site.tmux()?.is_running() {
        session::end(site, std::slice::from_ref(worker), is_forced)?;
    }
    check_losses(site, worker, is_forced)?;
    let farewell = trash::take_leave(site, worker)?;
    farewell.require(tree, is_forced)?;
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
        transition::unpin(site, &worker.name)?;
        receipt::remove(dir, &worker.name)?;
        typing::forget_files(dir, &worker.name)?;
        forget_table(site, &worker.name)?;
        store::update(dir, |state| {
            state.workers.remove(&worker.name);
            state.last_reviewed.take_if(|last| *last == worker.name);
            Ok(())
        })?;
        Ok(aside)
    };
    let aside = with_kept(&kept, removed())?;
    kept.extend(aside);
    Ok(kept)
}

/// Makes a worker idle under its lock, on the default branch's commit `base`, with a program that knows nothing of the task.
/// Gives back where its work is kept.
pub fn reset(site: &Site<'_>, worker: &Worker, base: &str, is_forced: bool) -> Result<Vec<String>> {
    let name = &worker.name;
    let tree = Path::new(&worker.worktree_path);
    if !tree.is_dir() {
        return Err(Failure::failed(format!("{} is missing", tree.display()))
            .hint("`worker-ctl doctor --repair` makes it again from its branch"));
    }
    let is_up = worker.session == Session::Up;
    if is_up {
        session::end(site, std::slice::from_ref(worker), is_forced)?;
    }
    check_losses(site, worker, is_forced)?;
    // Ignored files stay, so nothing is lost where this fails.
    let farewell = trash::share(site, worker)?;
    farewell.notes.iter().chain(&farewell.refused).for_each(|note| site.ui.note(note));
    let mut kept = trash::keep(site, worker)?;
    let aside = with_kept(&kept, put_back(site, worker, base))?;
    kept.extend(aside);
    transition::record(site, name, &Input::Reset)?;
    if is_up {
        with_kept(&kept, store::load(&site.root.path)?.require(name).and_then(|worker| session::start(site, worker)))?;
    }
    Ok(kept)
}

/// Reads what would be lost, and refuses it unless it is to be kept.
pub fn check_losses(site: &Site<'_>, worker: &Worker, is_forced: bool) -> Result<Losses> {
    let losses = Losses::read(&site.clone, worker)?;
    refuse_loss(worker, &losses, is_forced)?;
    Ok(losses)
}

/// A failure also says where the work is kept.
fn with_kept<T>(kept: &[String], done: Result<T>) -> Result<T> {
    done.map_err(|failure| kept.iter().fold(failure, |failure, place| failure.hint(format!("kept: {place}"))))
}

/// Puts a worktree on its branch, at the default branch's commit; gives back where repositories in it went.
fn put_back(site: &Site<'_>, worker: &Worker, base: &str) -> Result<Vec<String>> {
    let tree = Path::new(&worker.worktree_path);
    let mut kept = trash::set_aside(site, worker)?;
    if is_rebasing(tree) {
        // Its commits are kept; its files go back below.
        require_own_rebase(worker)?;
        site.clone.ask(tree, &["rebase", "--quit"])?;
    }
    site.clone.ask(tree, &["checkout", "--quiet", "--force", "--no-track", "-B", &worker.branch, base])?;
    kept.extend(trash::set_aside(site, worker)?);
    site.clone.ask(tree, &["clean", "--quiet", "-f", "-d"])?;
    Ok(kept)
}

/// Removes a worker's table from config.toml; the rest of the file stays.
fn forget_table(site: &Site<'_>, name: &str) -> Result<()> {
    let _lock = site.lock_root(RootLock::Config)?;
    let path = layout::config(&site.root.path);
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
