//! `done`: a worktree that is no longer needed.

use shopfloor_core::args::Common;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;

use crate::commands::pass_on;
use crate::commands::shell_init::FUNCTION;
use crate::facts::{overview, repository};
use crate::plan::rows::{POOL, named, rows};

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
    let main = repository::find(env)?.main;
    let rows = rows(&overview::places(&env.at(&main)?)?);
    let mut words = ["remove", "--"].map(str::to_owned).to_vec();
    for name in &args.names {
        words.push(match &named(&rows, name)[..] {
            [row] if row.kind == POOL => {
                let name = printable(&row.name);
                let hint = format!(
                    "give up its task with `worker-ctl reset {name}`, or remove it with `worker-ctl nuke {name}`"
                );
                let message = format!("{name} is a worker of worker-ctl");
                return Err(Failure::new(Exit::No, "not_an_agent", message).hint(hint));
            }
            [row] => row.id.clone(),
            // worktree-spawn says what is wrong with the name.
            _ => name.clone(),
        });
    }
    // The shell function leaves a directory that is gone; without it, a shell would be left in one.
    let there = if env.var(FUNCTION).is_some() { &env.at(&main)? } else { env };
    pass_on(there, common, "worktree-spawn", words)
}
