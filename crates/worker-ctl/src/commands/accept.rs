//! `accept`: a worker's work onto the source's default branch. What lands is what was reviewed.

use std::path::Path;

use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::lock::Lock;

use super::{Site, patrol};
use crate::apply::publish::{self, Merge};
use crate::facts::conflicts;
use crate::plan::machine::Event;
use crate::store;
use crate::worker::{Session, Task, Worker};

pub fn run(site: &Site<'_>, name: Option<&str>, force: bool, message: Option<&str>) -> Result<Exit> {
    site.finish_accepts()?;
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
        site.clone.fetch()?;
        let base = site.clone.require_base()?;
        let tree = match publish::merge(&site.clone, &base, &sha)? {
            Merge::Nothing => {
                settle(site, &worker, &base)?;
                return Ok(answer(site, &name, "nothing_to_merge", &base));
            }
            Merge::Conflict => return conflict(site, &worker, &base, &sha),
            Merge::Tree(tree) => tree,
        };
        let new = publish::commit(&site.clone, &site.root, &worker, &tree, &base, &sha, message)?;
        match publish::publish(&site.clone, &site.source(), &name, &base, &new) {
            Ok(()) => {
                settle(site, &worker, &new)?;
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

/// Clean, and what was reviewed.
fn check(site: &Site<'_>, worker: &Worker, sha: &str, force: bool) -> Result<()> {
    let dirty = site.clone.dirty(Path::new(&worker.worktree_path))?;
    if !dirty.is_empty() {
        return Err(Failure::new(Exit::No, "dirty", format!("{} has uncommitted changes", worker.worktree_path))
            .details(dirty.into_iter().take(10).map(|path| format!("  {path}")))
            .hint(format!("ask for a commit: `worker-ctl message {} 'Commit your changes'`", worker.name)));
    }
    match &worker.reviewed_patch {
        None => site.ui.note(format!("{} was not reviewed", worker.name)),
        Some(patch) if *patch != site.clone.work_of(sha)? && !force => {
            return Err(Failure::new(Exit::No, "changed", format!("{} changed since it was reviewed", worker.name))
                .hint(format!("look again: `worker-ctl review {}`, or use `--force`", worker.name)));
        }
        Some(_) => {}
    }
    Ok(())
}

/// The worktree on what the source has now, in place: the agent's directory stays. Then it is idle.
pub fn settle(site: &Site<'_>, worker: &Worker, at: &str) -> Result<()> {
    site.clone.fetch()?;
    site.clone.ask(Path::new(&worker.worktree_path), &["reset", "--quiet", "--hard", at])?;
    site.record(&worker.name, &Event::Accepted)?;
    store::update(&site.root.path, |state| {
        if state.last_reviewed.as_ref() == Some(&worker.name) {
            state.last_reviewed = None;
        }
        Ok(())
    })
}

/// A real rebase in its worktree, and the worker is told.
pub fn conflict(site: &Site<'_>, worker: &Worker, base: &str, sha: &str) -> Result<Exit> {
    let name = &worker.name;
    if worker.session != Session::Up {
        return Err(Failure::new(
            Exit::No,
            "conflict",
            format!("{name} conflicts with {}, and has no session", site.clone.branch),
        )
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
    let listed: Vec<String> = files.iter().map(|(path, kind)| format!("  {path} ({kind})")).collect();
    let text = format!(
        "Your commit conflicts with {branch}, and a rebase onto it is under way in your worktree. {count} files have conflicts:\n\n{list}\n\n\
         In each, `git show :2:FILE` is {branch}'s version and `git show :3:FILE` is yours. Edit the files, remove the markers, \
         `git add` them, then `git rebase --continue`. Do not push.",
        branch = site.clone.branch,
        count = files.len(),
        list = listed.join("\n")
    );
    let event = Event::Conflict { pre_sha: sha.to_owned(), base: base.to_owned() };
    if let Err(failure) = site.deliver(worker, &event, &text) {
        site.clone.run(tree, &["rebase", "--abort"])?;
        return Err(failure);
    }
    if site.ui.is_json() {
        site.ui.json(&json!({ "worker": name, "outcome": "rebasing", "sha": sha, "branch": site.clone.branch }));
    } else {
        site.ui.note(format!("{name} conflicts with {} and was told to resolve it", site.clone.branch));
        listed.iter().for_each(|line| site.ui.note(line.trim()));
    }
    Ok(Exit::No)
}
