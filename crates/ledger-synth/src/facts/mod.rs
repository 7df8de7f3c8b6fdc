//! Everything that is read: where the ledger is, its events, and what `current.md` holds.

pub mod author;
mod below;
pub mod clone;
pub mod directory;
mod event_paths;
mod events;
pub mod gather;
mod ledger;
pub mod objects;
pub mod sparse;

pub use event_paths::{EventPath, EventPaths};
pub use events::{EventFileContent, Events, Skipped, SnapshotFile};
pub use ledger::{ARCHIVE, CURRENT, Current, EVENTS, Ledger, OpenPage, SeenCurrent};
