//! The tasks that wait for a worker, in `state.json`. A task leaves the queue in the same write that gives it to a worker.

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::text::printable;

/// How often a task is given to a worker until only a person gives it.
pub const MOST_TRIES: u32 = 3;

/// How many landed tasks are remembered, so that others can wait for them.
pub const REMEMBERED: usize = 1_000;

/// A task that waits, or that a worker has from the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueuedTask {
    /// Its name; in what is added empty for one that gets a number.
    pub id: String,
    pub prompt: String,
    /// The only worker that gets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// The only agent that gets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The task that has to land first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// How often a worker got it.
    pub tries: u32,
}

/// The queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskQueue {
    /// The tasks that wait, the next one first.
    pub waiting: Vec<QueuedTask>,
    /// The ids of tasks that landed, the last one last.
    pub landed: Vec<String>,
    /// The last number that a task got.
    pub last: u64,
}

impl TaskQueue {
    pub fn is_unused(&self) -> bool {
        *self == TaskQueue::default()
    }

    /// The position of a waiting task. Exit 1 when none has this id.
    pub fn position(&self, id: &str) -> Result<usize> {
        self.waiting.iter().position(|task| task.id == id).ok_or_else(|| {
            Failure::not_found(format!("no task `{}` waits", printable(id)))
                .hint("`worker-ctl queue list` shows the tasks that wait")
        })
    }
}
