//! `resume`: makes workers go on with their tasks after a restart, a crash or a reboot.

use std::sync::Mutex;

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};

use crate::apply::bring_up::{bring_up, locked};
use crate::apply::deliver::go_on;
use crate::commands;
use crate::context::Context;
use crate::plan::resume::{Resume, resume};
use crate::worker::{Session, Worker};

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The workers
    pub workers: Vec<String>,
    /// All workers
    #[arg(long)]
    pub all: bool,
    /// Send even if a text may be in the worker's input line, somebody types in its
    /// terminal, or its program asks a question
    #[arg(long)]
    pub force: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    commands::recover(ctx)?;
    // Nobody may have seen what was committed before, and a task that is done is not sent again.
    commands::look(ctx)?;
    let chosen = commands::choose(&ctx.state()?, &args.workers, args.all)?;
    let names: Vec<String> = chosen.iter().map(|worker| worker.name.clone()).collect();
    if ctx.is_dry {
        let is_running = ctx.tmux().is_ok_and(|tmux| tmux.is_running());
        let would: Vec<String> = chosen.iter().flat_map(|worker| steps(worker, is_running)).collect();
        return Ok(ctx.ui.would(&commands::statuses(&ctx.state()?, &names), &would));
    }
    let done = Mutex::new(Vec::new());
    let then = |name: &str| {
        let what = match go_on(ctx, name, args.force)? {
            Some(Resume::Continue) => "continue",
            Some(Resume::Task) => "start",
            None if chosen.iter().any(|worker| worker.name == name && is_up(worker)) => return Ok(()),
            None => "up",
        };
        locked(&done).push(format!("{what} {name}"));
        Ok(())
    };
    let failures = bring_up(ctx, &names, &then, &|_| ());
    let mut done = locked(&done).clone();
    done.sort();
    let state = ctx.state()?;
    let is_queued = names.iter().any(|name| state.workers.get(name).is_some_and(|now| now.status() == "queued"));
    match commands::print_started(ctx, &names, &done, failures)? {
        // Its program cannot be told before its job runs.
        Exit::Done if is_queued => Ok(Exit::No),
        exit => Ok(exit),
    }
}

/// What would be done with a worker. What a program that must be started knows shows only then.
fn steps(worker: &Worker, is_running: bool) -> Option<String> {
    let name = &worker.name;
    match is_running && is_up(worker) {
        true => resume(worker).map(|what| what.describe(name)),
        false => Some(format!("start the session of {name}")),
    }
}

/// Whether its program runs, so that nothing has to be started.
fn is_up(worker: &Worker) -> bool {
    worker.program.session == Session::Up && worker.program.fault.is_none()
}
