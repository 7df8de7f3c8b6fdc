//! The pure decisions: the state machine, and what is a new commit.

pub mod machine;

#[cfg(test)]
mod tests;
