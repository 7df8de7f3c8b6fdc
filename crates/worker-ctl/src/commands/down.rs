//! `down`: ends all sessions and keeps their tasks.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hook_command::DryRun;
use shopfloor_core::ui::printable;

use crate::apply::shutdown;
use crate::commands;
use crate::daemon::{self, Ending};
use crate::site::Site;
use crate::store;
use crate::worker::{Session, Worker};

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Kill programs at once, without waiting for them to end
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub dry: DryRun,
}

pub fn run(site: &Site<'_>, args: &Args) -> Result<Exit> {
    if site.is_dry {
        commands::show(site.ui, "end all sessions");
        return Ok(Exit::Done);
    }
    let root = &site.root.path;
    let ending = if args.force { Ending::AtOnce } else { Ending::Gentle };
    let state = match store::load(root) {
        Ok(state) => state,
        Err(failure) => {
            daemon::end(root, ending)?;
            return shutdown::end_unknown(site, args.force, &failure).map(|()| Exit::Done);
        }
    };
    let was_up = |worker: &Worker| worker.session == Session::Up;
    let names: Vec<String> = state.workers.into_values().filter(was_up).map(|worker| worker.name).collect();
    daemon::end(root, ending)?;
    commands::recover(site)?;
    shutdown::end_all(site, args.force)?;
    if !names.is_empty() {
        site.ui.note(format!("down: {}", printable(&names.join(", "))));
    }
    commands::print_statuses(site, &names)
}
