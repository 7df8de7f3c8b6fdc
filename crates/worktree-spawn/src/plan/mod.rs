//! The pure decisions: what a spawn makes, and what may be removed.

pub mod removal;
pub mod spawn;
