//! `start`: gives a task to an idle worker, or sends a worker its task again.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::failed;

use crate::apply::deliver::task_text;
use crate::apply::{copied_files, land, rebase};
use crate::commands;
use crate::context::{Context, WorkerLock};
use crate::facts::worker_state::Standing;
use crate::failure;
use crate::plan::machine::Input;
use crate::plan::start::{permit, start};
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

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    if let Some(name) = &args.resume {
        return resume(ctx, name, args);
    }
    let prompt = read_prompt(ctx, args)?;
    commands::recover(ctx)?;
    commands::catch_up(ctx);
    let (worker, _lock) = match args.worker.as_ref().or(args.named_worker.as_ref()) {
        Some(name) => commands::locked(ctx, name)?,
        None => pick(ctx)?,
    };
    let tentative = Input::Start { prompt: prompt.clone(), base: String::new(), is_shared: false, force: args.force };
    // Refuse a worker in another state before reading its worktree.
    permit(&worker, &tentative)?;
    let ctx = &ctx.of(&worker)?;
    let standing = Standing::read(ctx, &worker)?;
    let input = start(&standing, &prompt, args.force)?;
    commands::give(ctx, &worker, &input, format!("give the task to {}", worker.name), || {
        bring_up_to_date(ctx, &standing)?;
        Ok(task_text(ctx, &worker, &prompt))
    })
}

/// Sends a worker its current task again. This happens only when a person asks for it.
fn resume(ctx: &Context<'_>, name: &str, args: &Args) -> Result<Exit> {
    commands::recover(ctx)?;
    let (worker, _lock) = commands::locked(ctx, name)?;
    let input = Input::Resume { is_continued: false, force: args.force };
    permit(&worker, &input)?;
    let text = || Ok(task_text(ctx, &worker, worker.work.prompt.as_deref().unwrap_or_default()));
    commands::give(ctx, &worker, &input, format!("send {name} its task again"), text)
}

fn read_prompt(ctx: &Context<'_>, args: &Args) -> Result<String> {
    match (&args.task, &args.task_file) {
        (Some(text), _) => commands::read_text(ctx, text),
        (None, Some(file)) => commands::read_text_file(ctx, file),
        (None, None) => Err(Failure::usage("the task is missing").hint("give one with `--task` or `--task-file`")),
    }
}

/// Picks and locks the worker in the pool that has been idle longest. A worker that gets a task meanwhile is skipped.
fn pick(ctx: &Context<'_>) -> Result<(Worker, WorkerLock)> {
    let is_idle = |worker: &&Worker| {
        worker.status() == "idle" && !ctx.root.worker(&worker.name).excluded_from_pool && worker.pending_send.is_none()
    };
    let state = ctx.state()?;
    let mut idle: Vec<&Worker> = state.workers.values().filter(is_idle).collect();
    idle.sort_by_key(|worker| (worker.task_since_unix, worker.name.clone()));
    // In the second pass wait for locks that are held: the holder may not have given the worker a task.
    for is_patient in [false, true] {
        for worker in &idle {
            let lock = if is_patient { Some(ctx.lock(&worker.name)?) } else { ctx.try_lock(&worker.name)? };
            let now = ctx.state()?.workers.get(&worker.name).cloned();
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
    Err(failure::WRONG_STATE.failure("no worker is idle").hint(hint))
}

/// Puts the worktree on the worker's branch, at the default branch's commit.
fn bring_up_to_date(ctx: &Context<'_>, standing: &Standing) -> Result<()> {
    let (worker, base) = (&standing.worker, &standing.base);
    // What the decision leaves where it is.
    if standing.worktree.is_shared || worker.adopted.is_some() && !standing.worktree.dirty.is_empty() {
        return require_branch(worker, standing);
    }
    if worker.adopted.is_some() {
        require_branch(worker, standing)?;
    }
    let tree = Path::new(&worker.worktree_path);
    // From the commit that the decision was about: a later one is somebody's work.
    let mut from = standing.worktree.head.as_deref().unwrap_or_default();
    if standing.worktree.branch.as_ref() != Some(&worker.branch) {
        rebase::require_nothing_lost(ctx, tree, from, base)?;
        let switch = ["checkout", "--quiet", "--no-track", "-B", &worker.branch, base];
        let switched = ctx.repo.reading_source(ctx.repo.cmd(tree)?, &[from, base])?.args(switch).capture()?;
        if !switched.status.success() {
            return Err(failed("checkout", &switched));
        }
        from = base;
    }
    if worker.adopted.is_some() && !ctx.repo.has(base, from)? {
        // Commits of a person's, whose content has landed as another commit.
        land::keep_original(ctx, &worker.name, from)?;
    }
    if !rebase::move_worktree(ctx, worker.checkout(), from, base)? {
        return Err(failure::MOVED
            .failure(format!("{} changed meanwhile", tree.display()))
            .hint("run the same command again"));
    }
    copied_files::copy_all(ctx, tree)
}

/// Exit 1 unless the worktree is on the worker's branch, which we do not move.
fn require_branch(worker: &Worker, standing: &Standing) -> Result<()> {
    match standing.worktree.branch.as_ref() == Some(&worker.branch) {
        true => Ok(()),
        false => Err(failure::WRONG_STATE
            .failure(format!("{} is not on {}", worker.worktree_path, worker.branch))
            .hint("check that branch out there, then run the same command again")),
    }
}
