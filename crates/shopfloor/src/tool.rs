//! The tool's name, and the names of those that it runs.

use std::path::{Path, PathBuf};

/// The name of the binary and of its state directory.
pub const TOOL: &str = "shopfloor";

/// The tools that it runs.
pub const TOOLS: [&str; 5] = ["sweatfile-apply", "overlay-sync", "ledger-synth", "worktree-spawn", "worker-ctl"];

/// The record of what `setup` did, below the directory that all worktrees share.
pub fn record_file(common_dir: &Path) -> PathBuf {
    common_dir.join("shopfloor/setup.json")
}

/// Where files are written before they are moved to their place.
pub fn staging_dir(common_dir: &Path) -> PathBuf {
    common_dir.join("shopfloor")
}

/// The lock that `setup` and `teardown` hold.
pub fn lock_file(common_dir: &Path) -> PathBuf {
    common_dir.join("shopfloor/setup.lock")
}
