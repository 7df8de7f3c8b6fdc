//! The pure decisions: what events say together, what is wrong with them, and what is to be done.

pub mod archive;
pub mod check;
pub mod find_question;
mod join;
pub mod migration_check;
mod problems;
pub mod statements;

pub use join::{Filter, join, join_all, join_filtered};
pub use problems::{doubts, errors, misnamed, misspelt, summary};
