//! `path`: where an agent works, found without a git process.

use std::path::Path;

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use crate::facts::{agents, repository};

/// Print the path of the worktree in which an agent works
///
/// Exits with 1 if no agent, or more than one, has this name.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  cd \"$(worktree-spawn path feature-a)\"")]
pub struct Args {
    /// The agent's id, or a slug that only one agent has
    pub id: String,
}

#[derive(Serialize)]
struct PathAnswer<'a> {
    id: &'a str,
    name: &'a str,
    path: &'a Path,
    worktree: &'a Path,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    let known = agents::require(&place, &args.id)?;
    if ui.is_json() {
        let (agent, path) = (&known.agent, &known.worktree.path);
        ui.json(&PathAnswer { id: &agent.id, name: &agent.slug, path, worktree: path });
    } else {
        ui.answer(&[known.worktree.path.as_os_str().as_encoded_bytes(), b"\n"].concat());
    }
    Ok(Exit::Done)
}
