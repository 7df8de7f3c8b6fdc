//! `start`: a task for an idle worker.

use std::path::Path;

use shopfloor_core::error::{Exit, Failure, Result};

use super::Site;
use crate::apply::copies;
use crate::cli::StartArgs;
use crate::plan::machine::{Event, apply};
use crate::store;
use crate::worker::{Task, Worker};

pub fn run(site: &Site<'_>, args: &StartArgs) -> Result<Exit> {
    if let Some(name) = &args.resume {
        return resume(site, name);
    }
    let prompt = site.text(args.prompt.as_deref(), args.prompt_file.as_deref())?;
    site.finish_left()?;
    let state = store::load(&site.root.path)?;
    let name = match &args.worker {
        Some(name) => state.require(name)?.name.clone(),
        None => pick(site, state.workers.values())?,
    };
    let _lock = site.lock(&name)?;
    let worker = store::load(&site.root.path)?.require(&name)?.clone();
    // Refused before anything is touched.
    apply(&worker, &Event::Start { prompt: prompt.clone(), base: String::new() }, 0)?;
    let base = bring_up_to_date(site, &worker)?;
    let text = format!("{}\n\n{prompt}", preamble(site, &worker));
    let (worker, verdict) = site.deliver(&worker, &Event::Start { prompt, base }, &text)?;
    Ok(site.told(&worker, verdict))
}

/// The task a worker has, once more: only when a person says so, never by itself.
fn resume(site: &Site<'_>, name: &str) -> Result<Exit> {
    site.finish_left()?;
    store::load(&site.root.path)?.require(name)?;
    let _lock = site.lock(name)?;
    let worker = store::load(&site.root.path)?.require(name)?.clone();
    apply(&worker, &Event::Resume, 0)?;
    let prompt = worker.prompt.clone().unwrap_or_default();
    let text = format!("{}\n\n{prompt}", preamble(site, &worker));
    let (worker, verdict) = site.deliver(&worker, &Event::Resume, &text)?;
    Ok(site.told(&worker, verdict))
}

/// The one that has been idle longest, of those in the pool.
fn pick<'w>(site: &Site<'_>, workers: impl Iterator<Item = &'w Worker>) -> Result<String> {
    let idle = workers.filter(|worker| worker.status() == "idle" && !site.root.worker(&worker.name).excluded_from_pool);
    let longest = idle.min_by_key(|worker| (worker.last_activity_unix, worker.name.clone()));
    longest.map(|worker| worker.name.clone()).ok_or_else(|| {
        Failure::new(Exit::No, "wrong_state", "no worker is idle").hint("`worker-ctl status` shows what they are at")
    })
}

/// Its worktree at the default branch; where there is work of somebody's, it is refused.
fn bring_up_to_date(site: &Site<'_>, worker: &Worker) -> Result<String> {
    let tree = Path::new(&worker.worktree_path);
    let dirty = site.clone.dirty(tree)?;
    if !dirty.is_empty() {
        return Err(Failure::new(Exit::No, "dirty", format!("{} has uncommitted changes", tree.display()))
            .details(dirty.into_iter().take(10).map(|path| format!("  {path}")))
            .hint("commit or remove them there first"));
    }
    let base = site.clone.fetched(&site.source())?;
    let head = site.clone.ask(tree, &["rev-parse", "HEAD"])?;
    if worker.task == Task::Idle && site.clone.ahead(&head)? > 0 {
        return Err(Failure::new(Exit::No, "unmerged", format!("{} has commits that are not merged", worker.branch))
            .hint("look at them in its worktree first; they are on no other branch"));
    }
    // Refuses, where there is something in the way that came just now.
    site.clone.ask(tree, &["reset", "--quiet", "--keep", &base])?;
    copies::bring(site, tree)?;
    Ok(base)
}

fn preamble(site: &Site<'_>, worker: &Worker) -> String {
    let mut lines = vec![
        format!(
            "You are working in the git worktree {} of the repository {}.",
            worker.worktree_path,
            site.source().display()
        ),
        "Follow the conventions in AGENTS.md where there is one.".to_owned(),
    ];
    if let Some(validate) = &site.root.config.repo.validate {
        lines.push(format!("Before you commit, run `{validate}` and mend what fails."));
    }
    lines.push("Make a single commit of your work when you are done. Do not push.".to_owned());
    let role = site.root.worker(&worker.name).role_prompt;
    if !role.trim().is_empty() {
        lines.push(role.trim_end().to_owned());
    }
    lines.join("\n")
}
