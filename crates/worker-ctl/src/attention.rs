//! What a worker needs a person for.

use crate::note::Note;
use crate::worker::{Activity, Task, Worker};

/// Why a worker needs a person, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Its program asks a question.
    Asks,
    /// It cannot work.
    Fault,
    Review,
    /// Its program was started anew, and does not know the task.
    Fresh,
    /// Its program was restarted, knows the task, and waits.
    Resume,
    /// Its turn ended without a commit, perhaps with a question in its text.
    Rests,
}

impl Need {
    pub fn of(worker: &Worker) -> Option<Need> {
        match worker.reported.activity {
            Activity::Asks => Some(Need::Asks),
            _ if worker.program.fault.is_some() => Some(Need::Fault),
            // A review needs no session.
            _ if worker.task == Task::NeedsReview => Some(Need::Review),
            _ if !worker.has_open_task() || worker.status() == "offline" => None,
            Activity::Fresh => Some(Need::Fresh),
            _ if worker.notes.iter().any(|note| matches!(note, Note::Restarted(_))) => Some(Need::Resume),
            Activity::Rests => Some(Need::Rests),
            Activity::Busy | Activity::Unknown => None,
        }
    }

    /// The word that `status` shows for it.
    pub fn word(self) -> &'static str {
        match self {
            Need::Asks => Activity::Asks.word(),
            Need::Fault => "error",
            Need::Review => Task::NeedsReview.word(),
            Need::Fresh => Activity::Fresh.word(),
            Need::Resume => "resume",
            Need::Rests => Activity::Rests.word(),
        }
    }
}

/// When the worker came to be as it is, in seconds since 1970.
pub fn since(worker: &Worker) -> i64 {
    let Worker { program, reported, task_since_unix: since, .. } = worker;
    let counts = matches!(reported.activity, Activity::Asks | Activity::Rests | Activity::Fresh);
    let begun = reported.activity_at.as_ref().filter(|_| counts).and_then(|time| time.parse::<jiff::Timestamp>().ok());
    let crashed = program.last_crash_unix.filter(|_| program.fault.is_some());
    crashed.or(begun.map(jiff::Timestamp::as_second)).unwrap_or(*since).max(*since)
}
