//! Everything that makes changes: to the state, worktrees, terminals and the source.

pub mod attached;
pub mod bring_up;
pub mod copies;
pub mod deliver;
pub mod hooks;
pub mod keep_up;
pub mod land;
pub mod launch;
pub mod make;
pub mod patrol;
pub mod publish;
pub mod rebase;
pub mod rebuild;
pub mod recover;
pub mod removal;
pub mod repair;
pub mod session;
pub mod shutdown;
pub mod source_hooks;
pub mod transition;
pub mod trash;
