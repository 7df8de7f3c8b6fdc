//! What a check of a worker's work has shown.

use serde::{Deserialize, Serialize};

/// The result of `[repo] check` for some work. It holds for the tree, whatever commit has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRecord {
    /// The commit of the worker's that was checked.
    pub sha: String,
    /// The tree that was checked.
    pub tree: String,
    /// The SHA-256 of the command.
    #[serde(default)]
    pub command: String,
    pub ok: bool,
    /// How many seconds it took.
    pub secs: u64,
    /// When it ended.
    pub at: String,
    /// Whether the worker was told that it failed.
    #[serde(default)]
    pub told: bool,
}

/// After so many checks that said nothing, because the worktree changed or they could not be run, a person decides.
pub const MOST_VOID: u32 = 2;
