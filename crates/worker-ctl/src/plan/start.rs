//! Decides whether a worker can get a task, or any other input.

use std::path::Path;

use shopfloor_core::error::Result;
use shopfloor_core::text::shell_word;

use crate::facts::worker_state::Standing;
use crate::failure;
use crate::plan::machine::{Input, apply};
use crate::plan::{require_clean, require_finished};
use crate::task_queue::QueuedTask;
use crate::worker::{Task, Worker};

/// Plans to give a task to a worker whose worktree is on the default branch's commit, or can be put there without loss.
pub fn start(
    standing: &Standing,
    prompt: &str,
    queued: Option<&QueuedTask>,
    (is_forced, now): (bool, i64),
) -> Result<Input> {
    let worker = &standing.worker;
    let facts = &standing.worktree;
    let (stays, waits) = (standing.stays(), worker.task == Task::NeedsReview);
    let base = facts.head.clone().filter(|_| stays).unwrap_or_else(|| standing.base.clone());
    let input =
        Input::Start { prompt: prompt.to_owned(), base, is_shared: stays, force: is_forced, queued: queued.cloned() };
    permit(worker, &input, now)?;
    // In a person's own worktree changes may be meant.
    if !(is_forced && worker.adopted.is_some()) {
        require_clean(worker, &facts.dirty, &facts.always_dirty).map_err(|failure| match worker.adopted {
            Some(_) => failure.hint(format!(
                "if set-up left them, or the task is about them: `worker-ctl start {} --task TASK --force`",
                worker.name
            )),
            None => failure,
        })?;
    }
    if !stays || waits && !worker.has_request() {
        require_finished(worker, facts.unfinished)?;
    }
    // The commits of a request stay where they are, and others have them.
    let has_unmerged = facts.has_unmerged && !worker.has_request();
    if has_unmerged && !facts.is_rebasing && worker.adopted.is_some() {
        let name = &worker.name;
        return Err(failure::UNMERGED.failure(format!("{name} has commits that have not landed")).hint(format!(
            "land them first: `worker-ctl nuke {name}` forgets it, and `worker-ctl add {name} --worktree {}` has them wait \
             for a review",
            shell_word(Path::new(&worker.worktree_path))
        )));
    }
    if standing.worktree.is_rebasing || has_unmerged {
        return Err(failure::UNMERGED
            .failure(format!("{} has commits that are not merged", worker.name))
            .hint(format!("look at them in {} first: no other branch has them", worker.worktree_path)));
    }
    // On another branch it is refused later.
    if waits && facts.branch.as_ref() == Some(&worker.branch) && facts.head != worker.work.commit_sha {
        return Err(failure::WRONG_STATE
            .failure(format!("{} is no longer at the commit that waits for a review", worker.worktree_path))
            .hint(format!(
                "have what came since wait for it too: `worker-ctl patrol`; or go back: `worker-ctl reset {}`",
                worker.name
            )));
    }
    Ok(input)
}

/// Exit 1 or 4 when the state machine refuses an input. Nothing is changed.
pub fn permit(worker: &Worker, input: &Input, now: i64) -> Result<()> {
    apply(worker, input, now).map(drop)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::facts::worker_state::{WorkFacts, WorktreeFacts};
    use crate::work_repo::MergeResult;
    use crate::worker::Session;

    /// A worker that is up, with clean work at `sha` that merges cleanly.
    pub fn standing(task: Task) -> Standing {
        let mut worker = Worker::new("adam", "claude", "/w/adam", "worker/adam", 0);
        let has_work = !matches!(task, Task::Idle | Task::Rebasing { .. });
        worker.program.session = Session::Up;
        worker.work.commit_sha = has_work.then(|| "sha".into());
        worker.work.reviewed_sha = has_work.then(|| "sha".into());
        worker.work.reviewed_patch = has_work.then(|| "patch".into());
        worker.task = task;
        let worktree = WorktreeFacts {
            branch: Some(worker.branch.clone()),
            head: Some("sha".into()),
            is_rebasing: false,
            unfinished: None,
            dirty: vec![],
            always_dirty: vec![],
            is_shared: false,
            has_unmerged: false,
        };
        let work = WorkFacts {
            sha: "sha".into(),
            patch: "patch".into(),
            markers: vec![],
            has_merges: false,
            has_base: true,
            has_several_bases: false,
            was_moved_back: false,
            merge: MergeResult::Tree("tree".into()),
        };
        Standing { worker, base: "base".into(), worktree, work: has_work.then_some(work) }
    }

    #[test]
    fn a_task_goes_only_to_an_idle_worker_with_nothing_to_lose() {
        let Input::Start { prompt, base, force: false, is_shared: false, queued: None } =
            start(&standing(Task::Idle), "do", None, (false, 0)).unwrap()
        else {
            panic!("another input");
        };
        assert_eq!((prompt.as_str(), base.as_str()), ("do", "base"));
        type SpoilStanding = fn(&mut Standing);
        let spoils: [(&str, SpoilStanding); 6] = [
            ("wrong_state", |s| s.worker.task = Task::Working),
            ("wrong_state", |s| s.worker.program.session = Session::Down),
            ("dirty", |s| s.worktree.dirty.push("a".into())),
            ("wrong_state", |s| s.worktree.unfinished = Some("merge")),
            ("unmerged", |s| s.worktree.has_unmerged = true),
            ("unmerged", |s| s.worktree.is_rebasing = true),
        ];
        for (kind, spoil) in spoils {
            let mut spoilt = standing(Task::Idle);
            spoil(&mut spoilt);
            // Force overrules a text in the input line, but not a loss.
            for is_forced in [false, true] {
                assert_eq!(start(&spoilt, "do", None, (is_forced, 0)).unwrap_err().kind, kind);
            }
        }
        let mut in_doubt = standing(Task::Idle);
        in_doubt.worker.program.is_in_doubt = true;
        assert_eq!(start(&in_doubt, "do", None, (false, 0)).unwrap_err().kind, "in_doubt");
        assert!(start(&in_doubt, "do", None, (true, 0)).is_ok());
    }
}
