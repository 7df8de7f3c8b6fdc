//! The pure decisions: what events come to, what is wrong with them, and what there is to do.

pub mod archive;
pub mod check;
pub mod history;
mod join;
mod problems;

pub use join::{Filter, join};
pub use problems::{EventProblems, future_sources};
