//! Inputs about rebases: the same work on another commit, or conflicts that the worker resolves.

use crate::note::Note;
use crate::plan::machine::{Input, MachineStep, SideEffect};
use crate::worker::{PendingSend, Task, TaskBeforeRebase};

pub(super) fn apply(step: &mut MachineStep<'_>, input: &Input) -> Vec<SideEffect> {
    match (&step.before.task, input) {
        (task @ (Task::Working | Task::NeedsReview | Task::Rejected), Input::Rebased { sha, patch, onto }) => {
            moved(step, task, sha, patch, onto.as_ref())
        }
        (task @ (Task::Working | Task::NeedsReview | Task::Rejected), Input::Conflict { pre_sha, base, files, .. }) => {
            conflict(step, task, pre_sha, base, files)
        }
        (Task::Rebasing { from, pre_sha }, Input::RebaseDone { sha, markers }) => {
            resolved(step, *from, pre_sha, sha, markers);
            if step.next.task == Task::NeedsReview && sha != pre_sha { vec![SideEffect::Unpin] } else { vec![] }
        }
        (Task::Rebasing { from, pre_sha }, Input::WorkGone) => {
            back(step, *from, pre_sha, Note::WorkGone);
            vec![]
        }
        _ => vec![],
    }
}

/// The same work is on another commit.
fn moved(step: &mut MachineStep<'_>, task: &Task, sha: &str, patch: &str, onto: Option<&String>) -> Vec<SideEffect> {
    let (before, next) = (step.before, &mut step.next);
    next.onto_sha = onto.cloned().or(next.onto_sha.take());
    match task {
        Task::NeedsReview => {
            // The patch is the same, so the review still counts.
            if before.reviewed_sha.is_some() && before.reviewed_sha == before.commit_sha {
                next.reviewed_sha = Some(sha.to_owned());
            }
            next.commit_sha = Some(sha.to_owned());
            next.reviewed_sha.clone().map(SideEffect::Pin).into_iter().collect()
        }
        Task::Rejected => {
            // Rejected work is not new when only its base changed.
            next.baseline_sha = Some(sha.to_owned());
            next.baseline_patch = Some(patch.to_owned());
            vec![]
        }
        _ => vec![],
    }
}

fn conflict(step: &mut MachineStep<'_>, task: &Task, pre_sha: &str, base: &str, files: &[String]) -> Vec<SideEffect> {
    let from = match task {
        Task::NeedsReview => TaskBeforeRebase::NeedsReview,
        Task::Rejected => TaskBeforeRebase::Rejected,
        _ => TaskBeforeRebase::Working,
    };
    let next = &mut step.next;
    next.task = Task::Rebasing { from, pre_sha: pre_sha.to_owned() };
    next.base_sha = Some(base.to_owned());
    next.conflicted = files.to_vec();
    next.notes.retain(|note| *note != Note::GaveUp);
    next.pending_send = Some(PendingSend::new("conflict", step.now));
    vec![SideEffect::Deliver, SideEffect::Keep(pre_sha.to_owned())]
}

/// The rebase is over. At the commit from before the rebase, the worker gave up.
fn resolved(step: &mut MachineStep<'_>, from: TaskBeforeRebase, pre_sha: &str, sha: &str, markers: &[String]) {
    if sha == pre_sha {
        return back(step, from, sha, Note::GaveUp);
    }
    let next = &mut step.next;
    next.onto_sha = next.base_sha.clone();
    if from == TaskBeforeRebase::Working {
        next.task = Task::Working;
        return;
    }
    next.task = Task::NeedsReview;
    next.notes.retain(|note| *note != Note::GaveUp);
    next.commit_sha = Some(sha.to_owned());
    next.reviewed_sha = None;
    markers.iter().for_each(|file| step.note(Note::MarkersLeft(file.clone())));
}

/// Goes back to the task's state and commit from before the rebase.
fn back(step: &mut MachineStep<'_>, from: TaskBeforeRebase, sha: &str, note: Note) {
    step.next.task = from.task();
    if step.next.task == Task::NeedsReview {
        step.next.commit_sha = Some(sha.to_owned());
    }
    step.note(note);
}
