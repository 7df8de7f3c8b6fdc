//! `go`: where a worktree is.

use std::path::Path;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::commands::shell_init::FUNCTION;
use crate::commands::worker_commands::require;
use crate::facts::{overview, repository};
use crate::plan::rows::rows;

/// Change to the worktree of an agent or a worker, or print its path
///
/// The directory changes if your shell has the function of `shopfloor shell-init`. NAME is a name, an id, a branch or the
/// name of a directory; without one it is the main checkout. Exits with 1 if no worktree, or more than one, has this name.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  shopfloor go feature-a\n  d=$(shopfloor go feature-a) && cd \"$d\"     # without the shell function"
)]
pub struct Args {
    /// The agent, worker, branch or directory
    pub name: Option<String>,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let main = repository::find_near(env)?.main;
    let path = match &args.name {
        None => main.to_string_lossy().into_owned(),
        Some(name) => {
            let overview = overview::worktrees(&env.at(&main)?)?;
            overview.problems.iter().for_each(|problem| ui.warn(problem));
            let rows = rows(&overview);
            let row = require(&rows, name)?;
            if let (Some(host), Some(worker)) = (row.record["host"].as_str(), &row.worker) {
                return Err(Failure::new(
                    Exit::No,
                    "on_host",
                    format!("{} is on {}", printable(name), printable(host)),
                )
                .hint(format!("attach your terminal to it: `shopfloor attach {worker}`")));
            }
            row.worktree.clone()
        }
    };
    if !Path::new(&path).is_dir() {
        return Err(Failure::not_found(format!("{} is not there", printable(&path)))
            .hint("`shopfloor doctor` tells what happened to it"));
    }
    if ui.is_json() {
        ui.json(&json!({ "worktree": path }));
    } else {
        ui.path(Path::new(&path));
    }
    if env.stdout_is_terminal && env.var(FUNCTION).is_none() && !ui.is_json() {
        ui.note("a program cannot change your shell's directory; see `shopfloor shell-init --help`");
    }
    Ok(Exit::Done)
}
