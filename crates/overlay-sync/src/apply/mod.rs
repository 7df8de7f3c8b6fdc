//! Executes what was decided: the only room that writes into overlays and workspaces.

pub mod attach;
pub mod converge;
pub mod disk_storage;
pub mod dry_disk;
pub mod far_side;
pub mod late_writes;
mod merge_command;
pub mod outcome;
mod outdated_edits;
pub mod overlay_change;
pub mod pass;
mod recovery;
mod report;
pub mod sync;
pub mod user_edits;
pub mod verdict;
pub mod workspace_plan;

#[cfg(test)]
#[path = "../../tests/machine/mod.rs"]
mod machine;
