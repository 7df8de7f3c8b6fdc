//! The command line. Doc comments are the help text.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand};
use shopfloor_core::args::{CommandLine, Common, EXIT_CODES};
use shopfloor_core::hook_command::{DryRun, HookCommand};

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
    after_help = format!("Example:\n  sweatfile-apply init && sweatfile-apply approve\n  sweatfile-apply hook install      # from now on `git worktree add` sets up what it creates\n  git worktree add ../feature\n\n{EXIT_CODES}")
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub places: Places,
    #[command(flatten)]
    pub apply: ApplyArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Where layers come from.
#[derive(Args, Clone, Debug, Default)]
pub struct Places {
    /// Read the area layer from DIR/sweatfile [env: SWEATFILE_AREA]
    #[arg(long, value_name = "DIR", global = true, help_heading = "Layers")]
    pub area: Option<PathBuf>,
    /// Read the repository layer from DIR/sweatfile instead of the main checkout's
    #[arg(long, value_name = "DIR", global = true, help_heading = "Layers")]
    pub repo_root: Option<PathBuf>,
}

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplyArgs {
    /// Show what would be done and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Approve the repository's sweatfile for this run only
    #[arg(long)]
    pub yes: bool,
    /// Leave the setup commands out
    #[arg(long, conflicts_with = "setup_again")]
    pub no_setup: bool,
    /// Run the setup commands even if they finished before
    #[arg(long)]
    pub setup_again: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Set up this worktree (the default)
    ///
    /// In this order: excludes, files, .sweatshop-env, setup commands. Applying again changes only
    /// what differs; what a person changed since stays.
    #[command(
        after_help = "Example:\n  sweatfile-apply apply --dry-run --json | jq -r '.files[] | select(.action == \"created\").path'"
    )]
    Apply(ApplyArgs),
    /// Tell whether this worktree is what its sweatfiles say: 0 yes, 1 drift
    ///
    /// Each difference is a line on stdout. Runs nothing, so all layers are read, approved or not.
    #[command(after_help = "Example:\n  sweatfile-apply check || sweatfile-apply")]
    Check {
        /// Take a misplaced `setup` or `git_excludes` for an error
        #[arg(long)]
        strict: bool,
    },
    /// Print the merged result as TOML
    #[command(after_help = "Example:\n  sweatfile-apply show --layers")]
    Show {
        /// Print each layer with its path instead, and whether it was found
        #[arg(long)]
        layers: bool,
        /// Print env values and file contents too
        #[arg(long)]
        reveal: bool,
    },
    /// Write a commented starter sweatfile into the main checkout
    #[command(after_help = "Example:\n  $EDITOR \"$(sweatfile-apply init)\"")]
    Init(DryRun),
    /// Approve the repository's sweatfile as it is now, for all worktrees of this clone
    #[command(after_help = "Example:\n  sweatfile-apply approve")]
    Approve {
        /// Approve without asking; prints what is trusted
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        dry_run: DryRun,
    },
    /// List the repository's files that need approval, and whether they have it
    #[command(
        after_help = "Example:\n  sweatfile-apply approvals --json | jq -e 'select(.status == \"required\") | not'"
    )]
    Approvals,
    /// Take back every approval of this clone
    #[command(after_help = "Example:\n  sweatfile-apply revoke")]
    Revoke(DryRun),
    /// Follow what happens to .sweatshop-env between opening and closing a workspace
    #[command(
        subcommand,
        after_help = "Example:\n  sweatfile-apply env snapshot     # and when the workspace closes:\n  sweatfile-apply env review"
    )]
    Env(EnvCommand),
    /// Take back what apply placed and nobody changed since
    ///
    /// Links, written files, copies whose original is still there, .sweatshop-env, and exclude lines
    /// no other worktree relies on. What is left is listed with the reason.
    #[command(after_help = "Example:\n  sweatfile-apply remove --dry-run")]
    Remove(DryRun),
    /// Set up every worktree that `git worktree add` creates
    #[command(subcommand, after_help = "Example:\n  sweatfile-apply hook install")]
    Hook(HookCommand),
    /// Print the settings in force, each with its source
    #[command(after_help = "Example:\n  sweatfile-apply config --json")]
    Config,
}

#[derive(Debug, Subcommand)]
pub enum EnvCommand {
    /// Remember .sweatshop-env as it is; an earlier snapshot stays
    #[command(after_help = "Example:\n  sweatfile-apply env snapshot && tmux new-session -A -s work")]
    Snapshot(DryRun),
    /// List what was added or changed since the snapshot
    #[command(after_help = "Example:\n  sweatfile-apply env diff --json | jq -r .key")]
    Diff {
        /// Print the values too
        #[arg(long)]
        reveal: bool,
        /// List what removed worktrees had added instead; of the one at this place or time, or of all
        #[arg(long, value_name = "PATH|TIME", num_args = 0..=1, require_equals = true)]
        removed: Option<Option<PathBuf>>,
    },
    /// Decide about each change: into the repository's sweatfile, keep it here, or discard it
    ///
    /// Asks on a terminal. Elsewhere every change needs an answer, else exit 3; answers given are
    /// carried out all the same.
    #[command(after_help = "Example:\n  sweatfile-apply env review --promote API_URL --discard DEBUG")]
    Review {
        /// Write this variable into the repository's sweatfile
        #[arg(long, value_name = "KEY")]
        promote: Vec<String>,
        /// Keep this variable in this worktree only
        #[arg(long, value_name = "KEY")]
        keep: Vec<String>,
        /// Put the old value back, or remove what was added
        #[arg(long, value_name = "KEY")]
        discard: Vec<String>,
        /// Decide about what removed worktrees had added; of the one at this place or time, or of all
        #[arg(long, value_name = "PATH|TIME", num_args = 0..=1, require_equals = true)]
        removed: Option<Option<PathBuf>>,
        #[command(flatten)]
        dry_run: DryRun,
    },
}

impl CommandLine for Cli {
    fn common(&self) -> &Common {
        &self.common
    }
}

/// The command line as clap knows it, for man pages, completions and the reference.
pub fn command() -> clap::Command {
    Cli::command()
}
