//! What goes into a merge and what comes out of it.

use super::file_type::FileType;

/// What decides a conflict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// The workspace's side: the last write wins.
    #[default]
    Workspace,
    /// The workspace's side because a person said so; then its deletions count too.
    Person,
    /// The overlay's side.
    Overlay,
    /// The overlay's side in an undo, which brings back nothing that was deleted since.
    Undo,
}

impl Rule {
    /// The rule for a conflict between these: in one between a deletion and a change the change is kept.
    pub fn of<T>(self, overlay: Option<T>, workspace: Option<T>) -> Rule {
        match (overlay, workspace) {
            _ if matches!(self, Rule::Person | Rule::Undo) => self,
            (Some(_), None) => Rule::Overlay,
            (None, Some(_)) => Rule::Workspace,
            _ => self,
        }
    }

    /// The side that this rule picks.
    pub fn pick<T>(self, overlay: T, workspace: T) -> T {
        if matches!(self, Rule::Overlay | Rule::Undo) { overlay } else { workspace }
    }
}

/// Three texts and how to merge them.
#[derive(Clone, Copy, Debug)]
pub struct MergeInput<'a> {
    /// `None` when the two sides have no common past.
    pub base: Option<&'a [u8]>,
    pub overlay: &'a [u8],
    pub workspace: &'a [u8],
    pub kind: FileType,
    /// Decides conflicts. Without a base the overlay wins, unless a person decided.
    pub rule: Rule,
}

/// A merged text, and the conflicts that were decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedText {
    pub bytes: Vec<u8>,
    pub conflicts: Vec<MergeConflict>,
}

/// A place that both sides changed differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeConflict {
    /// A key path (`env.PORT`), a variable, a line (`line 3`), or `whole file`.
    pub place: String,
    /// Whose side was kept.
    pub kept: Rule,
}

/// The place of a conflict over a whole file.
pub const WHOLE: &str = "whole file";
