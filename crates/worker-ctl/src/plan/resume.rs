//! Decides what a worker needs to go on after a restart, or after a command that was killed before it typed a text.

use crate::worker::Worker;
use crate::worker_notes::Note;

/// What a worker needs to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resume {
    /// A word that it shall continue: its program went on with the conversation that knows the task.
    Continue,
    /// Its task: its program was started anew, or nothing of a text about the task was typed.
    Task,
}

impl Resume {
    pub fn describe(self, name: &str) -> String {
        match self {
            Resume::Continue => format!("tell {name} to continue"),
            Resume::Task => format!("send {name} its task again"),
        }
    }
}

/// What it needs, as its notes tell; nothing once it was sent, or if the program works on its task.
pub fn resume(worker: &Worker) -> Option<Resume> {
    let needs = |note: &Note| match note {
        Note::TaskUnknown(_) => Some(Resume::Task),
        Note::NotTyped(_) if note.is_doubt_of_task() => Some(Resume::Task),
        Note::Restarted(_) | Note::LimitOver(_) => Some(Resume::Continue),
        _ => None,
    };
    // One that lacks a text about its task is not only to continue.
    worker.notes.iter().filter_map(needs).max().filter(|_| worker.has_open_task())
}
