//! The pure decisions: what a spawn makes, what may be removed.

pub mod removal;
pub mod spawn;
