//! `accept`: a worker's work onto the source's default branch. What lands is what was reviewed.

use std::path::Path;

use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::lock::Lock;
use shopfloor_core::ui::printable;

use super::{Site, patrol};
use crate::apply::publish::{self, Merge};
use crate::facts::{Conflict, conflicts, is_rebasing, left_markers};
use crate::plan::machine::Event;
use crate::store;
use crate::tmux::deliver;
use crate::worker::{Session, Task, Worker};

pub fn run(site: &Site<'_>, name: Option<&str>, force: bool, message: Option<&str>) -> Result<Exit> {
    site.finish_left()?;
    patrol::tick(site)?;
    let state = store::load(&site.root.path)?;
    let name = match name {
        Some(name) => state.require(name)?.name.clone(),
        None => state.last_reviewed.clone().ok_or_else(|| {
            Failure::new(Exit::No, "wrong_state", "nothing was reviewed")
                .hint("name the worker, or look first: `worker-ctl review`")
        })?,
    };
    let _lock = site.lock(&name)?;
    let worker = store::load(&site.root.path)?.require(&name)?.clone();
    let Some(sha) = worker.commit_sha.clone().filter(|_| worker.task == Task::NeedsReview) else {
        return Err(Failure::new(Exit::No, "wrong_state", format!("{name} is {}", worker.task.word()))
            .hint("`worker-ctl status` shows who needs review"));
    };
    check(site, &worker, &sha, force)?;
    let _publishing = Lock::take(&site.root.path.join("locks/publish.lock"))?;
    for _ in 0..2 {
        let base = site.clone.fetched(&site.source())?;
        let tree = match publish::merge(&site.clone, &base, &sha)? {
            Merge::Nothing => {
                settle(site, &worker, &sha, &base)?;
                return Ok(answer(site, &name, "nothing_to_merge", &base));
            }
            Merge::Conflict => return conflict(site, &worker, &base, &sha),
            Merge::Tree(tree) => tree,
        };
        let new = publish::commit(&site.clone, &site.root, &worker, &tree, &base, &sha, message)?;
        match publish::publish(&site.clone, &site.source(), &name, &sha, &base, &new) {
            Ok(()) => {
                settle(site, &worker, &sha, &new)?;
                publish::drop_journal(&site.clone, &name)?;
                return Ok(answer(site, &name, "accepted", &new));
            }
            Err(failure) if failure.kind == publish::MOVED => site.ui.detail(failure.message),
            Err(failure) => return Err(failure),
        }
    }
    Err(Failure::new(Exit::No, "not_published", format!("{} of the source keeps moving", site.clone.branch))
        .hint("run the same command again"))
}

fn answer(site: &Site<'_>, name: &str, outcome: &str, sha: &str) -> Exit {
    if site.ui.is_json() {
        site.ui.json(&json!({ "worker": name, "outcome": outcome, "sha": sha, "branch": site.clone.branch }));
    } else {
        match outcome {
            "accepted" => site.ui.line(sha),
            _ => site.ui.note(format!("there is nothing to merge: {} has all of {name}'s work", site.clone.branch)),
        }
    }
    Exit::Done
}

/// Clean, at what is to land, without conflict markers, and what was reviewed.
fn check(site: &Site<'_>, worker: &Worker, sha: &str, force: bool) -> Result<()> {
    let name = &worker.name;
    let tree = Path::new(&worker.worktree_path);
    let dirty = site.clone.dirty(tree)?;
    if !dirty.is_empty() {
        return Err(Failure::new(Exit::No, "dirty", format!("{} has uncommitted changes", worker.worktree_path))
            .details(dirty.into_iter().take(10).map(|path| format!("  {path}")))
            .hint(format!("ask for a commit: `worker-ctl message {name} 'Commit your changes'`")));
    }
    if is_rebasing(tree) || site.clone.ask(tree, &["rev-parse", "HEAD"])? != sha {
        return Err(Failure::new(Exit::No, "wrong_state", format!("{name} is not at its commit {sha}"))
            .hint(format!("see what it is at: `worker-ctl attach {name}`")));
    }
    let markers = left_markers(&site.clone, sha, &worker.conflicted)?;
    if !markers.is_empty() && !force {
        return Err(Failure::new(Exit::No, "markers", "conflict markers are left in its files")
            .details(markers.into_iter().map(|path| format!("  {path}")))
            .hint(format!("ask for them to be resolved: `worker-ctl message {name} TEXT`, or use `--force`")));
    }
    match &worker.reviewed_patch {
        None => site.ui.note(format!("{name} was not reviewed")),
        Some(patch) if *patch != site.clone.work_of(sha)? && !force => {
            return Err(Failure::new(Exit::No, "changed", format!("{name} changed since it was reviewed"))
                .hint(format!("look again: `worker-ctl review {name}`, or use `--force`")));
        }
        Some(_) => {}
    }
    Ok(())
}

/// The worktree on what the source has now, in place: the agent's directory stays. Then it is idle. What came after the
/// commit that landed is not touched: then the worker has new work, and `false` comes back.
pub fn settle(site: &Site<'_>, worker: &Worker, landed: &str, at: &str) -> Result<bool> {
    site.clone.fetch()?;
    let tree = Path::new(&worker.worktree_path);
    let is_there = tree.is_dir() && !is_rebasing(tree) && site.clone.ask(tree, &["rev-parse", "HEAD"])? == landed;
    // `--keep` refuses where a change is in the way.
    let is_moved = is_there && site.clone.run(tree, &["reset", "--quiet", "--keep", at])?.status.success();
    if is_moved {
        site.record(&worker.name, &Event::Accepted)?;
    } else {
        site.ui.warn(format!("{} went on after that commit, so its worktree stays as it is", worker.name));
    }
    store::update(&site.root.path, |state| {
        state.last_reviewed.take_if(|last| *last == worker.name);
        Ok(is_moved)
    })
}

/// A real rebase in its worktree, and the worker is told.
pub fn conflict(site: &Site<'_>, worker: &Worker, base: &str, sha: &str) -> Result<Exit> {
    let name = &worker.name;
    let branch = &site.clone.branch;
    if worker.session != Session::Up {
        return Err(Failure::new(Exit::No, "conflict", format!("{name} conflicts with {branch}, and has no session"))
            .hint(format!("bring it up, so that it can be told: `worker-ctl up {name}`")));
    }
    let tree = Path::new(&worker.worktree_path);
    let rebased = site.clone.run(tree, &["-c", "advice.mergeConflict=false", "rebase", "--quiet", base])?;
    if rebased.status.success() {
        let head = site.clone.ask(tree, &["rev-parse", "HEAD"])?;
        site.record(name, &Event::Rebased { sha: head })?;
        return Err(Failure::new(Exit::No, "conflict", format!("{name} was rebased and merges now"))
            .hint("run the same command again"));
    }
    let files = conflicts(&site.clone, tree)?;
    let names = files.iter().map(|file| file.path.clone()).collect();
    let event = Event::Conflict { pre_sha: sha.to_owned(), base: base.to_owned(), files: names };
    if let Err(failure) = site.deliver(worker, &event, &prompt(site, &files)) {
        // In doubt the worker may have been told, and may be at it.
        if failure.kind == deliver::NOT {
            site.clone.ask(tree, &["rebase", "--abort"])?;
        }
        return Err(failure);
    }
    if site.ui.is_json() {
        site.ui.json(&json!({ "worker": name, "outcome": "rebasing", "sha": sha, "branch": branch }));
    } else {
        site.ui.note(format!("{name} conflicts with {branch} and was told to resolve it"));
        files.iter().for_each(|file| site.ui.note(printable(&format!("{} ({})", file.path, file.kind))));
    }
    Ok(Exit::No)
}

/// What a worker with conflicts is told: why, where, which side is which, and what to do.
fn prompt(site: &Site<'_>, files: &[Conflict]) -> String {
    let branch = &site.clone.branch;
    let count = match files.len() {
        1 => "1 file has".to_owned(),
        n => format!("{n} files have"),
    };
    let mut text = format!(
        "Your work conflicts with what {branch} is by now. A rebase of it onto {branch} is under way in your worktree, and {count} conflicts:\n\n"
    );
    for file in files {
        let markers = match file.markers {
            0 => String::new(),
            1 => ", in 1 place".to_owned(),
            n => format!(", in {n} places"),
        };
        text.push_str(&format!("  {} ({}{markers})\n", file.path, file.kind));
    }
    for file in files.iter().filter(|file| !file.regions.is_empty()) {
        text.push_str(&format!("\n{}:\n{}\n", file.path, file.regions));
    }
    text.push_str(&format!(
        "\nIn a rebase the sides are the other way round: `git show :2:FILE` and what stands between <<<<<<< and ======= is {branch}'s; \
         `git show :3:FILE` is yours, as is what stands between ======= and >>>>>>>.\n\n\
         1. Look at each file, and decide what it is to be: both sides were meant.\n\
         2. Remove the markers, and `git add` the file (or `git rm` it).\n\
         3. `git rebase --continue`; do it again if another commit conflicts.\n"
    ));
    if let Some(validate) = &site.root.config.repo.validate {
        text.push_str(&format!("4. Run `{validate}`, and mend what fails.\n"));
    }
    text.push_str("\nTo give up: `git rebase --abort`. Do not push.");
    text
}
