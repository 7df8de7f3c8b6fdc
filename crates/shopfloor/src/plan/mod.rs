//! Decisions that read and write nothing.

pub mod desk;
pub mod names;
pub mod rows;
pub mod setup;
pub mod teardown;
