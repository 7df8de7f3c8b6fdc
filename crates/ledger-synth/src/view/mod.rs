//! `current.md`: what a reader sees of the joined ledger, how it is rendered, and how it is recognised.

mod contents;
mod context;
mod difference;
mod escape;
mod flat;
mod footer;
mod frame;
mod group;
mod grouped;
mod looks;
mod marks;
mod newest;
mod notes;
mod page_entry;
mod pieces;
mod session;
mod write;

pub use contents::{OtherSection, ReachedCheckpoint, SectionContent, Told, View, open_questions, unnumbered};
pub use context::context;
pub use footer::{PageScan, PageSummary, footer, is_same, newer_format, without_footer};
pub use frame::source_line;
pub use notes::Notes;
