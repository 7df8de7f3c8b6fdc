//! `start`: a task for an idle worker.

use std::path::Path;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::lock::Lock;

use super::Site;
use crate::apply::{copies, rebase};
use crate::cli::StartArgs;
use crate::facts::is_rebasing;
use crate::plan::machine::{Event, apply};
use crate::store;
use crate::worker::Worker;

pub fn run(site: &Site<'_>, args: &StartArgs) -> Result<Exit> {
    if let Some(name) = &args.resume {
        return resume(site, name, args.force);
    }
    let prompt = site.text(args.prompt.as_deref(), args.prompt_file.as_deref())?;
    site.finish_left()?;
    let (worker, _lock) = match &args.worker {
        Some(name) => {
            store::load(&site.root.path)?.require(name)?;
            let lock = site.lock(name)?;
            (store::load(&site.root.path)?.require(name)?.clone(), lock)
        }
        None => pick(site)?,
    };
    // Refused before anything is touched.
    apply(&worker, &Event::Start { prompt: prompt.clone(), base: String::new(), force: args.force }, 0)?;
    let base = check(site, &worker)?;
    if site.would(format!("give the task to {}", worker.name)) {
        return Ok(Exit::Done);
    }
    bring_up_to_date(site, &worker, &base)?;
    let text = format!("{}\n\n{prompt}", preamble(site, &worker));
    site.told(&worker.name, site.deliver(&worker, &Event::Start { prompt, base, force: args.force }, &text))
}

/// The task a worker has, once more: only when a person says so, never by itself.
fn resume(site: &Site<'_>, name: &str, force: bool) -> Result<Exit> {
    site.finish_left()?;
    store::load(&site.root.path)?.require(name)?;
    let _lock = site.lock(name)?;
    let worker = store::load(&site.root.path)?.require(name)?.clone();
    apply(&worker, &Event::Resume { force }, 0)?;
    if site.would(format!("send {name} its task again")) {
        return Ok(Exit::Done);
    }
    let prompt = worker.prompt.clone().unwrap_or_default();
    let text = format!("{}\n\n{prompt}", preamble(site, &worker));
    site.told(name, site.deliver(&worker, &Event::Resume { force }, &text))
}

/// The one that has been idle longest, of those in the pool; whoever is given a task by somebody else meanwhile is not.
fn pick(site: &Site<'_>) -> Result<(Worker, Lock)> {
    let is_idle = |worker: &&Worker| {
        worker.status() == "idle" && !site.root.worker(&worker.name).excluded_from_pool && worker.pending_send.is_none()
    };
    let state = store::load(&site.root.path)?;
    let mut idle: Vec<&Worker> = state.workers.values().filter(is_idle).collect();
    idle.sort_by_key(|worker| (worker.task_since_unix, worker.name.clone()));
    // Those whose lock is held last: its holder may only have looked.
    for is_patient in [false, true] {
        for worker in &idle {
            let lock = if is_patient { Some(site.lock(&worker.name)?) } else { site.try_lock(&worker.name)? };
            let now = store::load(&site.root.path)?.workers.get(&worker.name).cloned();
            if let (Some(lock), Some(now)) = (lock, now.filter(|now| is_idle(&now))) {
                return Ok((now, lock));
            }
        }
    }
    Err(Failure::new(Exit::No, "wrong_state", "no worker is idle").hint("`worker-ctl status` shows what they are at"))
}

/// The default branch's commit; where there is work of somebody's in the worktree, it is refused.
fn check(site: &Site<'_>, worker: &Worker) -> Result<String> {
    let tree = Path::new(&worker.worktree_path);
    site.require_clean(worker)?;
    let base = site.clone.fetched(&site.source())?;
    let branch = format!("refs/heads/{}", worker.branch);
    for tip in ["HEAD", &branch] {
        let Some(sha) = site.clone.commit(tree, tip)? else { continue };
        if is_rebasing(tree) || site.clone.ahead(&sha)? > 0 && !site.clone.was_base(&sha)? {
            return Err(Failure::new(Exit::No, "unmerged", format!("{} has commits that are not merged", worker.name))
                .hint("look at them in its worktree first; they are on no other branch"));
        }
    }
    Ok(base)
}

/// Its worktree on its branch, at the default branch's commit.
fn bring_up_to_date(site: &Site<'_>, worker: &Worker, base: &str) -> Result<()> {
    let tree = Path::new(&worker.worktree_path);
    if site.clone.branch_of(tree)?.as_ref() != Some(&worker.branch) {
        site.clone.ask(tree, &["checkout", "--quiet", "--no-track", "-B", &worker.branch, base])?;
    }
    let head = site.clone.ask(tree, &["rev-parse", "HEAD"])?;
    if !rebase::put(site, worker, &head, base)? {
        return Err(Failure::new(Exit::No, "changed", format!("{} changes just now", tree.display()))
            .hint("run the same command again"));
    }
    copies::bring(site, tree)
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
