//! The flags that every command takes: which overlay, and settings for one run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Which overlay to use, and settings for this run.
#[derive(Args, Clone, Debug, Default)]
pub struct OverlayFlags {
    /// The overlay's directory [env: OVERLAY_SYNC_OVERLAY] [default: one per repository in the user's data]
    #[arg(long, value_name = "DIR", global = true, help_heading = "Overlay")]
    pub overlay: Option<PathBuf>,
    /// What decides a conflict: workspace (last write wins), overlay, or hold [env: OVERLAY_SYNC_ON_CONFLICT]
    #[arg(long, value_name = "SIDE", global = true, help_heading = "Overlay")]
    pub on_conflict: Option<ConflictChoice>,
    /// How long files must be quiet before `watch` syncs; a number alone is milliseconds [env: OVERLAY_SYNC_DEBOUNCE_MS] [default: 2000]
    #[arg(long, value_name = "TIME", global = true, help_heading = "Overlay")]
    pub debounce_ms: Option<String>,
    /// How long `watch` waits for quiet at most; a number alone is milliseconds [env: OVERLAY_SYNC_MAX_WAIT_MS] [default: 10000]
    #[arg(long, value_name = "TIME", global = true, help_heading = "Overlay")]
    pub max_wait_ms: Option<String>,
    /// Whether the hook and `watch` do anything [env: OVERLAY_SYNC_ENABLED] [default: true]
    #[arg(long, value_name = "BOOL", global = true, help_heading = "Overlay")]
    pub enabled: Option<String>,
    /// A program to ask about conflicts, run by `sh -c` [env: OVERLAY_SYNC_MERGE_COMMAND]
    #[arg(long, value_name = "COMMAND", global = true, help_heading = "Overlay")]
    pub merge_command: Option<String>,
    /// How long the merge command may take; a number alone is milliseconds [env: OVERLAY_SYNC_MERGE_TIMEOUT_MS] [default: 30000]
    #[arg(long, value_name = "TIME", global = true, help_heading = "Overlay")]
    pub merge_timeout_ms: Option<String>,
    /// Globs, separated by commas, of files that a workspace may bring into the overlay [env: OVERLAY_SYNC_PATHS]
    #[arg(long = "paths", value_name = "GLOBS", global = true, help_heading = "Overlay")]
    pub declared: Option<String>,
    /// Keys, separated by commas, below which additions wait for `accept` [env: OVERLAY_SYNC_REVIEW] [default:
    /// hooks,mcpServers]
    #[arg(long, value_name = "KEYS", global = true, help_heading = "Overlay")]
    pub review: Option<String>,
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
