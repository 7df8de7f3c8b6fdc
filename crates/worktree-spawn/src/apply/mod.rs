//! Everything that writes: worktrees and seats, the files in them, events, and the records of runs.

pub mod agent_config_files;
pub mod launch;
pub mod list_agents;
pub mod lock_and_excludes;
pub mod notify;
pub mod recover;
pub mod remove;
pub mod repair;
pub mod runs;
pub mod sandboxes;
pub mod send_event;
pub mod spawn;
pub mod trash;
pub mod undo;
pub mod wait;
