//! Inputs about the task itself, from its start to its end.

use shopfloor_core::error::{Failure, Result};

use crate::check_record::CheckRecord;
use crate::failure;
use crate::plan::machine::{MachineStep, SideEffect};
use crate::plan::wrong_state;
use crate::task_queue::QueuedTask;
use crate::worker::{PendingSend, Task, Work, Worker};
use crate::worker_notes::{Fault, Note};

pub(super) fn start(
    step: &mut MachineStep<'_>,
    prompt: &str,
    (base, is_shared): (&str, bool),
    queued: Option<&QueuedTask>,
) -> Result<()> {
    let Worker { task, program, work, .. } = step.before;
    match task {
        // The first task goes on from what the branch has, which waits for a review with it.
        Task::NeedsReview if step.before.is_before_first_task() => {
            step.next.notes.retain(Note::is_of_branch);
            step.effects.push(SideEffect::Unpin);
        }
        // Whatever its branch had before has landed.
        Task::Idle => step.next.adopted.iter_mut().for_each(|adopted| adopted.earlier = None),
        Task::Working | Task::NeedsReview | Task::Rejected | Task::Rebasing { .. } => {
            let own = match task {
                Task::NeedsReview => format!("see what it has done: `worker-ctl review {}`", step.before.name),
                _ => format!("tell it more: {}", step.before.message_hint("TEXT")),
            };
            let other = "or choose an idle worker; `worker-ctl status` shows the state of each";
            return Err(wrong_state(step.before).hint(own).hint(other));
        }
    }
    if program.fault == Some(Fault::NotReady) {
        return Err(step.refuse_unready());
    }
    if !step.is_alive() {
        return Err(step.refuse_down());
    }
    let at = || Some(base.to_owned());
    step.next.task = Task::Working;
    let onto_sha = if is_shared { work.onto_sha.clone() } else { at() };
    let queued = queued.map(|task| QueuedTask { tries: task.tries.saturating_add(1), ..task.clone() });
    step.next.work = Work { prompt: Some(prompt.to_owned()), baseline_sha: at(), onto_sha, queued, ..Work::default() };
    step.next.adopted.iter_mut().for_each(|adopted| base.clone_into(&mut adopted.began));
    // One that is over, or that a person overrules.
    step.next.program.limit = None;
    // The worktree was put on its branch before.
    step.next.notes.retain(|note| !note.is_of_own_branch());
    step.next.pending_send = Some(PendingSend { is_first: true, ..PendingSend::new("start", step.now) });
    step.effects.push(SideEffect::Deliver);
    Ok(())
}

/// The work is at this commit. `again` is the note for work that waited for a review already.
pub(super) fn commit(step: &mut MachineStep<'_>, sha: &str, onto: Option<&String>, again: Note) {
    let work = &step.before.work;
    let is_again = match step.before.task {
        Task::Working | Task::Rejected if work.baseline_sha.as_deref() != Some(sha) => false,
        Task::NeedsReview if work.commit_sha.as_deref() != Some(sha) => true,
        Task::Idle if step.before.adopted.is_some() => false,
        // A commit that is known already, or that belongs to no task, or to a rebase under way.
        Task::Working | Task::Rejected | Task::NeedsReview | Task::Idle | Task::Rebasing { .. } => return,
    };
    let next = &mut step.next;
    next.task = Task::NeedsReview;
    next.work.commit_sha = Some(sha.to_owned());
    next.work.onto_sha = onto.cloned().or(next.work.onto_sha.take());
    // The reviewed patch stays in the record, so that no other work is accepted in its place.
    next.work.reviewed_sha = None;
    next.work.checks_void = 0;
    next.notes.retain(|note| !matches!(note, Note::MarkersLeft(_)));
    if is_again {
        step.note(again);
    }
    step.effects.push(SideEffect::Unpin);
}

/// Work that is bad is not what a person has reviewed.
pub(super) fn checked(step: &mut MachineStep<'_>, check: &CheckRecord) {
    // It may have committed again since.
    if step.before.task != Task::NeedsReview || step.before.work.commit_sha.as_ref() != Some(&check.sha) {
        return;
    }
    let work = &mut step.next.work;
    work.check = Some(check.clone());
    work.checks_void = 0;
    if !check.ok {
        work.checks_red = work.checks_red.saturating_add(1);
        work.reviewed_sha = None;
        step.effects.push(SideEffect::Unpin);
    }
}

/// Another's work on the branch is not the worker's own. It waits for a review with the worker's.
pub(super) fn child_landed(step: &mut MachineStep<'_>, sha: &str, patch: &str) {
    let work = &mut step.next.work;
    match step.before.task {
        Task::Working | Task::Rejected => {
            work.baseline_sha = Some(sha.to_owned());
            work.baseline_patch = Some(patch.to_owned());
        }
        Task::NeedsReview | Task::Idle => {
            work.commit_sha = Some(sha.to_owned());
            // What was reviewed has more now.
            work.reviewed_sha = None;
            step.next.task = Task::NeedsReview;
            step.effects.push(SideEffect::Unpin);
            step.note(Note::ChildLanded);
        }
        // Nothing lands on a branch that is being rebased.
        Task::Rebasing { .. } => {}
    }
}

pub(super) fn reviewed(step: &mut MachineStep<'_>, (sha, from): (&str, Option<&String>), patch: &str) -> Result<()> {
    match step.before.task {
        Task::NeedsReview => {
            step.next.work.reviewed_sha = Some(sha.to_owned());
            step.next.work.reviewed_patch = Some(patch.to_owned());
            step.next.work.shown_sha = Some(sha.to_owned());
            step.next.work.shown_from = from.cloned();
            step.effects.push(SideEffect::Pin(sha.to_owned()));
            Ok(())
        }
        Task::Idle | Task::Working | Task::Rejected | Task::Rebasing { .. } => Err(nothing_to_review(step)),
    }
}

pub(super) fn reject(
    step: &mut MachineStep<'_>,
    (base, patch): (&str, &str),
    text: &str,
    is_conflict: bool,
) -> Result<()> {
    let Worker { name, task, work, .. } = step.before;
    match task {
        // What a request shows is reviewed on the forge.
        Task::NeedsReview
            if work.reviewed_sha.is_none() && !is_conflict && !step.before.is_pushed(work.commit_sha.as_deref()) =>
        {
            return Err(failure::WRONG_STATE
                .failure(format!("{name} was not reviewed"))
                .hint(format!("review the work first: `worker-ctl review {name}`")));
        }
        Task::NeedsReview if !step.is_alive() => return Err(step.refuse_dead()),
        Task::NeedsReview => {}
        Task::Idle | Task::Working | Task::Rejected | Task::Rebasing { .. } => return Err(nothing_to_review(step)),
    }
    let next = &mut step.next;
    next.task = Task::Rejected;
    next.work.baseline_sha = Some(base.to_owned());
    next.work.baseline_patch = Some(patch.to_owned());
    next.work.changes = Some(text.to_owned());
    next.work.reviewed_sha = None;
    next.work.reviewed_patch = None;
    next.pending_send = Some(PendingSend::new("reject", step.now));
    step.effects.extend([SideEffect::Deliver, SideEffect::Unpin]);
    Ok(())
}

fn nothing_to_review(step: &MachineStep<'_>) -> Failure {
    let Worker { name, task, .. } = step.before;
    let why = format!("{name} is {}, so there is nothing to review", task.word());
    failure::WRONG_STATE.failure(why).hint(step.before.review_hint())
}

pub(super) fn accepted(step: &mut MachineStep<'_>) {
    match step.before.task {
        Task::NeedsReview => {
            // The commits from before have landed with it.
            step.next.adopted.iter_mut().for_each(|adopted| adopted.earlier = None);
            end(step);
            step.next.pushed.iter_mut().for_each(|pushed| pushed.is_over = true);
            step.next.program.crash_count = 0;
        }
        // An accept that was finished twice: the worker has done something else since.
        Task::Idle | Task::Working | Task::Rejected | Task::Rebasing { .. } => {}
    }
}

pub(super) fn reset(step: &mut MachineStep<'_>) {
    // Until somebody has been told where work is kept, nothing else says so.
    let kept: Vec<Note> = step.next.notes.iter().filter(|note| matches!(note, Note::Kept(_))).cloned().collect();
    end(step);
    // What has landed and was taken back is given up, too.
    step.next.adopted.iter_mut().for_each(|adopted| adopted.landed_as = None);
    step.next.program.fault = None;
    // Whether it holds still, whatever its end, the next task shows.
    step.next.program.limit = None;
    step.next.notes.retain(|note| !note.is_of_own_branch());
    step.next.notes.extend(kept);
}

/// Forgets everything about the task. What the branch had before waits for a review again.
pub(super) fn end(step: &mut MachineStep<'_>) {
    let adopted = step.next.adopted.as_ref();
    let earlier = adopted.and_then(|adopted| Some((adopted.began.clone(), adopted.earlier.clone()?)));
    // With an end it is known when it holds no more, else the next task shows.
    step.next.program.limit.take_if(|limit| limit.until_unix.is_none());
    step.next.task = if earlier.is_some() { Task::NeedsReview } else { Task::Idle };
    let (commit_sha, onto_sha) = earlier.unzip();
    step.next.work = Work { commit_sha, onto_sha, ..Work::default() };
    step.next.pending_send = None;
    // Nobody asks any more whether the task has arrived. A later text may be in the input line still.
    let is_later = |note: &Note| matches!(note, Note::Unsubmitted(purpose) if purpose != "start");
    step.next.program.is_in_doubt &= step.next.notes.iter().any(is_later);
    step.next.notes.retain(|note| note.is_of_branch() || is_later(note));
    step.effects.push(SideEffect::Unpin);
}
