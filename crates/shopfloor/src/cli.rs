//! The command line: the global flags and the list of commands. Each command's arguments are above the function that
//! obeys them; doc comments are the help text.

use clap::{Parser, Subcommand};
use shopfloor_core::args::{self, CommandLine, Common, CompletedArgument, EXIT_CODES};
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;

use crate::commands::{doctor, done, go, new, setup, shell_init, skills, status, teardown};
use crate::facts::{overview, repository};
use crate::plan::rows::{POOL, Row, rows};

/// Set up a repository for coding agents, and see at one glance what they do
///
/// Runs the five tools by name: sweatfile-apply, overlay-sync, ledger-synth, worktree-spawn and worker-ctl. Everything it
/// does can also be done with them.
#[derive(Debug, Parser)]
#[command(
    name = "shopfloor",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = format!("Example:\n  shopfloor setup\n  shopfloor new feature-a --task 'Write the parser' -- claude\n  shopfloor status\n  shopfloor done feature-a\n\n{EXIT_CODES}")
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Setup(setup::Args),
    Teardown(teardown::Args),
    Status(status::Args),
    Doctor(doctor::Args),
    New(new::Args),
    Go(go::Args),
    Done(done::Args),
    Skills(skills::Args),
    ShellInit(shell_init::Args),
}

/// The agents and workers.
fn listed(env: &Env) -> Result<impl Iterator<Item = Row>> {
    let main = repository::find(env)?.main;
    let rows = rows(&overview::places(&env.at(&main)?)?);
    Ok(rows.into_iter().filter(|row| row.kind != "root"))
}

fn names(env: &Env) -> Result<Vec<String>> {
    Ok(listed(env)?.map(|row| row.name).collect())
}

/// `done` removes no worker.
fn agent_names(env: &Env) -> Result<Vec<String>> {
    Ok(listed(env)?.filter(|row| row.kind != POOL).map(|row| row.name).collect())
}

impl CommandLine for Cli {
    fn completed() -> &'static [CompletedArgument] {
        &[(&["go"], "name", names), (&["done"], "names", agent_names), (&["new"], "agent", args::agent_programs)]
    }

    fn slips() -> &'static [(&'static [&'static str], &'static str)] {
        &[(&["rm", "remove", "delete"], "done"), (&["list", "ls"], "status"), (&["add", "create"], "new")]
    }

    fn common(&self) -> &Common {
        &self.common
    }
}

/// The command line as clap knows it, for man pages, completions and the reference.
pub fn command() -> clap::Command {
    args::command::<Cli>()
}
