//! Inputs about texts that are typed into a worker's terminal.

use shopfloor_core::error::Result;

use crate::note::{Fault, Note};
use crate::plan::machine::{Input, MachineStep, SideEffect};
use crate::worker::{Activity, PendingSend, Session, Task, Worker};

pub(super) fn apply(step: &mut MachineStep<'_>, input: &Input) -> Result<Vec<SideEffect>> {
    let worker = step.before;
    let name = &worker.name;
    let is_up = worker.session == Session::Up;
    match (&worker.task, input) {
        (_, Input::Typing { .. }) => {
            if let Some(pending) = &mut step.next.pending_send {
                pending.is_typed = true;
            }
            step.set_activity(Activity::Unknown, None);
            Ok(vec![])
        }
        (_, Input::Restarting) => {
            step.set_activity(Activity::Unknown, None);
            Ok(vec![])
        }
        (_, Input::Sent { conversation }) => {
            sent(step);
            if conversation.is_some() {
                step.next.conversation.clone_from(conversation);
            }
            Ok(vec![])
        }
        (_, Input::NotSent { back }) => Ok(take_back(step, back)),
        (_, Input::Doubt) => {
            doubt(step);
            Ok(vec![])
        }
        // With `--force` a person may answer what the program asks.
        (_, Input::Resume { force: false } | Input::Message { force: false })
            if is_up && worker.fault == Some(Fault::NotReady) =>
        {
            Err(step.refuse_unready())
        }
        (Task::Idle, Input::Resume { .. }) => {
            Err(step.refuse(format!("{name} has no task"), "give it one with `worker-ctl start`".into()))
        }
        (_, Input::Resume { .. }) if !is_up => Err(step.refuse_down()),
        (_, Input::Resume { .. }) => {
            step.next.conversation = None;
            Ok(send(step, "start"))
        }
        (Task::Idle, Input::Message { force: false }) => {
            Err(step
                .refuse(format!("{name} is idle"), "give it a task with `worker-ctl start`, or use `--force`".into()))
        }
        (_, Input::Message { .. }) if !is_up => Err(step.refuse_dead()),
        (_, Input::Message { .. }) => Ok(send(step, "message")),
        _ => Ok(vec![]),
    }
}

fn send(step: &mut MachineStep<'_>, purpose: &str) -> Vec<SideEffect> {
    step.next.pending_send = Some(PendingSend::new(purpose, step.now));
    vec![SideEffect::Deliver]
}

fn sent(step: &mut MachineStep<'_>) {
    let is_about_task = step.before.pending_send.as_ref().is_some_and(|pending| pending.purpose != "message");
    let next = &mut step.next;
    next.notes.retain(|note| !(is_about_task && matches!(note, Note::TaskUnknown(_))));
    next.pending_send = None;
    next.is_in_doubt = false;
    next.notes.retain(|note| !matches!(note, Note::Unsubmitted(_)));
}

/// Restores the earlier record, except for the state of the program.
fn take_back(step: &mut MachineStep<'_>, back: &Worker) -> Vec<SideEffect> {
    let worker = step.before;
    step.next = Worker {
        session: worker.session,
        fault: worker.fault.clone(),
        pane_id: worker.pane_id.clone(),
        pane_pid: worker.pane_pid,
        dead_pane: worker.dead_pane.clone(),
        crash_count: worker.crash_count,
        last_crash_unix: worker.last_crash_unix,
        ..back.clone()
    };
    // The program's hook may have spoken meanwhile.
    if worker.activity != Activity::Unknown {
        let (activity, question_id) = (worker.activity, worker.question_id.clone());
        let (activity_at, activity_text) = (worker.activity_at.clone(), worker.activity_text.clone());
        step.next = Worker { activity, activity_at, activity_text, question_id, ..step.next.clone() };
    }
    step.next.reviewed_sha.clone().map(SideEffect::Pin).into_iter().collect()
}

fn doubt(step: &mut MachineStep<'_>) {
    if let Some(pending) = step.next.pending_send.take() {
        step.next.is_in_doubt |= pending.is_typed;
        let purpose = pending.purpose;
        step.note(if pending.is_typed { Note::Unsubmitted(purpose) } else { Note::NotTyped(purpose) });
    }
}
