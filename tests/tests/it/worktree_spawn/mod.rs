//! worktree-spawn as its user meets it.

mod agent_files;
mod agent_hooks;
mod checkout;
mod events;
mod faults;
mod forged;
mod forged_records;
mod forwarding;
mod gc;
mod git;
mod identity;
mod killed;
mod launch;
mod leftovers;
mod list;
mod mcp;
mod outside;
mod remove;
mod repair;
mod run;
mod sandbox;
mod sandbox_faults;
mod subtree;
mod workers;
