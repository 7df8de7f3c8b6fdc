//! The kinds of failure of this tool, each with the word that scripts see and its exit code.

use shopfloor_core::error::{Exit, FailureKind};

/// An entry occurs more than once.
pub const AMBIGUOUS: FailureKind = FailureKind::new("ambiguous", Exit::No);
/// Another process watches the overlay.
pub const BUSY: FailureKind = FailureKind::new("busy", Exit::Busy);
/// A text is not the one that the command is about any more.
pub const CHANGED: FailureKind = FailureKind::new("changed", Exit::No);
/// A file exists already.
pub const EXISTS: FailureKind = FailureKind::new("exists", Exit::No);
/// Something in a workspace is held.
pub const HELD: FailureKind = FailureKind::new("held", Exit::No);
/// git does not ignore a file.
pub const NOT_IGNORED: FailureKind = FailureKind::new("not_ignored", Exit::No);
/// Something belongs to another repository.
pub const OTHER_REPOSITORY: FailureKind = FailureKind::new("other_repository", Exit::Bad);
/// The overlay's directory is there, and was emptied or has lost its state.
pub const OVERLAY_EMPTIED: FailureKind = FailureKind::new("overlay_emptied", Exit::No);
/// The overlay's directory is not there.
pub const OVERLAY_GONE: FailureKind = FailureKind::new("overlay_gone", Exit::No);
/// The text that is held is the overlay's.
pub const OVERLAY_HELD: FailureKind = FailureKind::new("overlay_held", Exit::No);
/// The overlay does not know a worktree that was attached to it.
pub const UNKNOWN: FailureKind = FailureKind::new("unknown", Exit::No);
