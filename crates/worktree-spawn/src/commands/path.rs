//! `path`: where an agent works.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use crate::facts::{agents, repository};

/// Print the path of the worktree in which an agent works
///
/// Exits with 1 if no agent, or more than one, has this name.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  dir=$(worktree-spawn path feature-a) && cd \"$dir\"")]
pub struct Args {
    /// The agent's id, or a slug that only one agent has
    pub id: String,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    let known = agents::require(&place, &args.id)?;
    if ui.is_json() {
        ui.json(&known.keys());
    } else {
        ui.path(&known.worktree.path);
    }
    Ok(Exit::Done)
}
