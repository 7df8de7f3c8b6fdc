//! The kinds of failure of this tool, each with the word that scripts see and its exit code.

use shopfloor_core::error::{Exit, FailureKind};

/// A file of the repository, or a tracked file, needs a person's approval.
pub const UNAPPROVED: FailureKind = FailureKind::new("unapproved", Exit::Decide);
/// A person must decide about changed variables first.
pub const UNDECIDED: FailureKind = FailureKind::new("undecided", Exit::Decide);
/// The file to create exists already.
pub const EXISTS: FailureKind = FailureKind::new("exists", Exit::No);
/// The file to replace changed in the meantime.
pub const CHANGED: FailureKind = FailureKind::new("changed", Exit::Failed);
/// A setup command failed.
pub const SETUP: FailureKind = FailureKind::new("setup", Exit::Failed);
/// A step of set-up still runs at the time-out.
pub const TIMEOUT: FailureKind = FailureKind::new("timeout", Exit::Timeout);
/// A link leads out of the repository, or to nothing.
pub const BAD_LINK: FailureKind = FailureKind::new("symlink", Exit::Bad);
/// A teardown command failed.
pub const TEARDOWN: FailureKind = FailureKind::new("teardown", Exit::Failed);
