//! `start`: gives a task to an idle worker, or sends a worker its task again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::{printable, shell_word};

use crate::apply::deliver::{task_text, whole_task};
use crate::apply::give_task::{bring_up_to_date, held_agents, room};
use crate::commands;
use crate::commands::queue::{NewTasks, enqueue};
use crate::context::{Context, WorkerLock};
use crate::facts::setup_steps;
use crate::facts::worker_state::Standing;
use crate::failure;
use crate::plan::machine::Input;
use crate::plan::queue::{is_free, require_agent};
use crate::plan::start::start;
use crate::store::State;
use crate::tmux::typing::DeliveryVerdict;
use crate::worker::{Task, Worker};
use crate::worker_notes::Note;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Give the task to this worker [default: the one that has been idle longest]; with --queue, a file with tasks
    pub worker: Option<String>,
    /// Further files with tasks
    #[arg(hide_short_help = true)]
    pub files: Vec<PathBuf>,
    /// Append tasks to the queue, from which `up` gives them to idle workers: each file is one task, but a file
    /// `.jsonl`, and `-` for stdin, has a task a line: {"id"?,"prompt","worker"?,"agent"?,"after"?}
    #[arg(long)]
    pub queue: bool,
    /// Give these tasks of the queue only once the task ID has landed
    #[arg(long, value_name = "ID", requires = "queue")]
    pub after: Option<String>,
    /// The same as the argument WORKER
    #[arg(long = "worker", value_name = "WORKER", hide_short_help = true, conflicts_with = "resume")]
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
    #[arg(long, value_name = "WORKER", conflicts_with_all = ["task", "task_file", "worker", "named_worker", "queue"])]
    pub resume: Option<String>,
    /// Send even if a text may be in the worker's input line, somebody types in its
    /// terminal, its program asks a question, or a step of its set-up still runs
    #[arg(long)]
    pub force: bool,
    /// The id of a hub's command, which begins something once
    #[arg(long, hide = true)]
    pub op: Option<String>,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    if let Some(name) = &args.resume {
        return resume(ctx, name, args);
    }
    if args.queue {
        let named = args.worker.as_ref().map(Path::new).into_iter().chain(args.files.iter().map(AsRef::as_ref));
        let files = named.chain(args.task_file.as_deref()).collect();
        return enqueue(
            ctx,
            &NewTasks {
                text: args.task.as_deref(),
                files,
                worker: args.named_worker.as_ref(),
                after: args.after.as_ref(),
                op: args.op.as_ref(),
            },
        );
    }
    if let (Some(one), Some(other)) = (&args.worker, &args.named_worker) {
        return Err(Failure::usage(format!("two workers are named: {one} and {other}")).hint("leave one of them out"));
    }
    let agent = ctx.flag("agent");
    agent.map(|agent| ctx.root.agent(agent)).transpose()?;
    let prompt = read_prompt(ctx, args)?;
    commands::recover(ctx)?;
    commands::catch_up(ctx);
    let is_full = room(ctx, &ctx.state()?) == 0;
    let plan = |worker: &Worker| planned(ctx, worker, &prompt, args.force);
    let first = begun(ctx, args.op.as_ref())?;
    let named = first.as_ref().or(args.worker.as_ref()).or(args.named_worker.as_ref());
    let (worker, _lock, (standing, input)) = match named {
        Some(name) => {
            let (worker, lock) = commands::locked(ctx, name)?;
            let is_told = worker.pending_send.is_none() && !worker.notes.iter().any(Note::is_doubt_of_task);
            let has_it = is_told && worker.work.prompt.as_ref() == Some(&prompt);
            if has_it && worker.task != Task::Idle && begun(ctx, args.op.as_ref())?.is_some() {
                return commands::print_delivery(ctx, name, Ok((worker, DeliveryVerdict::Delivered)));
            }
            require_agent((name, &ctx.root.agent_name(&worker)), agent)?;
            let found = plan(&worker)?;
            if is_full {
                ctx.ui.note("more work at once than `max_working` lets the queue start");
            }
            (worker, lock, found)
        }
        None if is_full => {
            return Err(failure::WRONG_STATE
                .failure("as many workers are at work as `max_working` allows")
                .hint("name the worker, or let the task wait: `worker-ctl start --queue`"));
        }
        None => pick(ctx, agent, &plan)?,
    };
    if let Some(op) = args.op.as_ref().filter(|_| !ctx.is_dry) {
        note_begun(ctx, op, &worker.name)?;
    }
    let ctx = &ctx.of(&worker)?;
    commands::give(ctx, &worker, &input, format!("give the task to {}", worker.name), || {
        bring_up_to_date(ctx, &standing)?;
        Ok(task_text(ctx, &worker, &prompt))
    })
}

/// The worker to whom the same command of a hub has begun to give the task, or has sent its work back.
pub fn begun(ctx: &Context<'_>, op: Option<&String>) -> Result<Option<String>> {
    let Some(op) = op else { return Ok(None) };
    Ok(ctx.state()?.begun(op).and_then(|mut names| names.pop()))
}

/// Notes who gets the task. Exit 75 if the same command of a hub, whose line was cut, is just giving it to another one.
pub fn note_begun(ctx: &Context<'_>, op: &str, name: &str) -> Result<()> {
    ctx.update(|state| match state.begun(op) {
        None => {
            state.note_begun(op, &[name.to_owned()]);
            Ok(())
        }
        Some(names) if names.iter().any(|known| known == name) => Ok(()),
        Some(_) => Err(failure::BUSY
            .failure("the same command gives the task to another worker at this moment")
            .hint("run the same command again")),
    })
}

/// Plans to give the task to a worker. Exit 1 if that cannot take it.
fn planned(ctx: &Context<'_>, worker: &Worker, prompt: &str, force: bool) -> Result<(Standing, Input)> {
    let tentative =
        Input::Start { prompt: prompt.to_owned(), base: String::new(), is_shared: false, force, queued: None };
    // Refuse a worker in another state before reading its worktree.
    commands::permit(ctx, worker, &tentative)?;
    if let Some(step) = setup_steps::running(ctx, worker)?.filter(|_| !force) {
        let what = format!("the set-up of {} still runs: `{}`", worker.name, printable(&step));
        let hint = format!("wait for it: `sweatfile-apply -C {} wait`, or use `--force`", shell_word(worker.tree()));
        return Err(failure::WRONG_STATE.failure(what).hint(hint));
    }
    let standing = Standing::read(&ctx.of(worker)?, worker)?;
    let input = start(&standing, prompt, None, (force, ctx.now()))?;
    Ok((standing, input))
}

/// Sends a worker its current task again. This happens only when a person asks for it.
fn resume(ctx: &Context<'_>, name: &str, args: &Args) -> Result<Exit> {
    commands::recover(ctx)?;
    let (worker, _lock) = commands::locked(ctx, name)?;
    let input = Input::Resume { is_continued: false, force: args.force };
    commands::permit(ctx, &worker, &input)?;
    commands::give(ctx, &worker, &input, format!("send {name} its task again"), || whole_task(ctx, &worker))
}

fn read_prompt(ctx: &Context<'_>, args: &Args) -> Result<String> {
    if let Some(file) = args.files.first() {
        return Err(Failure::usage(format!("{} is a file with tasks only with `--queue`", file.display()))
            .hint("give a task itself with `--task TEXT`"));
    }
    match (&args.task, &args.task_file) {
        (Some(text), _) => commands::read_text(ctx, text),
        (None, Some(file)) => commands::read_text_file(ctx, file),
        (None, None) => Err(Failure::usage("the task is missing").hint("give one with `--task` or `--task-file`")),
    }
}

/// Picks and locks the worker in the pool that has been idle longest, one that runs `agent` if that is given. A worker that
/// gets a task meanwhile is skipped, and so is one for which the `plan` refuses; if it refuses for all, the first refusal
/// is the answer.
fn pick(
    ctx: &Context<'_>,
    agent: Option<&str>,
    plan: &dyn Fn(&Worker) -> Result<(Standing, Input)>,
) -> Result<(Worker, WorkerLock, (Standing, Input))> {
    let state = ctx.state()?;
    let mut held = held_agents(ctx, &state);
    held.retain(|held| agent.is_none_or(|wanted| wanted == held));
    let suits = |worker: &&Worker| agent.is_none_or(|wanted| wanted == ctx.root.agent_name(worker));
    let is_idle = |worker: &&Worker| {
        suits(worker)
            && is_free(worker)
            && !ctx.root.worker(&worker.name).excluded_from_pool
            && !held.contains(&ctx.root.agent_name(worker))
    };
    let is_set_up = |worker: &&Worker| setup_steps::running(ctx, worker).is_ok_and(|step| step.is_none());
    let mut idle: Vec<&Worker> = state.workers.values().filter(is_idle).filter(is_set_up).collect();
    idle.sort_by_key(|worker| (worker.task_since_unix, worker.name.clone()));
    let mut refused: Vec<(&str, Failure)> = Vec::new();
    // In the second pass wait for locks that are held: the holder may not have given the worker a task.
    for is_patient in [false, true] {
        for worker in &idle {
            if refused.iter().any(|(name, _)| *name == worker.name) {
                continue;
            }
            let lock = if is_patient { Some(ctx.lock(&worker.name)?) } else { ctx.try_lock(&worker.name)? };
            let now = ctx.state()?.workers.get(&worker.name).cloned();
            if let (Some(lock), Some(now)) = (lock, now.filter(|now| is_idle(&now))) {
                match plan(&now) {
                    Ok(found) => return Ok((now, lock, found)),
                    Err(failure) => refused.push((worker.name.as_str(), failure)),
                }
            }
        }
    }
    if let Some((_, first)) = refused.into_iter().next() {
        return Err(first);
    }
    Err(nobody_idle(ctx, agent, &state, &held))
}

/// The failure where no worker of the pool is idle.
fn nobody_idle(ctx: &Context<'_>, agent: Option<&str>, state: &State, held: &BTreeSet<String>) -> Failure {
    // A worker without a session can have no task.
    let is_waiting = |worker: &&Worker| worker.status() == "offline" && worker.task == Task::Idle;
    let suits = |worker: &&Worker| agent.is_none_or(|wanted| wanted == ctx.root.agent_name(worker));
    let able = || state.workers.values().filter(suits);
    let offline: Vec<&str> = able().filter(is_waiting).map(|worker| worker.name.as_str()).collect();
    let hint = match offline[..] {
        [] if able().next().is_none() => {
            let flag = agent.map(|agent| format!(" --agent {}", shell_word(agent.as_ref()))).unwrap_or_default();
            format!("create one: `worker-ctl add NAME{flag}`")
        }
        [] if !held.is_empty() => {
            let held: Vec<&str> = held.iter().map(String::as_str).collect();
            format!("{} has hit a usage limit; let the task wait: `worker-ctl start --queue`", held.join(" and "))
        }
        [] => "`worker-ctl status` shows the state of each worker".to_owned(),
        _ => format!("start a session first: `worker-ctl up {}`", offline.join(" ")),
    };
    let whose = agent.map(|agent| format!(" of {agent}")).unwrap_or_default();
    let may = if held.is_empty() { "" } else { " that may get a task" };
    failure::WRONG_STATE.failure(format!("no worker{whose}{may} is idle")).hint(hint)
}
