//! `start`: gives a task to an idle worker, or sends a worker its task again.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::failed;

use crate::apply::resume::task_text;
use crate::apply::{copied_files, rebase};
use crate::commands;
use crate::facts::standing::Standing;
use crate::failure::{Kind, fail};
use crate::plan::machine::Input;
use crate::plan::start::{permit, start};
use crate::site::{Site, SiteLock};
use crate::worker::{Task, Worker};

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Give the task to this worker [default: the one that has been idle longest]
    pub worker: Option<String>,
    /// The same as the argument WORKER
    #[arg(long = "worker", value_name = "WORKER", hide_short_help = true, conflicts_with = "worker")]
    pub named_worker: Option<String>,
    /// The task; `-` reads it from stdin
    #[arg(
        long,
        visible_alias = "prompt",
        value_name = "TEXT",
        allow_hyphen_values = true,
        conflicts_with = "task_file"
    )]
    pub task: Option<String>,
    /// Read the task from a file; `-` is stdin
    #[arg(long, visible_alias = "prompt-file", value_name = "FILE")]
    pub task_file: Option<PathBuf>,
    /// Send a worker its current task again, after a restart
    #[arg(long, value_name = "WORKER", conflicts_with_all = ["task", "task_file", "worker", "named_worker"])]
    pub resume: Option<String>,
    /// Send even if a text may be in the worker's input line, somebody types in its
    /// terminal, or its program asks a question
    #[arg(long)]
    pub force: bool,
}

pub fn run(site: &Site<'_>, args: &Args) -> Result<Exit> {
    if let Some(name) = &args.resume {
        return resume(site, name, args);
    }
    let prompt = read_prompt(site, args)?;
    commands::recover(site)?;
    commands::catch_up(site);
    let (worker, _lock) = match args.worker.as_ref().or(args.named_worker.as_ref()) {
        Some(name) => commands::locked(site, name)?,
        None => pick(site)?,
    };
    let tentative = Input::Start { prompt: prompt.clone(), base: String::new(), force: args.force };
    // Refuse a worker in another state before reading its worktree.
    permit(&worker, &tentative)?;
    let standing = Standing::read(site, &worker)?;
    let input = start(&standing, &prompt, args.force)?;
    commands::give(site, &worker, &input, format!("give the task to {}", worker.name), || {
        bring_up_to_date(site, &standing)?;
        Ok(task_text(site, &worker, &prompt))
    })
}

/// Sends a worker its current task again. This happens only when a person asks for it.
fn resume(site: &Site<'_>, name: &str, args: &Args) -> Result<Exit> {
    commands::recover(site)?;
    let (worker, _lock) = commands::locked(site, name)?;
    let input = Input::Resume { is_continued: false, force: args.force };
    permit(&worker, &input)?;
    let text = || Ok(task_text(site, &worker, worker.work.prompt.as_deref().unwrap_or_default()));
    commands::give(site, &worker, &input, format!("send {name} its task again"), text)
}

fn read_prompt(site: &Site<'_>, args: &Args) -> Result<String> {
    match (&args.task, &args.task_file) {
        (Some(text), _) => commands::read_text(site, text),
        (None, Some(file)) => commands::read_text_file(site, file),
        (None, None) => Err(Failure::usage("the task is missing").hint("give one with `--task` or `--task-file`")),
    }
}

/// Picks and locks the worker in the pool that has been idle longest. A worker that gets a task meanwhile is skipped.
fn pick(site: &Site<'_>) -> Result<(Worker, SiteLock)> {
    let is_idle = |worker: &&Worker| {
        worker.status() == "idle" && !site.root.worker(&worker.name).excluded_from_pool && worker.pending_send.is_none()
    };
    let state = site.state()?;
    let mut idle: Vec<&Worker> = state.workers.values().filter(is_idle).collect();
    idle.sort_by_key(|worker| (worker.task_since_unix, worker.name.clone()));
    // In the second pass wait for locks that are held: the holder may not have given the worker a task.
    for is_patient in [false, true] {
        for worker in &idle {
            let lock = if is_patient { Some(site.lock(&worker.name)?) } else { site.try_lock(&worker.name)? };
            let now = site.state()?.workers.get(&worker.name).cloned();
            if let (Some(lock), Some(now)) = (lock, now.filter(|now| is_idle(&now))) {
                return Ok((now, lock));
            }
        }
    }
    // A worker without a session can have no task.
    let is_waiting = |worker: &&Worker| worker.status() == "offline" && worker.task == Task::Idle;
    let offline: Vec<&str> = state.workers.values().filter(is_waiting).map(|worker| worker.name.as_str()).collect();
    let hint = match offline[..] {
        [] => "`worker-ctl status` shows the state of each worker".to_owned(),
        _ => format!("start a session first: `worker-ctl up {}`", offline.join(" ")),
    };
    Err(fail(Kind::WrongState, "no worker is idle").hint(hint))
}

/// Puts the worktree on the worker's branch, at the default branch's commit.
fn bring_up_to_date(site: &Site<'_>, standing: &Standing) -> Result<()> {
    let (worker, base) = (&standing.worker, &standing.base);
    let tree = Path::new(&worker.worktree_path);
    // From the commit that the decision was about: a later one is somebody's work.
    let mut from = standing.worktree.head.as_deref().unwrap_or_default();
    if standing.worktree.branch.as_ref() != Some(&worker.branch) {
        rebase::require_no_emptied(site, tree, from, base)?;
        let switch = ["checkout", "--quiet", "--no-track", "-B", &worker.branch, base];
        let switched = site.clone.reading_source(site.clone.cmd(tree)?, &[from, base])?.args(switch).capture()?;
        if !switched.status.success() {
            return Err(failed("checkout", &switched));
        }
        from = base;
    }
    if !rebase::move_worktree(site, worker.checkout(), from, base)? {
        return Err(
            fail(Kind::Moved, format!("{} changed meanwhile", tree.display())).hint("run the same command again")
        );
    }
    copied_files::copy_all(site, tree)
}
