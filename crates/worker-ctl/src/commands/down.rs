//! `down`: ends all sessions and keeps their tasks.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};

use crate::apply::shutdown;
use crate::commands;
use crate::context::Context;
use crate::daemon;
use crate::store::{self, State};
use crate::worker::{Session, Worker};

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Kill programs at once, without waiting for them to end
    #[arg(long)]
    pub force: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
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

/// The names of the workers whose sessions are up.
fn up(state: &State) -> Vec<String> {
    let is_up = |worker: &&Worker| worker.program.session == Session::Up;
    state.workers.values().filter(is_up).map(|worker| worker.name.clone()).collect()
}
