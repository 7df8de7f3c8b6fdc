//! Executes what was decided: the only room that writes into overlays and workspaces.

pub mod attach;
pub mod converge;
pub mod disk;
pub mod edits;
pub mod late_writes;
mod merge_command;
pub mod outcome;
pub mod overlay_change;
pub mod pass;
mod recovery;
mod report;
mod stale;
pub mod sync;
pub mod verdict;
pub mod workspace_plan;

#[cfg(test)]
#[path = "../../tests/machine/mod.rs"]
mod machine;
