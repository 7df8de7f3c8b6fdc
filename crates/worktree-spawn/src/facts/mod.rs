//! Everything that is read: the repository, its agents, and what git says of them.

pub mod agents;
pub mod environment;
pub mod history;
pub mod moved;
pub mod removal;
pub mod repository;
pub mod spawn;
