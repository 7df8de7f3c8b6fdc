//! Decides whether and how a worker's work is rebased onto the default branch.

use shopfloor_core::error::Result;
use shopfloor_core::text::shell_word;

use crate::facts::worker_state::Standing;
use crate::failure;
use crate::plan::{require_at, require_clean, require_finished, wrong_state};
use crate::work_repo::MergeResult;
use crate::worker::{Session, Task, Worker};

/// The plan of a rebase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebase {
    /// Do nothing: the work is on the default branch's commit already.
    UpToDate,
    /// Replay the worker's commits one by one.
    Replay,
    /// Leave the rebase at its conflicts, and ask the worker to resolve them.
    AskToResolve,
}

/// Plans a rebase that a person asked for.
pub fn rebase(standing: &Standing, branch: &str) -> Result<Rebase> {
    let worker = &standing.worker;
    require_task(worker)?;
    if standing.worktree.is_rebasing {
        return Err(failure::WRONG_STATE
            .failure(format!("{} is in a rebase of its own", worker.name))
            .hint(format!("wait until {} has finished that rebase", worker.name)));
    }
    if standing.worktree.is_shared {
        let (name, text) = (&worker.name, shell_word(format!("Merge {branch} into your branch").as_ref()));
        return Err(failure::WRONG_STATE
            .failure(format!("the branch {} of {name} is others' too, and is not rebased", worker.branch))
            .hint(format!("ask for a merge: {}", worker.message_hint(&text))));
    }
    require_clean(worker, &standing.worktree.dirty, &standing.worktree.always_dirty)?;
    require_finished(worker, standing.worktree.unfinished)?;
    decide(standing, branch)
}

/// Exit 1 when the worker has no task whose work could be rebased.
pub fn require_task(worker: &Worker) -> Result<()> {
    match worker.task {
        Task::Working | Task::NeedsReview | Task::Rejected => Ok(()),
        Task::Rebasing { .. } => Err(wrong_state(worker).hint(worker.review_hint())),
        Task::Idle => Err(wrong_state(worker).hint("`worker-ctl status` shows the state of each worker")),
    }
}

/// Exit 1 when the program of a worker that was asked to resolve conflicts does not work on them.
pub fn require_resolving(worker: &Worker, branch: &str) -> Result<()> {
    if worker.goes_on() {
        return Ok(());
    }
    Err(failure::CONFLICT
        .failure(format!("{} conflicts with {branch}, and its program does not work on that", worker.name))
        .hint(worker.review_hint()))
}

fn decide(standing: &Standing, branch: &str) -> Result<Rebase> {
    let Some(work) = &standing.work else {
        let why = format!("the worktree of {} has no commit checked out", standing.worker.name);
        return Err(failure::WRONG_STATE
            .failure(why)
            .hint(format!("see what {0} is doing: `worker-ctl attach {0}`", standing.worker.name)));
    };
    require_at(standing.is_at(&work.sha), standing.worker.checkout(), &work.sha)?;
    if work.has_base && !work.was_moved_back {
        return Ok(Rebase::UpToDate);
    }
    // Conflicts with commits that the default branch has dropped do not count: those commits are left out.
    if !work.was_moved_back && work.merge == MergeResult::Conflict {
        require_session(&standing.worker, branch)?;
        return Ok(Rebase::AskToResolve);
    }
    Ok(Rebase::Replay)
}

/// Exit 1 when the worker is not up, so that nobody could resolve a conflict.
pub fn require_session(worker: &Worker, branch: &str) -> Result<()> {
    let name = &worker.name;
    if worker.program.session == Session::Up && worker.program.fault.is_none() {
        return Ok(());
    }
    Err(failure::CONFLICT
        .failure(format!("{name} conflicts with {branch} and has no session"))
        .hint(format!("start its session, so that it can resolve the conflicts: `worker-ctl up {name}`")))
}

/// Whether work that waits for review is behind a default branch at `base`, and a rebase onto it was not tried yet.
pub fn is_behind(worker: &Worker, base: &str) -> bool {
    worker.task == Task::NeedsReview && worker.program.fault.is_none() && worker.work.base_sha.as_deref() != Some(base)
}

/// The plan for work that waits for review and is behind the default branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// Wait: the worktree has uncommitted changes, or git is in the middle of something there.
    Wait,
    /// Note the conflicts: nobody could resolve them, or somebody else is next.
    NoteConflicts,
    /// Do nothing until the default branch moves on again.
    Settled,
    Rebase(Rebase),
}

/// Plans the rebase of work that [is behind](is_behind) and that nobody asked to rebase. Only the worker who is next is
/// asked to resolve conflicts: whatever lands before it would bring the others new ones.
pub fn refresh(standing: &Standing, branch: &str, is_next: bool) -> Refresh {
    let Some(work) = &standing.work else { return Refresh::Wait };
    if work.has_base && !work.was_moved_back {
        return Refresh::Settled;
    }
    let can_resolve = standing.worker.program.session == Session::Up && !standing.worker.program.is_in_doubt;
    if !standing.worktree.dirty.is_empty() || standing.worktree.unfinished.is_some() {
        return Refresh::Wait;
    }
    let has_conflict = work.merge == MergeResult::Conflict && !work.was_moved_back;
    if standing.worktree.is_shared && !has_conflict {
        return Refresh::Settled;
    }
    if has_conflict && (standing.worktree.is_shared || !(can_resolve && is_next)) {
        return Refresh::NoteConflicts;
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
    fn a_requested_rebase_is_done_or_refused_with_its_kind() {
        let at = |task| rebase(&behind(task), "main");
        for task in [Task::Working, Task::NeedsReview, Task::Rejected] {
            assert_eq!(at(task.clone()).unwrap(), Rebase::Replay);
            assert_eq!(rebase(&standing(task), "main").unwrap(), Rebase::UpToDate);
        }
        assert_eq!(rebase(&standing(Task::Idle), "main").unwrap_err().kind, "wrong_state");
        let mut conflicts = behind(Task::Working);
        conflicts.work.as_mut().unwrap().merge = MergeResult::Conflict;
        assert_eq!(rebase(&conflicts, "main").unwrap(), Rebase::AskToResolve);
        // The conflicts are with dropped commits.
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
    fn an_automatic_rebase_waits_for_whatever_is_in_the_way() {
        for is_next in [true, false] {
            assert_eq!(refresh(&behind(Task::NeedsReview), "main", is_next), Refresh::Rebase(Rebase::Replay));
            assert_eq!(refresh(&standing(Task::NeedsReview), "main", is_next), Refresh::Settled);
        }
        type SpoilStanding = fn(&mut Standing);
        let conflict: SpoilStanding = |s| s.work.as_mut().unwrap().merge = MergeResult::Conflict;
        let changes: [(&[SpoilStanding], Refresh); 7] = [
            (&[|s| s.worktree.dirty.push("a".into())], Refresh::Wait),
            (&[|s| s.worktree.unfinished = Some("merge")], Refresh::Wait),
            (&[|s| s.worktree.head = Some("later".into())], Refresh::Wait),
            (&[|s| s.work.as_mut().unwrap().merge = MergeResult::Nothing], Refresh::Settled),
            (&[conflict], Refresh::Rebase(Rebase::AskToResolve)),
            (&[conflict, |s| s.worker.program.session = Session::Down], Refresh::NoteConflicts),
            (&[conflict, |s| s.worker.program.is_in_doubt = true], Refresh::NoteConflicts),
        ];
        for (changes, expected) in changes {
            let mut standing = behind(Task::NeedsReview);
            changes.iter().for_each(|change| change(&mut standing));
            assert_eq!(refresh(&standing, "main", true), expected);
            if expected == Refresh::Rebase(Rebase::AskToResolve) {
                assert_eq!(refresh(&standing, "main", false), Refresh::NoteConflicts);
            }
        }
    }
}
