//! Executes what was decided: the only room that writes into overlays and workspaces.

pub mod attach;
pub mod change;
pub mod converge;
pub mod disk;
pub mod edits;
mod heal;
pub mod late;
mod merge_command;
pub mod outcome;
pub mod pass;
pub mod planned;
mod report;
mod stale;
pub mod sync;
pub mod verdict;

#[cfg(test)]
#[path = "../../tests/machine/mod.rs"]
mod machine;
