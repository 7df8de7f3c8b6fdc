//! Runs the tools where that changes something.

pub mod setup;
pub mod teardown;
