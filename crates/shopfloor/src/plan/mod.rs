//! Decisions that read and write nothing.

pub mod desk;
pub mod rows;
pub mod setup;
pub mod teardown;
