//! `current.md`: what a reader sees of the joined ledger, how it is rendered, and how it is recognised.

mod context;
mod difference;
mod escape;
mod fences;
mod frame;
mod group;
mod grouped;
mod inline_markup;
mod model;
mod newest;
mod notes;
mod session;
mod write;

pub use context::context;
pub use difference::difference;
pub use frame::{Footer, event_line, footer, is_same, newer_format, without_footer};
pub use model::{OtherSection, ReachedCheckpoint, View, open_questions, unnumbered};
pub use notes::Notes;
