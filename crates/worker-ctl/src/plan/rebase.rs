//! Whether a worker's work is put onto what the default branch is now, and how.

use shopfloor_core::error::{Exit, Failure, Result};

use crate::clone::MergeResult;
use crate::facts::standing::Standing;
use crate::plan::{require_at, require_clean, wrong_state};
use crate::worker::{Session, Task, Worker};

/// What will be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebase {
    /// Nothing: it sits there already.
    UpToDate,
    /// Its commits are put there one by one.
    Replay,
    /// The rebase stops at its conflicts, and the worker is told of them.
    Tell,
}

/// What a person asked for.
pub fn rebase(standing: &Standing, branch: &str) -> Result<Rebase> {
    let worker = &standing.worker;
    if !matches!(worker.task, Task::Working | Task::NeedsReview | Task::Rejected) {
        return Err(wrong_state(worker).hint("`worker-ctl status` shows what workers are at"));
    }
    if standing.worktree.is_rebasing {
        return Err(Failure::new(Exit::No, "wrong_state", format!("{} is in a rebase of its own", worker.name))
            .hint("let it finish that first"));
    }
    require_clean(standing)?;
    decide(standing, branch)
}

fn decide(standing: &Standing, branch: &str) -> Result<Rebase> {
    let Some(work) = &standing.work else { return Ok(Rebase::UpToDate) };
    require_at(standing, &work.sha)?;
    if work.has_base && !work.was_moved_back {
        return Ok(Rebase::UpToDate);
    }
    // What the default branch has dropped is no conflict: it is left out.
    if !work.was_moved_back && work.merge == MergeResult::Conflict {
        require_session(&standing.worker, branch)?;
        return Ok(Rebase::Tell);
    }
    Ok(Rebase::Replay)
}

/// Exit 1 where nobody could be told of a conflict.
pub fn require_session(worker: &Worker, branch: &str) -> Result<()> {
    let name = &worker.name;
    if worker.session == Session::Up && worker.fault.is_none() {
        return Ok(());
    }
    Err(Failure::new(Exit::No, "conflict", format!("{name} conflicts with {branch}, and has no session"))
        .hint(format!("bring it up, so that it can be told: `worker-ctl up {name}`")))
}

/// Whether a review is behind a default branch at `base`, and has not been tried there.
pub fn is_behind(worker: &Worker, base: &str) -> bool {
    worker.task == Task::NeedsReview && worker.fault.is_none() && worker.base_sha.as_deref() != Some(base)
}

/// What becomes of a review that the default branch has left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// It waits: somebody works in its worktree, or nobody is there to resolve its conflicts.
    Wait,
    /// There is nothing to do for this commit of the default branch.
    Settled,
    Rebase(Rebase),
}

/// The same for a review that is [behind](is_behind), without anybody asking.
pub fn refresh(standing: &Standing, branch: &str) -> Refresh {
    let Some(work) = &standing.work else { return Refresh::Wait };
    if work.has_base && !work.was_moved_back {
        return Refresh::Settled;
    }
    let can_be_told = standing.worker.session == Session::Up && !standing.worker.is_in_doubt;
    if !standing.worktree.dirty.is_empty() || work.merge == MergeResult::Conflict && !can_be_told {
        return Refresh::Wait;
    }
    match decide(standing, branch) {
        Ok(Rebase::Replay) if work.merge == MergeResult::Nothing => Refresh::Settled,
        Ok(rebase) => Refresh::Rebase(rebase),
        Err(_) => Refresh::Wait,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::start::tests::standing;

    fn behind(task: Task) -> Standing {
        let mut standing = standing(task);
        standing.work.as_mut().unwrap().has_base = false;
        standing
    }

    #[test]
    fn what_is_asked_for_is_done_told_or_refused() {
        let at = |task| rebase(&behind(task), "main");
        for task in [Task::Working, Task::NeedsReview, Task::Rejected] {
            assert_eq!(at(task.clone()).unwrap(), Rebase::Replay);
            assert_eq!(rebase(&standing(task), "main").unwrap(), Rebase::UpToDate);
        }
        assert_eq!(rebase(&standing(Task::Idle), "main").unwrap_err().kind, "wrong_state");
        let mut conflicts = behind(Task::Working);
        conflicts.work.as_mut().unwrap().merge = MergeResult::Conflict;
        assert_eq!(rebase(&conflicts, "main").unwrap(), Rebase::Tell);
        // Its conflicts are with what was dropped.
        conflicts.work.as_mut().unwrap().was_moved_back = true;
        assert_eq!(rebase(&conflicts, "main").unwrap(), Rebase::Replay);
        let mut dirty = behind(Task::Working);
        dirty.worktree.dirty.push("a".into());
        assert_eq!(rebase(&dirty, "main").unwrap_err().kind, "dirty");
        let mut busy = behind(Task::Working);
        busy.worktree.is_rebasing = true;
        assert_eq!(rebase(&busy, "main").unwrap_err().kind, "wrong_state");
    }

    #[test]
    fn nobody_asked_so_what_is_in_the_way_waits() {
        assert_eq!(refresh(&behind(Task::NeedsReview), "main"), Refresh::Rebase(Rebase::Replay));
        assert_eq!(refresh(&standing(Task::NeedsReview), "main"), Refresh::Settled);
        type Change = fn(&mut Standing);
        let conflict: Change = |s| s.work.as_mut().unwrap().merge = MergeResult::Conflict;
        let changes: [(&[Change], Refresh); 6] = [
            (&[|s| s.worktree.dirty.push("a".into())], Refresh::Wait),
            (&[|s| s.worktree.head = Some("later".into())], Refresh::Wait),
            (&[|s| s.work.as_mut().unwrap().merge = MergeResult::Nothing], Refresh::Settled),
            (&[conflict], Refresh::Rebase(Rebase::Tell)),
            (&[conflict, |s| s.worker.session = Session::Down], Refresh::Wait),
            (&[conflict, |s| s.worker.is_in_doubt = true], Refresh::Wait),
        ];
        for (changes, expected) in changes {
            let mut standing = behind(Task::NeedsReview);
            changes.iter().for_each(|change| change(&mut standing));
            assert_eq!(refresh(&standing, "main"), expected);
        }
    }
}
