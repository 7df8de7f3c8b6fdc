//! The kinds of failure this tool reports, each with the word that scripts see.

use shopfloor_core::error::{Exit, FailureKind};

pub const AMBIGUOUS: FailureKind = FailureKind::new("ambiguous", Exit::No);
pub const BLOCKED: FailureKind = FailureKind::new("blocked", Exit::No);
pub const BUSY: FailureKind = FailureKind::new("busy", Exit::No);
pub const CHANGED: FailureKind = FailureKind::new("changed", Exit::No);
pub const CHECKED_IN: FailureKind = FailureKind::new("checked_in", Exit::No);
pub const DEPTH: FailureKind = FailureKind::new("depth", Exit::No);
pub const DETACHED: FailureKind = FailureKind::new("detached", Exit::No);
pub const DIRTY: FailureKind = FailureKind::new("dirty", Exit::No);
pub const EXISTS: FailureKind = FailureKind::new("exists", Exit::No);
pub const GIT: FailureKind = FailureKind::new("git", Exit::No);
pub const HERE: FailureKind = FailureKind::new("here", Exit::No);
pub const IDENTITY: FailureKind = FailureKind::new("identity", Exit::No);
pub const LIVE: FailureKind = FailureKind::new("live", Exit::No);
pub const LOCKED: FailureKind = FailureKind::new("locked", Exit::No);
pub const LOST: FailureKind = FailureKind::new("lost", Exit::No);
pub const MAIN_CHECKOUT: FailureKind = FailureKind::new("main_checkout", Exit::No);
pub const MOUNTED: FailureKind = FailureKind::new("mounted", Exit::No);
pub const NESTED: FailureKind = FailureKind::new("nested", Exit::No);
pub const NO_PARENT: FailureKind = FailureKind::new("no_parent", Exit::No);
pub const NO_WORKTREE: FailureKind = FailureKind::new("no_worktree", Exit::No);
pub const NOT_A_REPOSITORY: FailureKind = FailureKind::new("not_a_repository", Exit::No);
pub const NOT_FOUND: FailureKind = FailureKind::new("not_found", Exit::No);
pub const NOT_RELATED: FailureKind = FailureKind::new("not_related", Exit::No);
pub const TAMPERED: FailureKind = FailureKind::new("tampered", Exit::Failed);
pub const UNBORN: FailureKind = FailureKind::new("unborn", Exit::No);
pub const UNMANAGED: FailureKind = FailureKind::new("unmanaged", Exit::No);
pub const UNMERGED: FailureKind = FailureKind::new("unmerged", Exit::No);
