//! One file per command: its arguments with their help, then the function that reads, asks for a plan, and prints or
//! applies it.

pub mod accept_reject;
pub mod add;
pub mod attach;
pub mod check;
pub mod config;
pub mod conflicts;
pub mod detach;
pub mod doctor;
pub mod drop;
pub mod hook;
pub mod log;
pub mod manifest;
pub mod merge;
mod pre_remove;
mod preview;
pub mod restore;
pub mod serve;
pub mod show;
pub mod status;
pub mod sync;
pub mod undo;
pub mod watch;
pub mod workspace_args;
