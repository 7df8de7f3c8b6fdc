//! Everything that makes changes: to the state, worktrees, terminals and the source.

pub mod agent_hooks;
pub mod bring_up;
pub mod check;
pub mod checkout_update;
pub mod clone_hooks;
pub mod copied_files;
pub mod deliver;
pub mod give_task;
pub mod land;
pub mod land_on_parent;
pub mod landing_lfs;
pub mod launch_spec;
pub mod new_worker;
pub mod patrol;
pub mod publish;
pub mod rebase;
pub mod recover;
pub mod removal;
pub mod repair;
pub mod sandbox;
pub mod session;
pub mod shutdown;
pub mod supervise;
pub mod transition;
pub mod trash;
pub mod worktree_spawn;
