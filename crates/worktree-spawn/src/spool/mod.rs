//! A session's events on the disk, one file each. An event is published by a rename, taken by a rename under its file's
//! own lock, and deleted only once it is acknowledged. If a process dies in between, the event is delivered again.
//!
//! `new/` holds events that wait, `cur/` those being delivered, `bad/` files that could not be read. `last` is the
//! event that was acknowledged last, and `seq` the last number given out: a number is not given twice as long as any of
//! these is left.

mod claim;
mod directory;
mod publish;
mod tombstone;

#[cfg(test)]
mod tests;

pub use claim::Claim;
pub use directory::{Spool, SpoolEntry, all};
pub use publish::{Published, publish};
