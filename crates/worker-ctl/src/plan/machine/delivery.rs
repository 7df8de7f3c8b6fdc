//! Inputs about texts that reach a worker's program.

use shopfloor_core::error::Result;

use crate::failure;
use crate::plan::machine::{MachineStep, SideEffect, task};
use crate::plan::wrong_state;
use crate::worker::{Activity, PendingSend, Program, Session, Task, Worker};
use crate::worker_notes::{Fault, Note};

/// From now on the pending text may have arrived.
pub(super) fn typing(step: &mut MachineStep<'_>) {
    if let Some(pending) = &mut step.next.pending_send {
        pending.is_typed = true;
    }
    // The next report is about this text.
    step.next.program.heard.as_mut().into_iter().for_each(String::clear);
    step.set_activity(Activity::Unknown, None);
}

pub(super) fn sent(step: &mut MachineStep<'_>) {
    let is_about_task = step.before.pending_send.as_ref().is_some_and(|pending| pending.purpose != "message");
    let next = &mut step.next;
    next.notes.retain(|note| !(is_about_task && note.is_of_restart()));
    next.pending_send = None;
    next.program.is_in_doubt = false;
    next.notes.retain(|note| !note.is_doubt());
}

/// Restores the earlier record, except for the state of the program.
pub(super) fn take_back(step: &mut MachineStep<'_>, back: &Worker) {
    let Worker { program, reported, .. } = step.before.clone();
    let program = Program { is_in_doubt: back.program.is_in_doubt, ..program };
    // The program's hook may have spoken meanwhile.
    let reported = if reported.activity == Activity::Unknown { back.reported.clone() } else { reported };
    step.next = Worker { program, reported, ..back.clone() };
    step.effects.extend(back.work.reviewed_sha.clone().map(SideEffect::Pin));
}

pub(super) fn doubt(step: &mut MachineStep<'_>) {
    if let Some(pending) = step.next.pending_send.take() {
        // No program has seen it, and the queue has it again.
        if pending.is_first && !pending.is_typed && !pending.is_passed && step.before.work.queued.is_some() {
            return task::end(step);
        }
        step.next.program.is_in_doubt |= pending.is_typed;
        let purpose = pending.purpose;
        step.note(match (pending.is_typed, pending.is_passed) {
            (true, _) => Note::Unsubmitted(purpose),
            (false, true) => Note::Passed(purpose),
            (false, false) => Note::NotTyped(purpose),
        });
    }
}

pub(super) fn resume(step: &mut MachineStep<'_>, is_continued: bool, force: bool) -> Result<()> {
    refuse_unready(step, force)?;
    let Worker { name, task, program, .. } = step.before;
    if *task == Task::Idle {
        let why = format!("{name} has no task");
        return Err(failure::WRONG_STATE
            .failure(why)
            .hint(format!("give it one: `worker-ctl start {name} --task TASK`")));
    }
    if program.session != Session::Up {
        return Err(step.refuse_down());
    }
    if is_continued {
        send(step, "continue");
    } else {
        step.next.work.conversation = None;
        send(step, "start");
    }
    Ok(())
}

pub(super) fn message(step: &mut MachineStep<'_>, force: bool) -> Result<()> {
    refuse_unready(step, force)?;
    let Worker { name, task, program, .. } = step.before;
    if *task == Task::Idle && !force {
        let hint = format!("give it a task: `worker-ctl start {name} --task TASK`, or use `--force`");
        return Err(wrong_state(step.before).hint(hint));
    }
    if program.session != Session::Up {
        return Err(step.refuse_dead());
    }
    send(step, "message");
    Ok(())
}

/// With `--force` a person may answer what the program asks.
fn refuse_unready(step: &MachineStep<'_>, force: bool) -> Result<()> {
    let Program { session, fault, .. } = &step.before.program;
    let is_unready = *session == Session::Up && *fault == Some(Fault::NotReady);
    if is_unready && !force { Err(step.refuse_unready()) } else { Ok(()) }
}

fn send(step: &mut MachineStep<'_>, purpose: &str) {
    step.next.pending_send = Some(PendingSend::new(purpose, step.now));
    step.effects.push(SideEffect::Deliver);
}
