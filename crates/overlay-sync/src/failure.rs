//! The reasons for which this tool's commands refuse, as `--json` names them.

use shopfloor_core::error::{Exit, Failure};

/// A kind of failure of this tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An entry occurs more than once.
    Ambiguous,
    /// Another process watches the overlay.
    Busy,
    /// A text is not the one that the command is about any more.
    Changed,
    /// A worktree is a copy of another one.
    Copy,
    /// A file exists already.
    Exists,
    /// Something in a workspace is held.
    Held,
    /// git does not ignore a file.
    NotIgnored,
    /// Something belongs to another repository.
    OtherRepository,
    /// The overlay is missing or empty.
    OverlayGone,
    /// The text that is held is the overlay's.
    OverlayHeld,
    /// The overlay does not know a worktree that was attached to it.
    Unknown,
}

impl Refusal {
    /// The failure of this kind, with its exit code.
    pub fn failure(self, message: impl Into<String>) -> Failure {
        let (exit, kind) = match self {
            Refusal::Ambiguous => (Exit::No, "ambiguous"),
            Refusal::Busy => (Exit::Busy, "busy"),
            Refusal::Changed => (Exit::No, "changed"),
            Refusal::Copy => (Exit::Bad, "copy"),
            Refusal::Exists => (Exit::No, "exists"),
            Refusal::Held => (Exit::No, "held"),
            Refusal::NotIgnored => (Exit::No, "not_ignored"),
            Refusal::OtherRepository => (Exit::Bad, "other_repository"),
            Refusal::OverlayGone => (Exit::No, "overlay_gone"),
            Refusal::OverlayHeld => (Exit::No, "overlay_held"),
            Refusal::Unknown => (Exit::No, "unknown"),
        };
        Failure::new(exit, kind, message)
    }
}
