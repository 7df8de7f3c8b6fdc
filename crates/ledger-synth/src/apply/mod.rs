//! The only room that writes into ledgers and worktrees.

pub mod adopt;
pub mod archive;
pub mod commit;
pub mod event;
pub mod files;
pub mod synthesis;
