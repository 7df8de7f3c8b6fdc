//! The kinds of failure that this tool reports, each with the word that scripts see and its exit code.

use std::path::Path;

use shopfloor_core::error::{Exit, Failure, FailureKind};
use shopfloor_core::fs;

/// Another process does not let go of what the command needs.
pub const BUSY: FailureKind = FailureKind::new("busy", Exit::Busy);
/// What our git wrote in a checkout is not put back yet, because another git works there, or because that failed.
pub const NOT_PUT_BACK: FailureKind = FailureKind::new("not_put_back", Exit::Busy);
/// The work is not the work that was reviewed.
pub const CHANGED: FailureKind = FailureKind::new("changed", Exit::No);
/// The check of the work failed.
pub const CHECK_FAILED: FailureKind = FailureKind::new("check_failed", Exit::No);
/// The work is being checked.
pub const CHECKING: FailureKind = FailureKind::new("checking", Exit::No);
/// The work conflicts with the default branch, and nobody is there to resolve that.
pub const CONFLICT: FailureKind = FailureKind::new("conflict", Exit::No);
/// The worktree has uncommitted changes.
pub const DIRTY: FailureKind = FailureKind::new("dirty", Exit::No);
/// What is to be created exists already.
pub const EXISTS: FailureKind = FailureKind::new("exists", Exit::No);
/// A text may be in the worker's input line, not submitted, or may not have arrived.
pub const IN_DOUBT: FailureKind = FailureKind::new("in_doubt", Exit::No);
/// The root holds something that would be lost.
pub const IN_USE: FailureKind = FailureKind::new("in_use", Exit::No);
/// The work names an object of git-lfs that nobody has.
pub const LFS: FailureKind = FailureKind::new("lfs", Exit::No);
/// A person has locked the worktree with git.
pub const LOCKED: FailureKind = FailureKind::new("locked", Exit::No);
/// A file of the work still has conflict markers.
pub const MARKERS: FailureKind = FailureKind::new("markers", Exit::No);
/// Something is mounted in the worktree.
pub const MOUNTED: FailureKind = FailureKind::new("mounted", Exit::No);
/// Something else changed while the command ran, or a directory was moved, so it did nothing.
pub const MOVED: FailureKind = FailureKind::new("moved", Exit::No);
/// The source has dropped commits that the work sits on.
pub const MOVED_BACK: FailureKind = FailureKind::new("moved_back", Exit::No);
/// The root that the repository records is none, or its disk is away.
pub const NOT_A_ROOT: FailureKind = FailureKind::new("not_a_root", Exit::Bad);
/// Nothing of a text was typed, because the program cannot get it.
pub const NOT_DELIVERED: FailureKind = FailureKind::new("not_delivered", Exit::Failed);
/// There is no root.
pub const NOT_INITIALISED: FailureKind = FailureKind::new("not_initialised", Exit::Bad);
/// The default branch could not be moved.
pub const NOT_PUBLISHED: FailureKind = FailureKind::new("not_published", Exit::No);
/// The program does not take input.
pub const NOT_READY: FailureKind = FailureKind::new("not_ready", Exit::No);
/// Nothing of a text was typed, because a person types there or the program asks a question.
pub const OCCUPIED: FailureKind = FailureKind::new("occupied", Exit::No);
/// A remote has commits that would be taken back.
pub const PUSHED: FailureKind = FailureKind::new("pushed", Exit::No);
/// The job of its program waits in the cluster's own queue.
pub const QUEUED: FailureKind = FailureKind::new("queued", Exit::No);
/// The work begins at several commits of the default branch.
pub const SEVERAL_BASES: FailureKind = FailureKind::new("several_bases", Exit::No);
/// The state cannot be read.
pub const STATE: FailureKind = FailureKind::new("state", Exit::Failed);
/// Only the worker has a commit of a submodule.
pub const SUBMODULE: FailureKind = FailureKind::new("submodule", Exit::No);
/// Somebody changed a file so that git would follow or run it.
pub const TAMPERED: FailureKind = FailureKind::new("tampered", Exit::Failed);
/// The time to wait is up.
pub const TIMEOUT: FailureKind = FailureKind::new("timeout", Exit::Timeout);
/// tmux failed.
pub const TMUX: FailureKind = FailureKind::new("tmux", Exit::Failed);
/// The user's own list does not name the root.
pub const UNLISTED_ROOT: FailureKind = FailureKind::new("unlisted_root", Exit::Bad);
/// Commits or files exist nowhere else.
pub const UNMERGED: FailureKind = FailureKind::new("unmerged", Exit::No);
/// The work is larger than can be looked at.
pub const TOO_LARGE: FailureKind = FailureKind::new("too_large", Exit::No);
/// The work and the default branch have no history in common.
const UNRELATED: FailureKind = FailureKind::new("unrelated", Exit::No);
/// The worker is not in a state that allows it.
pub const WRONG_STATE: FailureKind = FailureKind::new("wrong_state", Exit::No);
/// A command failed on a host.
const ON_HOST: FailureKind = FailureKind::new("on_host", Exit::Failed);

/// The failure of work and a branch that have nothing in common. `firsts` are the first commits of both, and `shallow`
/// is git's list of those that it takes for such, which an agent can write.
pub fn unrelated(name: &str, branch: &str, firsts: &str, shallow: &Path) -> Failure {
    let cut = fs::read_no_follow(shallow).ok().flatten().unwrap_or_default();
    let cut = String::from_utf8_lossy(&cut);
    let hint = match firsts.lines().find(|first| cut.contains(first)) {
        Some(first) => {
            format!("{} cuts history off at {first}: `git fetch --unshallow`, or take that line out", shallow.display())
        }
        None => {
            let reset = format!("worker-ctl reset {name} --force");
            format!("ask the worker to put its work on {branch}, or discard it with `{reset}`")
        }
    };
    UNRELATED.failure(format!("the work of {name} has no history in common with {branch}")).hint(hint)
}

/// The failure of a command on a host that ended with this code.
pub fn there(code: i32, message: String) -> Failure {
    let exits = [Exit::No, Exit::Bad, Exit::Decide, Exit::Failed, Exit::Busy, Exit::Timeout];
    let exit = exits.into_iter().find(|exit| i32::from(exit.code()) == code);
    ON_HOST.with(exit.unwrap_or(Exit::Failed), message)
}
