//! Inputs about a worker's program and the branch that it works on. They never change the task.

use crate::note::{Fault, Note};
use crate::plan::machine::{Input, MachineStep, SideEffect};
use crate::worker::{Activity, Session};

pub(super) fn apply(step: &mut MachineStep<'_>, input: &Input) -> Vec<SideEffect> {
    let (before, now) = (step.before, step.now);
    let next = &mut step.next;
    match input {
        Input::SessionBegun { pane, pid, is_continued } => {
            next.session = Session::Down;
            next.is_in_doubt = false;
            next.pane_id = Some(pane.clone());
            next.pane_pid = Some(*pid);
            next.dead_pane = None;
            let is_ignorant = before.has_open_task() && !is_continued;
            if is_ignorant {
                step.note(Note::TaskUnknown(before.name.clone()));
            }
            step.set_activity(if is_ignorant { Activity::Fresh } else { Activity::Unknown }, None);
        }
        Input::SessionUp { pane, pid } => {
            next.session = Session::Up;
            next.dead_pane = None;
            next.fault.take_if(|fault| *fault != Fault::WorktreeMissing);
            next.pane_id = Some(pane.clone());
            next.pane_pid = Some(*pid);
        }
        Input::Exited { pane, end, is_ok } => {
            next.session = *end;
            if !is_ok && before.dead_pane.as_ref() != Some(pane) {
                next.dead_pane = Some(pane.clone());
                next.crash_count = before.crash_count.saturating_add(1);
                next.last_crash_unix = Some(now);
                next.fault = Some(match end {
                    Session::Code(code) => Fault::Exit(*code),
                    Session::Signal(signal) => Fault::Signal(*signal),
                    Session::Up | Session::Down => Fault::Gone,
                });
            }
            step.set_activity(Activity::Unknown, None);
        }
        Input::SessionGone => {
            next.session = Session::Down;
            next.pane_id = None;
            next.pane_pid = None;
            step.set_activity(Activity::Unknown, None);
        }
        Input::ConversationLost => next.conversation = None,
        Input::ConversationKept(conversation) => next.conversation = Some(conversation.clone()),
        Input::Fault { reason } => next.fault = Some(reason.clone()),
        Input::Strayed { note } => {
            next.notes.retain(|note| !note.is_of_branch());
            note.clone().into_iter().for_each(|note| step.note(note));
        }
        Input::Mended { reason } => drop(next.fault.take_if(|fault| fault == reason)),
        Input::Quiet => {
            next.crash_count = 0;
            next.last_crash_unix = None;
        }
        _ => {}
    }
    vec![]
}
