//! `accept`: a worker's work onto the source's default branch. What lands is what was reviewed.

use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::printable;

use super::{Site, patrol};
use crate::apply::publish;
use crate::apply::rebase::{self, Rebased};
use crate::apply::trash;
use crate::conflict::Conflict;
use crate::facts::{Merge, left_markers};
use crate::plan::machine::Event;
use crate::store;
use crate::worker::{Task, Worker};

pub fn run(site: &Site<'_>, name: Option<&str>, force: bool, message: Option<&str>) -> Result<Exit> {
    site.finish_left()?;
    patrol::tick(site)?;
    let worker = chosen(site, name)?;
    let name = worker.name.clone();
    let lock = site.lock(&name)?;
    let worker = store::load(&site.root.path)?.require(&name)?.clone();
    if let Task::Rebasing { pre_sha, .. } = &worker.task {
        // It was told when the default branch moved on.
        return Ok(answer(site, &worker, pre_sha, &Outcome::Rebasing(worker.conflicted.clone())));
    }
    if let Some(new) = site.finished(&name).filter(|_| worker.task == Task::Idle) {
        return Ok(answer(site, &worker, &new, &Outcome::Accepted(new.clone())));
    }
    let sha = check(site, &worker, force)?;
    let Some(outcome) = land(site, &worker, &sha, message, force)? else { return Ok(Exit::Done) };
    drop(lock);
    if matches!(outcome, Outcome::Accepted(_)) {
        // What else waits for review is behind now.
        site.go_on("the others", || patrol::refresh(site).map(drop));
    }
    Ok(answer(site, &worker, &sha, &outcome))
}

/// What came of it, with the commit of the default branch.
enum Outcome {
    Accepted(String),
    NothingToMerge(String),
    /// These files conflict, and the worker knows.
    Rebasing(Vec<String>),
}

/// One commit with its work on the default branch, and the worker idle; once more, where that has moved meanwhile. A
/// worker whose work conflicts is told of it. None when that is only to be shown.
fn land(site: &Site<'_>, worker: &Worker, sha: &str, message: Option<&str>, force: bool) -> Result<Option<Outcome>> {
    let name = worker.name.as_str();
    let _publishing = site.lock_out("publish")?;
    for _ in 0..2 {
        let base = site.clone.fetched(&site.source())?;
        if site.clone.was_moved_back(worker, &base, sha)? {
            let why = format!("{} of the source has dropped commits that {name}'s work sits on", site.clone.branch);
            return Err(Failure::new(Exit::No, "moved_back", why)
                .hint(format!("put the work on what there is now: `worker-ctl rebase {name}`")));
        }
        let tree = match site.clone.merge(&base, sha)? {
            Merge::Nothing => {
                if site.would(format!("leave {} as it is, and make {name} idle", site.clone.branch)) {
                    return Ok(None);
                }
                publish::begin(&site.clone, name, sha, &base, &base)?;
                settle(site, worker, sha, &base)?;
                publish::drop_journal(&site.clone, name)?;
                return Ok(Some(Outcome::NothingToMerge(base)));
            }
            Merge::Conflict => {
                if site.would(format!("tell {name} to resolve its conflicts with {}", site.clone.branch)) {
                    return Ok(None);
                }
                return match rebase::begin(site, worker, &base, sha, force)? {
                    Rebased::Conflicts(files) => {
                        Ok(Some(Outcome::Rebasing(files.iter().map(Conflict::told).collect())))
                    }
                    _ => Err(Failure::new(Exit::No, "conflict", format!("{name} was rebased and merges now"))
                        .hint("run the same command again")),
                };
            }
            Merge::Tree(tree) => tree,
        };
        if site.would(format!(
            "put {sha} of {name} on {} of {} as one commit",
            site.clone.branch,
            site.source().display()
        )) {
            return Ok(None);
        }
        let new = publish::commit(&site.clone, &site.root, worker, &tree, &base, sha, message)?;
        match publish::publish(&site.clone, &site.source(), name, sha, &base, &new) {
            Ok(()) => {
                settle(site, worker, sha, &new)?;
                publish::drop_journal(&site.clone, name)?;
                return Ok(Some(Outcome::Accepted(new)));
            }
            Err(failure) if failure.kind == publish::MOVED => site.ui.detail(failure.message),
            Err(failure) => return Err(failure),
        }
    }
    Err(Failure::new(Exit::No, "not_published", format!("{} of the source keeps moving", site.clone.branch))
        .hint("run the same command again"))
}

/// The one that is named; else the one that was reviewed last, as it was reviewed.
fn chosen(site: &Site<'_>, name: Option<&str>) -> Result<Worker> {
    let state = store::load(&site.root.path)?;
    if let Some(name) = name {
        return state.require(name).cloned();
    }
    let refuse = |why: String, hint: String| Err(Failure::new(Exit::No, "wrong_state", why).hint(hint));
    let Some(worker) = state.last_reviewed.as_ref().and_then(|name| state.workers.get(name)) else {
        return refuse("nothing was reviewed".into(), "name the worker, or look first: `worker-ctl review`".into());
    };
    let name = &worker.name;
    if worker.task == Task::NeedsReview && worker.reviewed_sha != worker.commit_sha {
        return refuse(
            format!("{name} was not reviewed as it is now"),
            format!("look at it: `worker-ctl review {name}`; or name it: `worker-ctl accept {name}`"),
        );
    }
    Ok(worker.clone())
}

fn answer(site: &Site<'_>, worker: &Worker, sha: &str, outcome: &Outcome) -> Exit {
    let (name, branch) = (&worker.name, &site.clone.branch);
    let (word, at, exit) = match outcome {
        Outcome::Accepted(new) => ("accepted", new.as_str(), Exit::Done),
        Outcome::NothingToMerge(base) => ("nothing_to_merge", base.as_str(), Exit::Done),
        Outcome::Rebasing(_) => ("rebasing", sha, Exit::No),
    };
    match outcome {
        _ if site.ui.is_json() => {
            site.ui.json(&json!({ "worker": name, "outcome": word, "sha": at, "branch": branch }));
        }
        Outcome::Accepted(new) => site.ui.line(new),
        Outcome::NothingToMerge(_) => {
            site.ui.note(format!("there is nothing to merge: {branch} has all of {name}'s work"));
        }
        Outcome::Rebasing(files) => {
            site.ui.note(format!("{name} conflicts with {branch} and was told to resolve it"));
            files.iter().for_each(|file| site.ui.note(printable(file)));
        }
    }
    exit
}

/// What is to land: it needs review, is clean, has no conflict markers, and is what was reviewed.
fn check(site: &Site<'_>, worker: &Worker, force: bool) -> Result<String> {
    let name = &worker.name;
    let Some(sha) = worker.commit_sha.clone().filter(|_| worker.task == Task::NeedsReview) else {
        return Err(Failure::new(Exit::No, "wrong_state", format!("{name} is {}", worker.task.word()))
            .hint("`worker-ctl status` shows who needs review"));
    };
    site.require_clean(worker)?;
    site.clone.require_at(worker, &sha)?;
    let markers = left_markers(&site.clone, &sha, &worker.conflicted)?;
    if !markers.is_empty() && !force {
        return Err(Failure::new(Exit::No, "markers", "conflict markers are left in its files")
            .details(markers.into_iter().map(|path| format!("  {path}")))
            .hint(format!("ask for them to be resolved: `worker-ctl message {name} TEXT`, or use `--force`")));
    }
    match &worker.reviewed_patch {
        None => site.ui.note(format!("{name} was not reviewed")),
        Some(patch) if *patch != site.clone.work_of(&sha)? && !force => {
            return Err(Failure::new(Exit::No, "changed", format!("{name} changed since it was reviewed"))
                .hint(format!("look again: `worker-ctl review {name}`, or use `--force`")));
        }
        Some(_) => {}
    }
    Ok(sha)
}

/// The worktree on what the source has now, in place: the agent's directory stays. Then it is idle. What came after the
/// commit that landed is not touched: then the worker has new work.
pub fn settle(site: &Site<'_>, worker: &Worker, landed: &str, at: &str) -> Result<()> {
    let is_the_one = worker.task == Task::NeedsReview && worker.commit_sha.as_deref() == Some(landed);
    if !is_the_one {
        return Ok(());
    }
    site.clone.fetch()?;
    if !site.clone.has(at, landed)? {
        // What was squashed stays to be looked at, with all its messages.
        let kept = format!("refs/shopfloor/accepted/{}/{}", worker.name, trash::stamp(site));
        site.clone.ask(&site.root.path, &["update-ref", &kept, landed])?;
    }
    if rebase::put(site, worker, landed, at)? {
        site.record(&worker.name, &Event::Accepted)?;
    } else {
        site.ui.warn(format!("{} went on after that commit, so its worktree stays as it is", worker.name));
    }
    store::update(&site.root.path, |state| {
        state.last_reviewed.take_if(|last| *last == worker.name);
        Ok(())
    })
}
