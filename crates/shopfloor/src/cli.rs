//! The command line: the global flags and the list of commands. Each command's arguments are above the function that
//! obeys them; doc comments are the help text.

use clap::{Parser, Subcommand};
use shopfloor_core::args::{self, CommandLine, Common, EXIT_CODES};

use crate::commands::{doctor, done, go, new, setup, shell_init, status, teardown};

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
    ShellInit(shell_init::Args),
}

impl CommandLine for Cli {
    fn common(&self) -> &Common {
        &self.common
    }
}

/// The command line as clap knows it, for man pages, completions and the reference.
pub fn command() -> clap::Command {
    args::command::<Cli>()
}
