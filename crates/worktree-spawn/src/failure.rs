//! The kinds of failure this tool reports, each with the word that scripts see.

use shopfloor_core::error::{Exit, Failure};

/// A kind of failure: the value of `kind` in a JSON error. The words are a promise: scripts branch on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpawnFailure(&'static str);

impl SpawnFailure {
    pub const AMBIGUOUS: SpawnFailure = SpawnFailure("ambiguous");
    pub const BLOCKED: SpawnFailure = SpawnFailure("blocked");
    pub const BUSY: SpawnFailure = SpawnFailure("busy");
    pub const CHANGED: SpawnFailure = SpawnFailure("changed");
    pub const CHECKED_IN: SpawnFailure = SpawnFailure("checked_in");
    pub const DEPTH: SpawnFailure = SpawnFailure("depth");
    pub const DETACHED: SpawnFailure = SpawnFailure("detached");
    pub const DIRTY: SpawnFailure = SpawnFailure("dirty");
    pub const EXISTS: SpawnFailure = SpawnFailure("exists");
    pub const GIT: SpawnFailure = SpawnFailure("git");
    pub const HERE: SpawnFailure = SpawnFailure("here");
    pub const IDENTITY: SpawnFailure = SpawnFailure("identity");
    pub const LIVE: SpawnFailure = SpawnFailure("live");
    pub const LOCKED: SpawnFailure = SpawnFailure("locked");
    pub const LOST: SpawnFailure = SpawnFailure("lost");
    pub const MOUNTED: SpawnFailure = SpawnFailure("mounted");
    pub const NESTED: SpawnFailure = SpawnFailure("nested");
    pub const NO_PARENT: SpawnFailure = SpawnFailure("no_parent");
    pub const NO_WORKTREE: SpawnFailure = SpawnFailure("no_worktree");
    pub const NOT_A_REPOSITORY: SpawnFailure = SpawnFailure("not_a_repository");
    pub const NOT_FOUND: SpawnFailure = SpawnFailure("not_found");
    pub const UNBORN: SpawnFailure = SpawnFailure("unborn");
    pub const UNMANAGED: SpawnFailure = SpawnFailure("unmanaged");
    pub const UNMERGED: SpawnFailure = SpawnFailure("unmerged");

    /// A failure of this kind.
    pub fn with(self, exit: Exit, message: impl Into<String>) -> Failure {
        Failure::new(exit, self.0, message)
    }

    /// A refusal of this kind: exit 1.
    pub fn refuse(self, message: impl Into<String>) -> Failure {
        self.with(Exit::No, message)
    }

    /// Whether a failure is of this kind.
    pub fn is_kind_of(self, failure: &Failure) -> bool {
        failure.kind == self.0
    }
}
