//! The kinds of failure that are particular to a ledger.

use shopfloor_core::error::{Exit, Failure};

/// A kind of failure. Scripts branch on its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerFailure {
    /// A person must confirm, and there is no terminal.
    Confirm,
    /// A file that we did not write is in the way.
    Exists,
    /// The event is part of a snapshot.
    Folded,
    Git,
    Malformed,
    /// A merge, a rebase or the like is in progress.
    Merging,
    /// No such question is open.
    NoQuestion,
    NotFound,
    /// The event retracts another one.
    Retraction,
    /// `current.md` does not match its events.
    Stale,
}

impl LedgerFailure {
    /// The `kind` of `--json`.
    pub const fn word(self) -> &'static str {
        match self {
            LedgerFailure::Confirm => "confirm",
            LedgerFailure::Exists => "exists",
            LedgerFailure::Folded => "folded",
            LedgerFailure::Git => "git",
            LedgerFailure::Malformed => "malformed",
            LedgerFailure::Merging => "merging",
            LedgerFailure::NoQuestion => "no_question",
            LedgerFailure::NotFound => "not_found",
            LedgerFailure::Retraction => "retraction",
            LedgerFailure::Stale => "stale",
        }
    }

    /// A failure of this kind.
    pub fn with(self, exit: Exit, message: impl Into<String>) -> Failure {
        Failure::new(exit, self.word(), message)
    }
}
