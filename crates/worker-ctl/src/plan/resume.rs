//! Decides what a worker needs to go on after a restart.

use crate::worker::Worker;
use crate::worker_notes::Note;

/// What a worker needs to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// A word that it shall continue: its program went on with the conversation that knows the task.
    Continue,
    /// Its task: its program was started anew.
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
        Note::Restarted(_) | Note::LimitOver(_) => Some(Resume::Continue),
        _ => None,
    };
    worker.notes.iter().find_map(needs).filter(|_| worker.has_open_task())
}
