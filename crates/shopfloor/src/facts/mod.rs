//! What is there, and what the tools answer.

pub mod answers;
pub mod overview;
pub mod remains;
pub mod repository;
pub mod surroundings;
