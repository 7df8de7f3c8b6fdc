//! Runs the tools where that changes something.

pub mod setup;
pub mod skills;
pub mod teardown;
