//! The failure kinds of this tool: the word that scripts branch on, and its exit code.

use shopfloor_core::error::{Exit, Failure};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// A file of the repository, or a tracked file, needs a person's approval.
    Unapproved,
    /// A person must decide about changed variables first.
    Undecided,
    /// The file to create exists already.
    Exists,
    /// The file to replace changed in the meantime.
    Changed,
    /// A setup command failed.
    Setup,
    /// A link leads out of the repository.
    LeavingLink,
}

impl FailureKind {
    pub fn failure(self, message: impl Into<String>) -> Failure {
        let (exit, word) = match self {
            FailureKind::Unapproved => (Exit::Decide, "unapproved"),
            FailureKind::Undecided => (Exit::Decide, "undecided"),
            FailureKind::Exists => (Exit::No, "exists"),
            FailureKind::Changed => (Exit::Failed, "changed"),
            FailureKind::Setup => (Exit::Failed, "setup"),
            FailureKind::LeavingLink => (Exit::Bad, "symlink"),
        };
        Failure::new(exit, word, message)
    }
}
