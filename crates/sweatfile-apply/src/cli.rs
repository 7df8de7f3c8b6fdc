//! The command line: the global flags and the list of commands. Each command's arguments are above the function that
//! obeys them; doc comments are the help text.

use clap::{Parser, Subcommand};
use shopfloor_core::args::{self, CommandLine, Common, EXIT_CODES, FlagUse};
use shopfloor_core::config::Users;
use shopfloor_core::hook_subcommand::HookCommand;

use crate::commands::{apply, approve, check, convert, doctor, env, init, remove, show, sweep, wait};
use crate::flags::LayerFlags;

/// Set up a git worktree from layered sweatfiles
///
/// Reads the area's sweatfile (yours, trusted) and the repository's (counts once approved), merges
/// them, then writes git excludes, places files, writes .sweatshop-env and runs setup commands.
/// Without a command it applies.
#[derive(Debug, Parser)]
#[command(
    name = "sweatfile-apply",
    version,
    max_term_width = 100,
    after_help = format!("Example:\n  sweatfile-apply init && sweatfile-apply approve\n  # from now on `git worktree add` sets up what it creates:\n  sweatfile-apply hook install\n  git worktree add ../feature\n\n{EXIT_CODES}")
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub layers: LayerFlags,
    #[command(flatten)]
    pub apply: apply::ApplyOptions,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Apply(apply::Args),
    Check(check::Args),
    Show(show::Args),
    Init(init::Args),
    Approve(approve::Args),
    /// List the repository's files that need approval, and whether they have it
    #[command(
        after_help = "Example:\n  sweatfile-apply approvals --json |\n    jq -se 'all(.status and .status != \"required\")'"
    )]
    Approvals,
    /// Revoke every approval of this clone
    #[command(after_help = "Example:\n  sweatfile-apply revoke")]
    Revoke,
    /// Review the changes to .sweatshop-env since a snapshot
    #[command(
        subcommand,
        after_help = "Example:\n  sweatfile-apply env snapshot     # and when the work is done:\n  sweatfile-apply env review"
    )]
    Env(env::Command),
    Wait(wait::Args),
    #[command(hide = true)]
    RunStep(wait::StepArgs),
    Remove(remove::Args),
    Sweep(sweep::Args),
    Doctor(doctor::Args),
    /// Set up every worktree that `git worktree add` creates
    #[command(subcommand, after_help = "Example:\n  sweatfile-apply hook install")]
    Hook(HookCommand),
    Convert(convert::Args),
    /// Print the settings in force, each with its source
    #[command(after_help = "Example:\n  sweatfile-apply config --json")]
    Config,
}

/// The subcommands that read sweatfiles.
const READING: Users = Users::Only(&[
    "apply",
    "check",
    "show",
    "init",
    "approve",
    "approvals",
    "env",
    "wait",
    "doctor",
    "hook",
    "config",
    "convert",
]);

impl CommandLine for Cli {
    fn uses() -> Vec<FlagUse> {
        vec![("area", READING), ("repo_root", READING)]
    }

    fn common(&self) -> &Common {
        &self.common
    }
}

/// The command line as clap knows it, for man pages, completions and the reference.
pub fn command() -> clap::Command {
    args::command::<Cli>()
}
