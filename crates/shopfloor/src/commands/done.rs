//! `done`: a worktree that is no longer needed.

use shopfloor_core::args::Common;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};

use crate::commands::pass_on;
use crate::commands::shell_init::FUNCTION;
use crate::facts::repository;

/// Remove the worktrees of agents whose work is done
///
/// Runs `worktree-spawn remove`, and never with `--force`: exits with 1 if something would be lost.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  shopfloor done feature-a")]
pub struct Args {
    /// The agents: ids, or names that only one agent has
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
}

pub fn run(env: &Env, common: &Common, args: &Args) -> Result<Exit> {
    let words = ["remove", "--"].map(str::to_owned).into_iter().chain(args.names.iter().cloned());
    // The shell function leaves a directory that is gone; without it, a shell would be left in one.
    let there = match env.var(FUNCTION) {
        Some(_) => &env.at(&repository::find(env)?.main)?,
        None => env,
    };
    pass_on(there, common, "worktree-spawn", words.collect())
}
