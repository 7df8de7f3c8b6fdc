//! What is there, and what the tools answer.

pub mod desk_feed;
pub mod overview;
pub mod remains;
pub mod repository;
pub mod run_tool;
pub mod setup_facts;
