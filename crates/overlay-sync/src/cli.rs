//! The command line: the global flags and the list of commands.

use clap::{Parser, Subcommand};
use shopfloor_core::args::{self, CommandLine, Common, CompletedArgument, EXIT_CODES, FlagUse};
use shopfloor_core::doctor::DoctorArgs;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::hook_subcommand::HookCommand;
use shopfloor_core::ui::{Options, Ui};

use crate::commands::workspace_args::WorkspaceArgs;
use crate::commands::{accept_reject, add, attach, drop, log, manifest, merge, restore, show, sync, undo};
use crate::facts::overlay::Overlay;
use crate::facts::versions;
use crate::settings::OverlayFlags;
use crate::tool::TOOL;

/// Keep untracked files in step between an overlay and every workspace, both ways
///
/// The overlay is a directory outside the repository. A change in one workspace goes into the overlay
/// and from there to all other workspaces. No text that was ever read is lost.
#[derive(Debug, Parser)]
#[command(
    name = "overlay-sync",
    version,
    max_term_width = 100,
    after_help = format!("Example:\n  overlay-sync add .env .claude/settings.local.json\n  overlay-sync attach . ../feature\n  overlay-sync sync\n\n{EXIT_CODES}")
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub overlay: OverlayFlags,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Copy the overlay into workspaces and keep them in step from now on
    ///
    /// Only files that git ignores and does not track in the workspace are copied. A file that exists
    /// there is merged, never overwritten. Without a path the current worktree is attached. Exits with 1
    /// if something is held or in conflict afterwards.
    #[command(
        after_help = "Example:\n  git worktree list --porcelain -z | sed -zn 's/^worktree //p' |\n    overlay-sync attach -z -"
    )]
    Attach(attach::Args),
    /// Sync workspaces a last time, then leave them alone; without a path all of them
    ///
    /// Exits with 1 if a path is not attached, or something is held or in conflict; a workspace where something is
    /// held stays attached.
    #[command(after_help = "Example:\n  overlay-sync detach ../feature && git worktree remove ../feature")]
    Detach(WorkspaceArgs),
    Sync(sync::Args),
    /// Stay in the foreground and sync whenever something changes
    ///
    /// A second watch of the same overlay exits 75. SIGTERM and SIGINT end it after a last sync.
    #[command(after_help = "Example:\n  overlay-sync watch --json >> sync.log")]
    Watch,
    Add(add::Args),
    /// Show the state of every file in every workspace: hashes and reasons, never contents
    #[command(after_help = "Example:\n  overlay-sync status --json | jq -r 'select(.state != \"clean\") | .path'")]
    Status(WorkspaceArgs),
    /// Check whether every file is in step: exit 0 yes, 1 no
    ///
    /// Prints the lines of `status` that are not in step.
    #[command(after_help = "Example:\n  overlay-sync check || overlay-sync sync")]
    Check(WorkspaceArgs),
    Manifest(manifest::Args),
    /// List the conflicts that were decided, oldest first, then what is held
    #[command(after_help = "Example:\n  overlay-sync conflicts --json | jq -r .id")]
    Conflicts,
    Show(show::Args),
    Restore(restore::Args),
    /// Let a held text spread as it is
    ///
    /// Exits with 1 if no such text is held, or if it conflicts elsewhere.
    #[command(after_help = "Example:\n  overlay-sync accept 3f2a9c01d7be")]
    Accept(accept_reject::Args),
    /// Give the workspace the overlay's text instead of the held one, which is kept
    ///
    /// Exits with 1 if no such text is held.
    #[command(after_help = "Example:\n  overlay-sync reject 3f2a9c01d7be")]
    Reject(accept_reject::Args),
    Drop(drop::Args),
    Undo(undo::Args),
    Log(log::Args),
    /// Show what is wrong with the overlay and its records, and how to repair it: exit 0 if nothing is, 1 if something is
    #[command(after_help = "Example:\n  overlay-sync doctor --json | jq -r 'select(.ok | not).fix'")]
    Doctor(DoctorArgs),
    /// Attach every worktree that `git worktree add` creates
    #[command(subcommand, after_help = "Example:\n  overlay-sync hook install")]
    Hook(HookCommand),
    Merge(merge::Args),
    /// Print the settings in force, each with its source
    #[command(after_help = "Example:\n  overlay-sync config --json")]
    Config,
    /// Answer the overlay-sync of another machine, whose workspace this overlay is
    #[command(hide = true)]
    Serve,
}

/// The ids of what waits or was decided.
fn conflicts(env: &Env) -> Result<Vec<String>> {
    let ui = Ui::new(TOOL, env, Options { quiet: true, ..Options::default() });
    let overlay = Overlay::find(&ui, env, &OverlayFlags::default())?;
    Ok(versions::conflicts(&overlay)?.into_iter().map(|version| version.id).collect())
}

impl CommandLine for Cli {
    fn completed() -> &'static [CompletedArgument] {
        &[(&["show", "restore", "accept", "reject"], "id", conflicts)]
    }

    fn uses() -> Vec<FlagUse> {
        OverlayFlags::uses()
    }

    fn slips() -> &'static [(&'static [&'static str], &'static str)] {
        &[(&["remove", "rm", "delete"], "drop"), (&["list", "ls"], "status")]
    }

    fn common(&self) -> &Common {
        &self.common
    }
}

/// The command line as clap knows it, for man pages, completions and the reference.
pub fn command() -> clap::Command {
    args::command::<Cli>()
}
