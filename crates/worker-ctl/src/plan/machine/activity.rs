//! Reports of the program's own hooks. They never change the task.

use crate::note::Note;
use crate::plan::machine::{MachineStep, SideEffect};
use crate::report::{Report, Signal};
use crate::worker::{Activity, Worker};

pub(super) fn apply(step: &mut MachineStep<'_>, report: &Report) -> Vec<SideEffect> {
    let before = step.before;
    // A hook may come late, after its program is gone.
    if before.pane_id.is_none() {
        return vec![];
    }
    let is_asking = before.activity == Activity::Asks;
    match &report.signal {
        Signal::Began { is_continued } => began(step, *is_continued),
        // Tools may run side by side, so another tool can go on while one asks.
        Signal::Works { tool_use } if is_asking && is_another(&before.question_id, tool_use) => {}
        Signal::Prompted | Signal::Works { .. } => step.set_activity(Activity::Busy, None),
        // Programs repeat a question that waits, without saying which one.
        Signal::Asks { tool_use: None, .. } if is_asking => {}
        Signal::Asks { question, tool_use } => {
            step.set_activity(Activity::Asks, Some(question));
            step.next.question_id.clone_from(tool_use);
        }
        Signal::Rests => step.set_activity(Activity::Rests, None),
    }
    // A conversation that has just begun does not know the task, nor does one that a person began.
    let knows_task = before.prompt.is_some() && !matches!(report.signal, Signal::Began { .. }) && !is_untold(before);
    if knows_task && report.conversation.is_some() {
        step.next.conversation.clone_from(&report.conversation);
    }
    vec![]
}

fn began(step: &mut MachineStep<'_>, is_continued: bool) {
    if step.before.has_open_task() && is_untold(step.before) && !is_continued {
        step.set_activity(Activity::Fresh, None);
    } else if is_continued || !step.before.has_open_task() {
        step.set_activity(Activity::Rests, None);
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
