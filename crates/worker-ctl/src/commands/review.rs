//! `review` and `reject`: a person looks, and sends back.

use std::path::Path;

use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};

use super::{Site, patrol};
use crate::plan::machine::Event;
use crate::store;
use crate::worker::{Task, Worker};

/// How much of a diff goes back to the worker with what should change.
const CONTEXT: usize = 20_000;

pub fn review(site: &Site<'_>, name: Option<&str>) -> Result<Exit> {
    patrol::tick(site)?;
    let state = store::load(&site.root.path)?;
    let worker = match name {
        Some(name) => state.require(name)?.clone(),
        None => {
            let waiting = state.workers.values().filter(|worker| worker.task == Task::NeedsReview);
            let longest = waiting.min_by_key(|worker| (worker.last_activity_unix, worker.name.clone()));
            longest.cloned().ok_or_else(|| {
                Failure::new(Exit::No, "wrong_state", "nobody needs review")
                    .hint("`worker-ctl status` shows what they are at")
            })?
        }
    };
    let Some(sha) = worker.commit_sha.clone().filter(|_| worker.task == Task::NeedsReview) else {
        return Err(Failure::new(Exit::No, "wrong_state", format!("{} is {}", worker.name, worker.task.word()))
            .hint("`worker-ctl status` shows who needs review"));
    };
    let diff = diff(site, &worker, &sha)?;
    let patch = site.clone.work_of(&sha)?;
    site.record(&worker.name, &Event::Reviewed { sha: sha.clone(), patch })?;
    store::update(&site.root.path, |state| {
        state.last_reviewed = Some(worker.name.clone());
        Ok(())
    })?;
    if site.ui.is_json() {
        site.ui.json(&json!({ "worker": worker.name, "sha": sha, "diff": diff }));
    } else {
        site.ui.answer(diff.as_bytes());
    }
    Ok(Exit::Done)
}

/// What the work comes to against where it branched off.
fn diff(site: &Site<'_>, worker: &Worker, sha: &str) -> Result<String> {
    let range = format!("{}...{sha}", site.clone.base());
    let dir = Path::new(&worker.worktree_path);
    let diff = site.clone.ask(dir, &["diff", "--no-ext-diff", "--no-color", &range])?;
    Ok(if diff.is_empty() { diff } else { format!("{diff}\n") })
}

pub fn reject(site: &Site<'_>, message: &str) -> Result<Exit> {
    let text = site.text(Some(message), None)?;
    let state = store::load(&site.root.path)?;
    let name = state.last_reviewed.clone().ok_or_else(|| {
        Failure::new(Exit::No, "wrong_state", "nothing was reviewed").hint("look first: `worker-ctl review NAME`")
    })?;
    let _lock = site.lock(&name)?;
    let worker = store::load(&site.root.path)?.require(&name)?.clone();
    let sha = worker.commit_sha.clone().unwrap_or_default();
    let event = Event::Reject {
        base: sha.clone(),
        patch: if sha.is_empty() { sha.clone() } else { site.clone.work_of(&sha)? },
    };
    // Refused before anything else.
    crate::plan::machine::apply(&worker, &event, 0)?;
    let shown: String = diff(site, &worker, &sha)?.chars().take(CONTEXT).collect();
    let text = format!(
        "Your work was reviewed and needs changes:\n\n{text}\n\nAmend your commit. This is what was reviewed:\n\n{shown}"
    );
    let (worker, verdict) = site.deliver(&worker, &event, &text)?;
    if site.ui.is_json() {
        site.ui.json(&json!({ "worker": name, "delivery": verdict.word(), "status": worker.status() }));
    } else {
        site.ui.line(&name);
    }
    Ok(Exit::Done)
}
