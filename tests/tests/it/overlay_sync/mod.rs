//! overlay-sync as its user meets it.

mod attach;
mod conflicts;
mod deletions;
mod drop;
mod failures;
mod far;
mod forged;
mod held;
mod late;
mod meaning;
mod merge;
mod merge_command;
mod merging;
mod policy;
mod programs;
mod quiet;
mod stale;
mod state;
mod sync;
mod undo;
mod watch;
mod writers;
