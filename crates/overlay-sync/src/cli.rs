//! The command line. Doc comments are the help text.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use shopfloor_core::args::{CommandLine, Common, EXIT_CODES};
use shopfloor_core::hook_command::HookCommand;

/// Keep untracked files in step between an overlay and every workspace, both ways
///
/// The overlay is a directory outside the repository. What a workspace changes goes into the overlay
/// and from there to all others; nothing that was ever read is lost.
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
    pub place: OverlayFlags,
    #[command(subcommand)]
    pub command: Command,
}

/// Which overlay, and how it decides.
#[derive(Args, Clone, Debug, Default)]
pub struct OverlayFlags {
    /// The overlay's directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user's data]
    #[arg(long, value_name = "DIR", global = true, help_heading = "Overlay")]
    pub overlay: Option<PathBuf>,
    /// What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]
    #[arg(long, value_name = "SIDE", global = true, help_heading = "Overlay")]
    pub on_conflict: Option<ConflictChoice>,
    /// How long it must be quiet before `watch` syncs [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]
    #[arg(long, value_name = "MS", global = true, help_heading = "Overlay")]
    pub debounce_ms: Option<String>,
    /// How long `watch` waits for quiet at most [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]
    #[arg(long, value_name = "MS", global = true, help_heading = "Overlay")]
    pub max_wait_ms: Option<String>,
    /// Show what would be done and change nothing
    #[arg(short = 'n', long, global = true)]
    pub dry_run: bool,
    /// False: the hook and `watch` do nothing [env: OVERLAY_SYNC_ENABLED] [default: true]
    #[arg(long, value_name = "BOOL", global = true, help_heading = "Overlay")]
    pub enabled: Option<String>,
    /// A program that is asked about what conflicts, for `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]
    #[arg(long, value_name = "COMMAND", global = true, help_heading = "Overlay")]
    pub merge_command: Option<String>,
    /// How long it may take [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]
    #[arg(long, value_name = "MS", global = true, help_heading = "Overlay")]
    pub merge_timeout_ms: Option<String>,
    /// Globs, with commas between, of files a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]
    #[arg(long = "paths", value_name = "GLOBS", global = true, help_heading = "Overlay")]
    pub declared: Option<String>,
    /// Keys under which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default: hooks,mcpServers]
    #[arg(long, value_name = "KEYS", global = true, help_heading = "Overlay")]
    pub review: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Copy the overlay into workspaces and keep them in step from now on
    ///
    /// Only files git ignores and does not track there. One that is there already is merged, never
    /// overwritten. Without a path: the workspace this is run in.
    #[command(
        after_help = "Example:\n  git worktree list --porcelain -z | sed -zn 's/^worktree //p' | overlay-sync attach -z -"
    )]
    Attach(WorkspaceArgs),
    /// Bring workspaces in step a last time, then leave them alone; without a path all of them
    #[command(after_help = "Example:\n  overlay-sync detach ../feature && git worktree remove ../feature")]
    Detach(WorkspaceArgs),
    /// Bring the overlay and all attached workspaces in step: 0 converged, 1 something is held or conflicted
    #[command(after_help = "Example:\n  overlay-sync sync --json | jq -r 'select(.rule == \"last_write\").path'")]
    Sync {
        #[command(flatten)]
        workspaces: WorkspaceArgs,
        /// Fill a workspace again in which all files were gone
        #[arg(long, value_name = "WS")]
        restore: Vec<PathBuf>,
    },
    /// Stay in the foreground and sync whenever something changes
    ///
    /// A second one exits 75. On SIGTERM and SIGINT what is pending is synced before it ends.
    #[command(after_help = "Example:\n  overlay-sync watch --json >> sync.log")]
    Watch,
    /// Copy files into the overlay and manage them from now on
    #[command(after_help = "Example:\n  overlay-sync add .env.local")]
    Add {
        /// Files below the workspace
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Tell the state of every file in every workspace; hashes and reasons, never contents
    #[command(after_help = "Example:\n  overlay-sync status --json | jq -r 'select(.state != \"clean\") | .path'")]
    Status(WorkspaceArgs),
    /// Print what a workspace and the overlay held in common last
    #[command(after_help = "Example:\n  overlay-sync manifest | sha256sum --check")]
    Manifest {
        /// The workspace; by default this one
        workspace: Option<PathBuf>,
    },
    /// List the conflicts that were decided, oldest first, and what is held
    #[command(after_help = "Example:\n  overlay-sync conflicts --json | jq -r .id")]
    Conflicts,
    /// Print a displaced text, byte for byte, by its hash or a conflict's id (then the losing side)
    #[command(after_help = "Example:\n  overlay-sync show 3f2a9c")]
    Show {
        /// A hash, a conflict's id, or the beginning of one
        id: String,
    },
    /// Put a displaced text back, or write it to another file
    ///
    /// Back where it was in this workspace it is an edit like any other; what stands there is kept.
    #[command(after_help = "Example:\n  overlay-sync restore 3f2a9c --to settings.old.json")]
    Restore {
        /// A hash, a conflict's id, or the beginning of one
        id: String,
        /// Where to instead; an existing file is not overwritten
        #[arg(long, value_name = "PATH")]
        to: Option<PathBuf>,
    },
    /// Let what is held spread as it is
    #[command(after_help = "Example:\n  overlay-sync accept 3f2a9c01d7be")]
    Accept {
        /// The id `conflicts` gives, or its beginning
        id: String,
    },
    /// Give the workspace the overlay's text instead of what is held; its own is kept
    #[command(after_help = "Example:\n  overlay-sync reject 3f2a9c01d7be")]
    Reject {
        /// The id `conflicts` gives, or its beginning
        id: String,
    },
    /// Remove an entry of a file everywhere: a key path, a variable, an item of a list, a whole line
    ///
    /// Exit 1 when it is not there, or more than once. A workspace that brings it back later is held.
    #[command(
        after_help = "Example:\n  overlay-sync drop .claude/settings.local.json 'permissions.allow.\"Bash(rm:*)\"'\n  overlay-sync drop .env TOKEN"
    )]
    Drop {
        /// The file, relative to the overlay
        path: PathBuf,
        /// A key path with dots between (a part may be quoted as in JSON), a variable, or a line
        entry: String,
    },
    /// Print what was synced, from where to where and by which rule
    #[command(after_help = "Example:\n  overlay-sync log --json | tail -n 5")]
    Log {
        /// Print what is synced from now on, until ended
        #[arg(long)]
        follow: bool,
        /// Begin there: a time, `30m` ago, after the record with this `seq`, or `all`
        #[arg(long, value_name = "TIME|SEQ|all")]
        since: Option<String>,
    },
    /// Attach every worktree that `git worktree add` creates
    #[command(subcommand, after_help = "Example:\n  overlay-sync hook install")]
    Hook(HookCommand),
    /// Merge three files by what they mean: 0 clean, 1 conflicts or any failure
    ///
    /// JSON, TOML and YAML by structure (arrays of distinct elements as sets), JSON Lines as records,
    /// `.env` by variable, anything else by lines. What conflicts is decided by --on-conflict, leaf by
    /// leaf; every change that only one side made is kept.
    #[command(
        after_help = "Example:\n  # as git's merge driver, with `*.json merge=overlay-sync` in .gitattributes:\n  git config merge.overlay-sync.driver 'overlay-sync merge --write %O %A %B --path %P'"
    )]
    Merge(MergeArgs),
    /// Print the settings in force, each with its source
    #[command(after_help = "Example:\n  overlay-sync config --json")]
    Config,
}

#[derive(Args, Clone, Debug, Default)]
pub struct WorkspaceArgs {
    /// WorkspaceArgs; `-` reads paths from stdin
    #[arg(value_name = "WS")]
    pub paths: Vec<PathBuf>,
    /// Paths on stdin end with NUL
    #[arg(short = 'z')]
    pub nul: bool,
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConflictChoice {
    /// The workspace's: last write wins
    Workspace,
    /// The overlay's
    Overlay,
    /// A person's: the file waits
    Hold,
}

impl ConflictChoice {
    /// As it is written on the command line.
    pub fn word(self) -> &'static str {
        match self {
            ConflictChoice::Workspace => "workspace",
            ConflictChoice::Overlay => "overlay",
            ConflictChoice::Hold => "hold",
        }
    }
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
