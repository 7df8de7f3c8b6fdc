//! Everything that makes changes: to the state, worktrees, terminals and the source.

pub mod bring_up;
pub mod changed_files;
pub mod copied_files;
pub mod deliver;
pub mod hooks;
pub mod keep_up;
pub mod land;
pub mod launch;
pub mod lfs_and_submodules;
pub mod new_worker;
pub mod parent;
pub mod patrol;
pub mod publish;
pub mod rebase;
pub mod recover;
pub mod removal;
pub mod repair;
pub mod session;
pub mod shutdown;
pub mod source_hooks;
pub mod spawn_agent;
pub mod transition;
pub mod trash;
