//! Inputs about the task itself, from its start to its end.

use shopfloor_core::error::Result;

use crate::note::{Fault, Note};
use crate::plan::machine::{Input, MachineStep, SideEffect};
use crate::worker::{PendingSend, Session, Task, Worker};

pub(super) fn apply(step: &mut MachineStep<'_>, input: &Input) -> Result<Vec<SideEffect>> {
    let worker = step.before;
    let name = &worker.name;
    let is_alive = worker.session == Session::Up && worker.fault.is_none();
    match (&worker.task, input) {
        (Task::Idle, Input::Start { .. }) if worker.fault == Some(Fault::NotReady) => Err(step.refuse_unready()),
        (Task::Idle, Input::Start { .. }) if !is_alive => Err(step.refuse_down()),
        (Task::Idle, Input::Start { prompt, base, .. }) => Ok(start(step, prompt, base)),
        (task, Input::Start { .. }) => Err(step.refuse(
            format!("{name} is {}", task.word()),
            "choose an idle worker; `worker-ctl status` shows the state of each".into(),
        )),
        (_, Input::Commit { sha, onto }) => Ok(commit(step, sha, onto.as_ref())),
        (Task::NeedsReview, Input::Reviewed { sha, patch }) => {
            step.next.reviewed_sha = Some(sha.clone());
            step.next.reviewed_patch = Some(patch.clone());
            Ok(vec![SideEffect::Pin(sha.clone())])
        }
        (Task::NeedsReview, Input::Reject { .. }) if worker.reviewed_sha.is_none() => Err(step
            .refuse(format!("{name} was not reviewed"), format!("review the work first: `worker-ctl review {name}`"))),
        (Task::NeedsReview, Input::Reject { .. }) if !is_alive => Err(step.refuse_dead()),
        (Task::NeedsReview, Input::Reject { base, patch, .. }) => Ok(reject(step, base, patch)),
        (task, Input::Reviewed { .. } | Input::Reject { .. }) => Err(step.refuse(
            format!("{name} is {}, so there is nothing to review", task.word()),
            "`worker-ctl status` shows who needs review".into(),
        )),
        (Task::NeedsReview, Input::Accepted) => {
            clear(&mut step.next);
            step.next.crash_count = 0;
            Ok(vec![SideEffect::Unpin])
        }
        (_, Input::Reset) => {
            clear(&mut step.next);
            step.next.fault = None;
            Ok(vec![SideEffect::Unpin])
        }
        _ => Ok(vec![]),
    }
}

fn start(step: &mut MachineStep<'_>, prompt: &str, base: &str) -> Vec<SideEffect> {
    let next = &mut step.next;
    next.task = Task::Working;
    next.conversation = None;
    next.prompt = Some(prompt.to_owned());
    next.baseline_sha = Some(base.to_owned());
    next.baseline_patch = None;
    next.onto_sha = Some(base.to_owned());
    next.pending_send = Some(PendingSend::new("start", step.now));
    vec![SideEffect::Deliver]
}

fn commit(step: &mut MachineStep<'_>, sha: &str, onto: Option<&String>) -> Vec<SideEffect> {
    let is_at = |recorded: &Option<String>| recorded.as_deref() == Some(sha);
    let is_again = match step.before.task {
        Task::Working | Task::Rejected if !is_at(&step.before.baseline_sha) => false,
        Task::NeedsReview if !is_at(&step.before.commit_sha) => true,
        _ => return vec![],
    };
    let next = &mut step.next;
    next.task = Task::NeedsReview;
    next.commit_sha = Some(sha.to_owned());
    next.onto_sha = onto.cloned().or(next.onto_sha.take());
    // The reviewed patch stays in the record, so that no other work is accepted in its place.
    next.reviewed_sha = None;
    next.notes.retain(|note| !matches!(note, Note::MarkersLeft(_)));
    if is_again {
        step.note(Note::CommittedAgain);
    }
    vec![SideEffect::Unpin]
}

fn reject(step: &mut MachineStep<'_>, base: &str, patch: &str) -> Vec<SideEffect> {
    let next = &mut step.next;
    next.task = Task::Rejected;
    next.baseline_sha = Some(base.to_owned());
    next.baseline_patch = Some(patch.to_owned());
    next.reviewed_sha = None;
    next.reviewed_patch = None;
    next.pending_send = Some(PendingSend::new("reject", step.now));
    vec![SideEffect::Deliver, SideEffect::Unpin]
}

/// Forgets everything about the task.
fn clear(worker: &mut Worker) {
    worker.task = Task::Idle;
    worker.prompt = None;
    worker.commit_sha = None;
    worker.baseline_sha = None;
    worker.baseline_patch = None;
    worker.base_sha = None;
    worker.onto_sha = None;
    worker.pending_send = None;
    worker.notes.retain(Note::is_of_branch);
    worker.conflicted.clear();
    worker.conversation = None;
    worker.reviewed_sha = None;
    worker.reviewed_patch = None;
}
