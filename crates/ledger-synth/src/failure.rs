//! The kinds of failure that are particular to a ledger, each with the word that scripts see.

use shopfloor_core::error::{Exit, FailureKind};

/// A person must confirm, and there is no terminal.
pub const CONFIRM: FailureKind = FailureKind::new("confirm", Exit::No);
/// A file that we did not write is in the way.
pub const EXISTS: FailureKind = FailureKind::new("exists", Exit::No);
/// The event is part of a snapshot.
pub const FOLDED: FailureKind = FailureKind::new("folded", Exit::No);
pub const GIT: FailureKind = FailureKind::new("git", Exit::No);
pub const MALFORMED: FailureKind = FailureKind::new("malformed", Exit::No);
/// A merge, a rebase or the like is in progress.
pub const MERGING: FailureKind = FailureKind::new("merging", Exit::No);
/// No such question is open.
pub const NO_QUESTION: FailureKind = FailureKind::new("no_question", Exit::No);
pub const NOT_FOUND: FailureKind = FailureKind::new("not_found", Exit::No);
/// The event retracts another one.
pub const RETRACTION: FailureKind = FailureKind::new("retraction", Exit::No);
/// `current.md` does not match its events.
pub const STALE: FailureKind = FailureKind::new("stale", Exit::No);
/// A link leads to the ledger.
pub const SYMLINK: FailureKind = FailureKind::new("symlink", Exit::Failed);
