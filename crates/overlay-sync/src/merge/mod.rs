//! The merge of three texts: the base that both sides started from, the overlay's and the workspace's.
//!
//! It is pure and deterministic and depends on the type of file: by structure where the type has one, by lines
//! otherwise. A rule decides each conflict, and every change that only one side made is kept.

mod changes;
mod check_answer;
mod comments;
mod dispatch;
mod entry;
mod env;
mod file_type;
mod json;
mod jsonl;
mod lines;
mod list;
mod old_view;
mod outdated;
mod outdated_lines;
mod protected_entries;
mod texts;
mod three_way;
mod toml;
mod tree;
mod tree_merge;
mod yaml;

pub use self::changes::{Changes, changes};
pub use self::check_answer::{check, limit};
pub use self::entry::{EntryPath, additions, donate, strip, unsafe_entries, without};
pub use self::file_type::{FileType, is_binary};
pub use self::old_view::{Arrival, Freshness, StalePlace};
pub use self::outdated::freshness;
pub use self::protected_entries::{Grow, Grown, entries, grown};
pub use self::texts::{MergeConflict, MergeInput, MergedText, Rule, WHOLE};
pub use self::three_way::{by_rule, merge, merge_growing, without_change};

#[cfg(test)]
mod law_tests;
#[cfg(test)]
mod tests;
