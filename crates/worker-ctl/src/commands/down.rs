//! `down`: ends all sessions and keeps their tasks.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};

use crate::apply::shutdown;
use crate::commands;
use crate::daemon;
use crate::site::Site;
use crate::store::{self, State};
use crate::worker::{Session, Worker};

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Kill programs at once, without waiting for them to end
    #[arg(long)]
    pub force: bool,
}

pub fn run(site: &Site<'_>, args: &Args) -> Result<Exit> {
    if site.is_dry {
        let state = site.state()?;
        let names = up(&state);
        let would: Vec<String> = names.iter().map(|name| format!("end the session of {name}")).collect();
        return Ok(commands::show(site.ui, commands::statuses(&state, &names), &would));
    }
    let root = &site.root.path;
    let state = match store::load(root) {
        Ok(state) => state,
        Err(failure) => {
            daemon::end(root, args.force)?;
            return shutdown::end_unknown(site, args.force, &failure).map(|()| Exit::Done);
        }
    };
    let names = up(&state);
    daemon::end(root, args.force)?;
    commands::recover(site)?;
    shutdown::end_all(site, args.force)?;
    let done: Vec<String> = names.iter().map(|name| format!("down {name}")).collect();
    commands::print_statuses(site, &names, &done)
}

/// The names of the workers whose sessions are up.
fn up(state: &State) -> Vec<String> {
    let is_up = |worker: &&Worker| worker.program.session == Session::Up;
    state.workers.values().filter(is_up).map(|worker| worker.name.clone()).collect()
}
