//! Inputs about a worker's program and the branch that it works on. They never change the task.

use crate::plan::machine::MachineStep;
use crate::worker::{Activity, Session};
use crate::worker_notes::{Fault, Note};

pub(super) fn session_begun(
    step: &mut MachineStep<'_>,
    (pane, pid): (&str, i32),
    job: Option<&String>,
    is_continued: bool,
) {
    let program = &mut step.next.program;
    program.job = job.cloned();
    program.job_waits_for = None;
    program.session = Session::Down;
    program.is_stopped = false;
    program.is_to_restart = false;
    program.is_in_doubt = false;
    program.pane_id = Some(pane.to_owned());
    program.pane_pid = Some(pid);
    program.begun_unix = Some(step.now);
    // Also a limit of this second is of the program before.
    program.limit.iter_mut().for_each(|limit| limit.since_unix = limit.since_unix.min(step.now - 1));
    program.session_file = None;
    program.dead_pane = None;
    let is_ignorant = step.before.has_open_task() && !is_continued;
    let name = step.before.name.clone();
    // What was in the input line is gone with the program.
    step.next.notes.retain(|note| !note.is_of_restart() && !matches!(note, Note::Unsubmitted(_)));
    match step.before.has_open_task() {
        true if is_continued => step.note(Note::Restarted(name)),
        true => step.note(Note::TaskUnknown(name)),
        false => {}
    }
    step.set_activity(if is_ignorant { Activity::Fresh } else { Activity::Unknown }, None);
}

pub(super) fn session_up(step: &mut MachineStep<'_>, pane: &str, pid: i32) {
    let program = &mut step.next.program;
    program.session = Session::Up;
    program.is_to_restart = false;
    program.job_waits_for = None;
    program.dead_pane = None;
    program.fault.take_if(|fault| *fault != Fault::WorktreeMissing);
    program.pane_id = Some(pane.to_owned());
    program.pane_pid = Some(pid);
}

/// A job that waits has followed one that may have failed.
pub(super) fn queued(step: &mut MachineStep<'_>, reason: Option<&String>) {
    let program = &mut step.next.program;
    program.job_waits_for = reason.cloned();
    program.fault.take_if(|fault| *fault != Fault::WorktreeMissing);
}

pub(super) fn exited(step: &mut MachineStep<'_>, pane: &str, (end, job): (Session, Option<&'static str>), is_ok: bool) {
    let program = &mut step.next.program;
    program.session = end;
    program.job_waits_for = None;
    if !is_ok && program.dead_pane.as_deref() != Some(pane) {
        program.dead_pane = Some(pane.to_owned());
        program.crash_count = program.crash_count.saturating_add(1);
        program.last_crash_unix = Some(step.now);
        program.fault = Some(match (job, end) {
            (Some(end), _) => Fault::Job(end.to_owned()),
            (None, Session::Code(code)) => Fault::Exit(code),
            (None, Session::Signal(signal)) => Fault::Signal(signal),
            (None, Session::Up | Session::Down) => Fault::Gone,
        });
    }
    step.set_activity(Activity::Unknown, None);
}

pub(super) fn session_gone(step: &mut MachineStep<'_>) {
    let program = &mut step.next.program;
    program.session = Session::Down;
    // That was said of a program that runs.
    program.fault.take_if(|fault| *fault == Fault::NotReady);
    program.job_waits_for = None;
    program.pane_id = None;
    step.set_activity(Activity::Unknown, None);
}

pub(super) fn strayed(step: &mut MachineStep<'_>, note: Option<&Note>) {
    step.next.notes.retain(|note| !note.is_of_branch());
    note.cloned().into_iter().for_each(|note| step.note(note));
}

/// A day has passed without a crash.
pub(super) fn day_without_crash(step: &mut MachineStep<'_>) {
    step.next.program.crash_count = 0;
    step.next.program.last_crash_unix = None;
}
