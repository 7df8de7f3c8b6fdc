//! `current.md`: what a reader sees of the joined ledger, how it is rendered, and how it is recognised.

mod contents;
mod escape;
mod footer;
mod render;

pub use contents::{OtherSection, ReachedCheckpoint, SectionContent, View};
pub use footer::{FORMAT, footer, is_same, newer_format};
pub use render::source_line;
