//! `down`: ends all sessions and keeps their tasks.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};

use crate::apply::{session, shutdown};
use crate::commands;
use crate::context::Context;
use crate::daemon;
use crate::store::{self, State};
use crate::worker::{Session, Worker};

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// End the sessions of these workers only [default: of all]
    pub workers: Vec<String>,
    /// Kill programs at once, without waiting for them to end
    #[arg(long)]
    pub force: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    if !args.workers.is_empty() {
        return end_these(ctx, args);
    }
    if ctx.is_dry {
        let state = ctx.state()?;
        let names = up(&state);
        let would: Vec<String> = names.iter().map(|name| format!("end the session of {name}")).collect();
        return Ok(commands::show(ctx.ui, commands::statuses(&state, &names), &would));
    }
    let root = &ctx.root.path;
    let state = match store::load(root) {
        Ok(state) => state,
        Err(failure) => {
            daemon::end(root, args.force)?;
            return shutdown::end_unknown(ctx, args.force, &failure).map(|()| Exit::Done);
        }
    };
    let names = up(&state);
    daemon::end(root, args.force)?;
    commands::recover(ctx)?;
    shutdown::end_all(ctx, args.force)?;
    let done: Vec<String> = names.iter().map(|name| format!("down {name}")).collect();
    commands::print_statuses(ctx, &names, &done)
}

/// Ends the sessions of the named workers. An `up` that keeps running leaves them down until somebody starts them.
fn end_these(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let state = ctx.state()?;
    let chosen = commands::choose(&state, &args.workers, false)?;
    let names: Vec<String> = chosen.iter().map(|worker| worker.name.clone()).collect();
    if ctx.is_dry {
        let would: Vec<String> = names.iter().map(|name| format!("end the session of {name}")).collect();
        return Ok(commands::show(ctx.ui, commands::statuses(&state, &names), &would));
    }
    commands::recover(ctx)?;
    let _locks = names.iter().map(|name| ctx.lock(name)).collect::<Result<Vec<_>>>()?;
    ctx.update(|state| {
        let chosen = state.workers.values_mut().filter(|worker| names.contains(&worker.name));
        chosen.for_each(|worker| worker.program.is_stopped = true);
        Ok(())
    })?;
    session::end(ctx, &chosen, args.force)?;
    let done: Vec<String> = names.iter().map(|name| format!("down {name}")).collect();
    commands::print_statuses(ctx, &names, &done)
}

/// The names of the workers whose sessions are up.
fn up(state: &State) -> Vec<String> {
    let is_up = |worker: &&Worker| worker.program.session == Session::Up;
    state.workers.values().filter(is_up).map(|worker| worker.name.clone()).collect()
}
