//! Facts, read before anything is decided.

pub mod adoption;
pub mod conflicts;
pub mod description;
pub mod losses;
pub mod processes;
pub mod version;
pub mod worker_state;
