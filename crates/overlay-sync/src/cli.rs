//! The command line. Doc comments are the help text.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use shopfloor_core::args::{CommandLine, Common, EXIT_CODES};

/// Keep untracked files in step between an overlay and every workspace, both ways
///
/// So far its merge alone; syncing is on its way.
#[derive(Debug, Parser)]
#[command(
    name = "overlay-sync",
    version,
    max_term_width = 100,
    after_help = format!("Example:\n  overlay-sync merge base.json overlay.json workspace.json\n\n{EXIT_CODES}")
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Merge three files by what they mean: 0 clean, 1 conflicts or any failure
    ///
    /// JSON, TOML and YAML by structure (arrays of distinct elements as sets), JSON Lines as records,
    /// `.env` by variable, anything else by lines. What conflicts is decided by --on-conflict, leaf by
    /// leaf; every change that only one side made is kept.
    #[command(
        after_help = "Example:\n  # as git's merge driver, with `*.json merge=overlay-sync` in .gitattributes:\n  git config merge.overlay-sync.driver 'overlay-sync merge --write %O %A %B --path %P'"
    )]
    Merge(MergeArgs),
}

#[derive(Args, Debug)]
pub struct MergeArgs {
    /// What both sides started from; an empty file: they have no common past
    pub base: PathBuf,
    /// The overlay's side; `-` is stdin for one of the three
    pub overlay: PathBuf,
    /// The workspace's side
    pub workspace: PathBuf,
    /// The name to tell the file's type by, when the three have others
    #[arg(long)]
    pub path: Option<PathBuf>,
    /// Replace OVERLAY by the result instead of printing it
    #[arg(long)]
    pub write: bool,
    /// Which side decides what conflicts
    #[arg(long, value_name = "SIDE", default_value = "workspace")]
    pub on_conflict: Side,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// The workspace's: last write wins
    Workspace,
    /// The overlay's
    Overlay,
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
