//! The kinds of failure that this tool reports, each with the word that scripts see and its exit code.

use shopfloor_core::error::{Exit, Failure};

/// A kind of failure. The words are a promise: scripts branch on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Another process does not let go of what the command needs.
    Busy,
    /// The work is not the work that was reviewed.
    Changed,
    /// The work conflicts with the default branch, and nobody is there to resolve that.
    Conflict,
    /// The worktree has uncommitted changes.
    Dirty,
    /// What is to be created exists already.
    Exists,
    /// A text may be in the worker's input line, not submitted.
    InDoubt,
    /// The root holds something that would be lost.
    InUse,
    /// The work names an object of git-lfs that nobody has.
    Lfs,
    /// A person has locked the worktree with git.
    Locked,
    /// A file of the work still has conflict markers.
    Markers,
    /// Something is mounted in the worktree.
    Mounted,
    /// Something else changed while the command ran, or a directory was moved, so it did nothing.
    Moved,
    /// The source has dropped commits that the work sits on.
    MovedBack,
    /// Nothing of a text was typed, because the program cannot get it.
    NotDelivered,
    /// There is no root.
    NotInitialised,
    /// The default branch could not be moved.
    NotPublished,
    /// The program does not take input.
    NotReady,
    /// Nothing of a text was typed, because a person types there or the program asks a question.
    Occupied,
    /// The work begins at several commits of the default branch.
    SeveralBases,
    /// The state cannot be read.
    State,
    /// Only the worker has a commit of a submodule.
    Submodule,
    /// Somebody changed a file so that git would follow or run it.
    Tampered,
    /// The time to wait is up.
    Timeout,
    /// tmux failed.
    Tmux,
    /// The user's own list does not name the root.
    UnlistedRoot,
    /// Commits or files exist nowhere else.
    Unmerged,
    /// The work is larger than can be looked at.
    TooLarge,
    /// The work and the default branch have no history in common.
    Unrelated,
    /// The worker is not in a state that allows it.
    WrongState,
}

impl Kind {
    /// The value of `kind` in a JSON error.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Busy => "busy",
            Kind::Changed => "changed",
            Kind::Conflict => "conflict",
            Kind::Dirty => "dirty",
            Kind::Exists => "exists",
            Kind::InDoubt => "in_doubt",
            Kind::InUse => "in_use",
            Kind::Lfs => "lfs",
            Kind::Locked => "locked",
            Kind::Markers => "markers",
            Kind::Mounted => "mounted",
            Kind::Moved => "moved",
            Kind::MovedBack => "moved_back",
            Kind::NotDelivered => "not_delivered",
            Kind::NotInitialised => "not_initialised",
            Kind::NotPublished => "not_published",
            Kind::NotReady => "not_ready",
            Kind::Occupied => "occupied",
            Kind::SeveralBases => "several_bases",
            Kind::State => "state",
            Kind::Submodule => "submodule",
            Kind::Tampered => "tampered",
            Kind::Timeout => "timeout",
            Kind::Tmux => "tmux",
            Kind::TooLarge => "too_large",
            Kind::UnlistedRoot => "unlisted_root",
            Kind::Unmerged => "unmerged",
            Kind::Unrelated => "unrelated",
            Kind::WrongState => "wrong_state",
        }
    }

    /// Whether a failure is of this kind.
    pub fn is_kind_of(self, failure: &Failure) -> bool {
        failure.kind == self.word()
    }
}

/// A failure of this kind.
pub fn fail(kind: Kind, message: impl Into<String>) -> Failure {
    let exit = match kind {
        Kind::NotInitialised | Kind::UnlistedRoot => Exit::Bad,
        Kind::NotDelivered | Kind::State | Kind::Tampered | Kind::Tmux => Exit::Failed,
        Kind::Busy => Exit::Busy,
        Kind::Timeout => Exit::Timeout,
        _ => Exit::No,
    };
    Failure::new(exit, kind.word(), message)
}
