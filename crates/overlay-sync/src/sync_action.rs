//! The rules by which files are synced.

use serde::{Deserialize, Serialize};
use shopfloor_core::text::word;

/// The rule by which a file was synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncRule {
    /// Somebody changed the overlay, and the workspace got that.
    Pull,
    Push,
    Merge,
    /// The merge command merged.
    Command,
    LastWrite,
    /// Another workspace pushed it in the same run.
    Propagate,
    /// A declared file that only a workspace had entered the overlay.
    Adopt,
    Hold,
}

impl std::fmt::Display for SyncRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&word(self))
    }
}
