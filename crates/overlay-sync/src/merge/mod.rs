//! The merge of three texts: the base both sides started from, the overlay's and the workspace's.
//!
//! Pure and deterministic, by type of file: structure where the type has one, lines elsewhere. What
//! conflicts is decided by a rule leaf by leaf, and every one-sided change of either side stays.

mod answer;
mod comments;
mod entry;
mod env;
mod file_type;
mod format;
mod grow;
mod json;
mod jsonl;
mod lines;
mod texts;
mod three_way;
mod toml;
mod tree;
mod yaml;

pub use self::answer::{check, limit};
pub use self::entry::{EntryPath, additions, donate, strip};
pub use self::file_type::{FileType, is_binary};
pub use self::grow::{Grow, Grown, entries, grown};
pub use self::texts::{MergeConflict, MergeInput, MergedText, Rule, WHOLE};
pub use self::three_way::{merge, merge_growing};

#[cfg(test)]
mod law_tests;
#[cfg(test)]
mod tests;
