//! Everything that is read: the repository, its agents, and what git says of them.

pub mod agent_environment;
pub mod agents;
pub mod merged_commits;
pub mod moved;
pub mod removal;
pub mod repository;
pub mod spawn;
