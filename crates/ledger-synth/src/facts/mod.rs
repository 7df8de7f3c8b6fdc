//! Everything that is read: where the ledger is, its events, and what `current.md` holds.

pub mod author;
mod below;
pub mod event_dir;
mod events;
pub mod fingerprint;
pub mod gather;
pub mod git_setup;
mod ledger;
pub mod objects;

pub use events::{EventFile, EventFileContent, Events};
pub use ledger::{ARCHIVE, CURRENT, Current, EVENTS, Ledger};
