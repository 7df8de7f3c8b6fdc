//! Everything that is read: where we stand, who is there, what git says.

pub mod agents;
pub mod place;
pub mod removal;
pub mod spawn;
