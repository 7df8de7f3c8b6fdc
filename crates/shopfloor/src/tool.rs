//! The tool's name, and the names of those that it runs.

/// The name of the binary and of its state directory.
pub const TOOL: &str = "shopfloor";

/// The tools that it runs.
pub const TOOLS: [&str; 5] = ["sweatfile-apply", "overlay-sync", "ledger-synth", "worktree-spawn", "worker-ctl"];
