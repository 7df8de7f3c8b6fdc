//! Facts, read before anything is decided.

pub mod adoption;
pub mod branch_changes;
pub mod clashes;
pub mod conflicts;
pub mod losses;
pub mod processes;
pub mod request;
pub mod sandboxes;
pub mod session_files;
pub mod setup_steps;
pub mod version;
pub mod work_summary;
pub mod worker_state;
