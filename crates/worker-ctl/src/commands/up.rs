//! `up`: starts sessions and keeps them up. It never changes a task.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;
use shopfloor_core::text::shell_word;

use crate::apply::bring_up::{bring_up, make_missing};
use crate::apply::deliver::go_on;
use crate::apply::supervise::{Duties, keep_up, not_started};
use crate::commands;
use crate::context::Context;
use crate::layout;
use crate::log;
use crate::store::State;
use crate::tmux;
use crate::up_lock;
use crate::worker::{Session, Worker};

#[derive(Clone, Debug, Default, ClapArgs)]
pub struct Args {
    /// Start only the sessions of these workers, then exit
    pub names: Vec<String>,
    /// Keep sessions up without looking for commits
    #[arg(long)]
    pub no_patrol: bool,
    /// Make each worker whose session is started go on with its task, as `resume` does
    #[arg(long)]
    pub resume: bool,
    /// Put the task of a worker whose program crashes back into the queue, at most twice, if it is from there and the
    /// worktree has nothing of its own
    #[arg(long, conflicts_with = "names")]
    pub requeue: bool,
    /// Run in the background
    #[arg(long, conflicts_with = "names")]
    pub detach: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    if ctx.is_dry {
        let state = ctx.state()?;
        args.names.iter().try_for_each(|name| state.require(name).map(drop))?;
        let is_named = |name: &&String| args.names.is_empty() || args.names.contains(name);
        let names: Vec<String> = state.workers.keys().filter(is_named).cloned().collect();
        let would: Vec<String> =
            down(&state, &names).iter().map(|name| format!("start the session of {name}")).collect();
        return Ok(ctx.ui.would(&commands::statuses(&state, &names), &would));
    }
    match (args.detach, args.names.is_empty()) {
        (true, _) => {
            detach(ctx, args)?;
            if ctx.ui.is_json() {
                let state = ctx.state()?;
                ctx.ui.json(&commands::statuses(&state, &state.workers.keys().cloned().collect::<Vec<_>>()));
            }
            Ok(Exit::Done)
        }
        (false, true) => {
            keep_up(ctx, Duties { patrols: !args.no_patrol, resumes: args.resume, requeues: args.requeue })
        }
        (false, false) => start_these(ctx, &args.names, args.resume),
    }
}

/// Starts these sessions, whether or not another `up` runs.
fn start_these(ctx: &Context<'_>, names: &[String], resumes: bool) -> Result<Exit> {
    commands::recover(ctx)?;
    let failures = make_missing(ctx, Some(names));
    if !failures.is_empty() {
        return Err(Failure::failed("not all workers could be created")
            .details(failures)
            .hint("fix the causes above, or use `worker-ctl add`"));
    }
    let state = ctx.state()?;
    names.iter().try_for_each(|name| state.require(name).map(drop))?;
    let done: Vec<String> = down(&state, names).iter().map(|name| format!("up {name}")).collect();
    let then = |name: &str| if resumes { go_on(ctx, name, false).map(drop) } else { Ok(()) };
    let failures = bring_up(ctx, names, &then, &|_| ());
    let state = ctx.state()?;
    let waits = |name: &&String| state.workers.get(*name).is_some_and(|worker| worker.status() == "queued");
    let queued: Vec<String> = names.iter().filter(waits).map(|name| format!("up {name}")).collect();
    let done: Vec<String> = done.into_iter().filter(|line| !queued.contains(line)).collect();
    commands::print_started(ctx, names, &done, failures)
}

/// Those of the workers that have no session.
fn down<'n>(state: &State, names: &'n [String]) -> Vec<&'n String> {
    let is_up = |name: &String| state.workers.get(name).is_some_and(|worker| worker.program.session == Session::Up);
    names.iter().filter(|name| !is_up(name)).collect()
}

/// Starts an `up` in the background. Its output goes to a log.
fn detach(ctx: &Context<'_>, args: &Args) -> Result<()> {
    let state = ctx.state()?;
    ctx.tmux()?;
    if up_lock::is_running(&ctx.root.path)? {
        return Err(up_lock::refuse_second());
    }
    let program = proc::own_program(ctx.env, layout::TOOL).ok_or_else(|| Failure::failed("cannot find worker-ctl"))?;
    let log = layout::up_log(&ctx.root.path);
    log::rotate(&log)?;
    let mut words = vec![shell_word(&program), "--root".into(), shell_word(&ctx.root.path)];
    words.extend(ctx.flag_arguments().iter().map(|word| shell_word(Path::new(word))));
    words.push("up".into());
    words.extend(args.no_patrol.then(|| "--no-patrol".into()));
    words.extend(args.resume.then(|| "--resume".into()));
    words.extend(args.requeue.then(|| "--requeue".into()));
    let line = format!("nohup {} >> {} 2>&1 < /dev/null &", words.join(" "), shell_word(&log));
    let status = proc::shell(ctx.env, &line)?.capture()?.status;
    let start = Instant::now();
    while status.success() && start.elapsed() < up_lock::PATIENCE {
        if up_lock::is_running(&ctx.root.path)? && are_started(ctx)? {
            not_started(&state).iter().for_each(|line| ctx.ui.warn(line));
            ctx.ui.note(format!("up in the background; its log is {}", log.display()));
            return Ok(());
        }
        thread::sleep(Duration::from_millis(20));
    }
    if up_lock::is_running(&ctx.root.path)? {
        ctx.ui.warn(format!("up in the background, but not all workers are up; its log is {}", log.display()));
        return Ok(());
    }
    Err(Failure::failed("the background `up` did not start").hint(format!("look at {}", log.display())))
}

/// Whether every worker's program either takes input or has failed. The panes are checked too, because a killed `up`
/// may have left outdated records in the state.
fn are_started(ctx: &Context<'_>) -> Result<bool> {
    let state = ctx.state()?;
    let panes = ctx.tmux()?.panes()?;
    let is_up = |worker: &Worker| {
        worker.program.session == Session::Up && tmux::find(&panes, worker).is_some_and(|pane| pane.end.is_none())
    };
    let is_settled = |worker: &Worker| {
        is_up(worker) || ["error", "queued"].contains(&worker.status()) || worker.program.dead_pane.is_some()
    };
    let are_made = ctx.root.config.workers.keys().all(|name| state.workers.contains_key(name));
    Ok(are_made && state.workers.values().all(is_settled))
}
