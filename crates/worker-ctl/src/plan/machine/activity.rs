//! Reports of the program's own hooks. They never change the task.

use crate::hook_report::{Report, Signal};
use crate::plan::machine::MachineStep;
use crate::session_file::UsageLimit;
use crate::worker::{Activity, Session, Worker};
use crate::worker_notes::Note;

pub(super) fn reported(step: &mut MachineStep<'_>, report: &Report) {
    let before = step.before;
    // A hook may come late, after its program is gone.
    if before.program.pane_id.is_none() || matches!(before.program.session, Session::Code(_) | Session::Signal(_)) {
        return;
    }
    match (&report.text, &mut step.next.program.heard) {
        (Some(text), heard) if heard.is_none() || !text.is_empty() => *heard = Some(text.clone()),
        (Some(_) | None, _) => {}
    }
    if report.session_file.is_some() {
        step.next.program.session_file.clone_from(&report.session_file);
    }
    let is_limited = before.program.limit.is_some();
    let is_asking = before.reported.activity == Activity::Asks;
    match &report.signal {
        Signal::Began { is_continued } => began(step, *is_continued),
        Signal::Cleared => cleared(step),
        // Tools may run side by side, so another tool can go on while one asks.
        Signal::Works { tool_use } if is_asking && is_another(&before.reported.question_id, tool_use) => {}
        Signal::Prompted | Signal::Works { .. } => step.set_activity(Activity::Busy, None),
        Signal::StillAsks { .. } if is_asking => {}
        Signal::StillAsks { question } => step.set_activity(Activity::Asks, Some(question)),
        Signal::Asks { question, tool_use } => {
            step.set_activity(Activity::Asks, Some(question));
            step.next.reported.question_id.clone_from(tool_use);
        }
        Signal::StillRests if is_limited => {}
        Signal::Rests | Signal::StillRests => step.set_activity(Activity::Rests, None),
        Signal::Limited => {
            // Its question has ended with its turn. That is no rest.
            if is_asking {
                step.set_activity(Activity::Busy, None);
            }
            step.next.program.limit.get_or_insert(UsageLimit { since_unix: step.now, ..UsageLimit::default() });
        }
    }
    // It has gone on.
    if matches!(report.signal, Signal::Prompted | Signal::Works { .. } | Signal::Asks { .. } | Signal::Rests) {
        step.next.program.limit = None;
    }
    // Somebody has told it something already.
    if matches!(report.signal, Signal::Prompted | Signal::Works { .. } | Signal::Asks { .. })
        && step.before.pending_send.is_none()
    {
        step.next.notes.retain(|note| !matches!(note, Note::Restarted(_) | Note::LimitOver(_)));
    }
    // A conversation that has just begun does not know the task, nor does one that a person began.
    let has_begun = matches!(report.signal, Signal::Began { .. } | Signal::Cleared);
    let knows_task = before.work.prompt.is_some() && !has_begun && !is_untold(before);
    if knows_task && report.conversation.is_some() {
        step.next.work.conversation.clone_from(&report.conversation);
    }
}

fn began(step: &mut MachineStep<'_>, is_continued: bool) {
    // It was started with a text that it is about to report.
    if step.before.pending_send.is_some() {
        return;
    }
    if step.before.has_open_task() && is_untold(step.before) && !is_continued {
        step.set_activity(Activity::Fresh, None);
    } else if is_continued || !step.before.has_open_task() {
        step.set_activity(Activity::Rests, None);
    }
}

/// A person who clears the context takes the task from the program. Our own command for that comes before a text, when
/// nothing is known of the activity.
fn cleared(step: &mut MachineStep<'_>) {
    if !step.before.has_open_task() {
        return began(step, false);
    }
    if step.before.reported.activity != Activity::Unknown && step.before.pending_send.is_none() {
        step.next.notes.retain(|note| !note.is_of_restart());
        step.note(Note::TaskUnknown(step.before.name.clone()));
        step.next.work.conversation = None;
        step.set_activity(Activity::Fresh, None);
    }
}

/// The file tells more than the hook, or what no hook told.
pub(super) fn limit(step: &mut MachineStep<'_>, told: Option<&UsageLimit>) {
    let since = step.before.program.limit.as_ref().map(|limit| limit.since_unix);
    step.next.program.limit =
        told.map(|told| UsageLimit { since_unix: since.unwrap_or(told.since_unix), ..told.clone() });
}

pub(super) fn limit_over(step: &mut MachineStep<'_>) {
    let has_note = step.before.notes.iter().any(Note::is_of_restart);
    if step.next.program.limit.take().is_some() && step.before.has_open_task() && !has_note {
        step.note(Note::LimitOver(step.before.name.clone()));
    }
}

/// Whether its program was started anew and was not told its task since.
fn is_untold(worker: &Worker) -> bool {
    worker.notes.iter().any(|note| matches!(note, Note::TaskUnknown(_)))
}

/// Whether both are known and differ.
fn is_another(one: &Option<String>, other: &Option<String>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}
