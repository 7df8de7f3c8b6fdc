//! What goes into a merge and what comes out of it.

use super::file_type::FileType;

/// What decides a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The workspace's side: last write wins.
    Workspace,
    /// The same by a person's word, so that what it deleted goes too.
    Person,
    /// The overlay's side.
    Overlay,
}

impl Rule {
    /// The workspace's side or the overlay's, as this decides.
    pub fn pick<T>(self, overlay: T, workspace: T) -> T {
        if self == Rule::Overlay { overlay } else { workspace }
    }
}

/// Three texts and how to merge them.
#[derive(Clone, Copy, Debug)]
pub struct MergeInput<'a> {
    /// None: the two sides have no common past.
    pub base: Option<&'a [u8]>,
    pub overlay: &'a [u8],
    pub workspace: &'a [u8],
    pub kind: FileType,
    /// Decides what conflicts; without a base the overlay wins, unless a person said otherwise.
    pub rule: Rule,
}

/// A merged text, and what had to be decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedText {
    pub bytes: Vec<u8>,
    pub conflicts: Vec<MergeConflict>,
}

/// A place both sides changed differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeConflict {
    /// A key path (`env.PORT`), a variable, a line (`line 3`), or `whole file`.
    pub place: String,
    /// Whose side was kept.
    pub kept: Rule,
}

/// The place of a conflict that is about all of a file.
pub const WHOLE: &str = "whole file";
