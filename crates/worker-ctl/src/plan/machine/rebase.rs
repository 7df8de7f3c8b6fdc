//! Inputs about rebases: the same work on another commit, or conflicts that the worker resolves.

use crate::plan::machine::{MachineStep, SideEffect};
use crate::worker::{PendingSend, Task, TaskBeforeRebase};
use crate::worker_notes::Note;

/// The same work is on another commit.
pub(super) fn moved(step: &mut MachineStep<'_>, sha: &str, patch: &str, onto: Option<&String>) {
    let (before, work) = (&step.before.work, &mut step.next.work);
    match step.before.task {
        Task::Working => {}
        Task::NeedsReview => {
            // The work is the same, so the review still counts. What is around it may be another.
            if before.reviewed_sha.is_some() && before.reviewed_sha == before.commit_sha {
                work.reviewed_sha = Some(sha.to_owned());
                work.reviewed_patch = Some(patch.to_owned());
            }
            work.commit_sha = Some(sha.to_owned());
            step.effects.extend(work.reviewed_sha.clone().map(SideEffect::Pin));
        }
        Task::Rejected => {
            // Rejected work is not new when only its base changed.
            work.baseline_sha = Some(sha.to_owned());
            work.baseline_patch = Some(patch.to_owned());
        }
        // There is no work, or it is not known before the rebase is over.
        Task::Idle | Task::Rebasing { .. } => return,
    }
    work.onto_sha = onto.cloned().or(work.onto_sha.take());
}

pub(super) fn conflict(step: &mut MachineStep<'_>, pre_sha: &str, base: &str, files: &[String]) {
    let from = match step.before.task {
        Task::Working => TaskBeforeRebase::Working,
        Task::NeedsReview => TaskBeforeRebase::NeedsReview,
        Task::Rejected => TaskBeforeRebase::Rejected,
        // There is no work, or the worker resolves a conflict already.
        Task::Idle | Task::Rebasing { .. } => return,
    };
    let next = &mut step.next;
    next.task = Task::Rebasing { from, pre_sha: pre_sha.to_owned() };
    next.work.base_sha = Some(base.to_owned());
    next.work.conflicted = files.to_vec();
    next.notes.retain(|note| *note != Note::GaveUp);
    next.pending_send = Some(PendingSend::new("conflict", step.now));
    step.effects.extend([SideEffect::Deliver, SideEffect::Keep(pre_sha.to_owned())]);
}

/// It was looked at on `base`, so that this is not done again until the default branch moves on.
pub(super) fn conflict_seen(step: &mut MachineStep<'_>, branch: &str, base: &str, files: &[String]) {
    match step.before.task {
        Task::NeedsReview => {}
        Task::Idle | Task::Working | Task::Rejected | Task::Rebasing { .. } => return,
    }
    let before = step.before.notes.iter().find_map(|note| match note {
        Note::Conflicts { since, .. } => Some(since.clone()),
        _ => None,
    });
    let since = before.unwrap_or_else(|| base.to_owned());
    step.next.notes.retain(|note| !matches!(note, Note::Conflicts { .. } | Note::GaveUp));
    step.note(Note::Conflicts { branch: branch.to_owned(), since, files: files.to_vec() });
    step.next.work.base_sha = Some(base.to_owned());
}

/// The rebase is over. At the commit from before the rebase, the worker gave up.
pub(super) fn done(step: &mut MachineStep<'_>, sha: &str, markers: &[String]) {
    let (from, pre_sha) = match &step.before.task {
        Task::Rebasing { from, pre_sha } => (*from, pre_sha),
        // A rebase of the worker's own.
        Task::Idle | Task::Working | Task::NeedsReview | Task::Rejected => return,
    };
    if sha == pre_sha {
        return back(step, from, sha, Note::GaveUp);
    }
    let next = &mut step.next;
    next.work.onto_sha = next.work.base_sha.clone();
    if from == TaskBeforeRebase::Working {
        next.task = Task::Working;
        return;
    }
    next.task = Task::NeedsReview;
    next.notes.retain(|note| *note != Note::GaveUp);
    next.work.commit_sha = Some(sha.to_owned());
    next.work.reviewed_sha = None;
    markers.iter().for_each(|file| step.note(Note::MarkersLeft(file.clone())));
    step.effects.push(SideEffect::Unpin);
}

pub(super) fn work_gone(step: &mut MachineStep<'_>) {
    match &step.before.task {
        Task::Rebasing { from, pre_sha } => back(step, *from, pre_sha, Note::WorkGone),
        // A rebase of the worker's own.
        Task::Idle | Task::Working | Task::NeedsReview | Task::Rejected => {}
    }
}

/// Goes back to the task's state and commit from before the rebase.
fn back(step: &mut MachineStep<'_>, from: TaskBeforeRebase, sha: &str, note: Note) {
    step.next.task = from.task();
    if step.next.task == Task::NeedsReview {
        step.next.work.commit_sha = Some(sha.to_owned());
    }
    step.note(note);
}
