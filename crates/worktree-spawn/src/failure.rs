//! The kinds of failure this tool reports, each with the word that scripts see.

use shopfloor_core::error::{Exit, Failure};
use shopfloor_core::proc::Output;

/// A kind of failure. The words are a promise: scripts branch on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnFailure {
    Ambiguous,
    Blocked,
    Busy,
    Changed,
    CheckedIn,
    Depth,
    Detached,
    Dirty,
    Exists,
    Git,
    Here,
    Identity,
    Live,
    Locked,
    Lost,
    Mounted,
    Nested,
    NoParent,
    NoWorktree,
    NotARepository,
    NotFound,
    Unborn,
    Unmanaged,
    Unmerged,
}

impl SpawnFailure {
    /// The value of `kind` in a JSON error.
    pub fn word(self) -> &'static str {
        match self {
            SpawnFailure::Ambiguous => "ambiguous",
            SpawnFailure::Blocked => "blocked",
            SpawnFailure::Busy => "busy",
            SpawnFailure::Changed => "changed",
            SpawnFailure::CheckedIn => "checked_in",
            SpawnFailure::Depth => "depth",
            SpawnFailure::Detached => "detached",
            SpawnFailure::Dirty => "dirty",
            SpawnFailure::Exists => "exists",
            SpawnFailure::Git => "git",
            SpawnFailure::Here => "here",
            SpawnFailure::Identity => "identity",
            SpawnFailure::Live => "live",
            SpawnFailure::Locked => "locked",
            SpawnFailure::Lost => "lost",
            SpawnFailure::Mounted => "mounted",
            SpawnFailure::Nested => "nested",
            SpawnFailure::NoParent => "no_parent",
            SpawnFailure::NoWorktree => "no_worktree",
            SpawnFailure::NotARepository => "not_a_repository",
            SpawnFailure::NotFound => "not_found",
            SpawnFailure::Unborn => "unborn",
            SpawnFailure::Unmanaged => "unmanaged",
            SpawnFailure::Unmerged => "unmerged",
        }
    }

    /// A failure of this kind.
    pub fn with(self, exit: Exit, message: impl Into<String>) -> Failure {
        Failure::new(exit, self.word(), message)
    }

    /// A refusal of this kind: exit 1.
    pub fn refuse(self, message: impl Into<String>) -> Failure {
        self.with(Exit::No, message)
    }

    /// Whether a failure is of this kind.
    pub fn is_kind_of(self, failure: &Failure) -> bool {
        failure.kind == self.word()
    }
}

/// What a command wrote to stderr, as a cause.
pub fn stderr(output: &Output) -> std::io::Error {
    std::io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}
