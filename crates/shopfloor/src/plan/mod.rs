//! Decisions that read and write nothing.

pub mod rows;
pub mod setup;
pub mod teardown;
