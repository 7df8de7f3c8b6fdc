//! worktree-spawn as its user meets it.

mod edges;
mod events;
mod faults;
mod gc;
mod git;
mod mcp;
mod remove;
mod subtree;
