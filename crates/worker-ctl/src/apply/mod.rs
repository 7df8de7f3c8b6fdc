//! What changes the world: sessions, worktrees, the source's branch.

pub mod copies;
pub mod publish;
pub mod rebase;
pub mod repair;
pub mod session;
pub mod trash;
