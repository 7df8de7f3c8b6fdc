//! The only room that makes and removes worktrees and seats, and writes files in them.

pub mod checkout;
pub mod files;
pub mod remove;
pub mod spawn;
pub mod trash;
pub mod undo;
