//! The tasks that wait for a worker, in `state.json`. A task leaves the queue in the same write that gives it to a worker.

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::text::printable;

/// How often a task is given to a worker until only a person gives it.
pub const MOST_TRIES: u32 = 3;

/// How many landed tasks are remembered, so that others can wait for them.
const REMEMBERED: usize = 1_000;

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
    /// Its rank among all that waited at a time, by which it comes back to its place.
    pub rank: u64,
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
    /// The last rank that a task got.
    pub last_rank: u64,
}

impl TaskQueue {
    pub fn is_unused(&self) -> bool {
        *self == TaskQueue::default()
    }

    /// Appends a task.
    pub fn push(&mut self, task: QueuedTask) {
        self.last_rank = self.last_rank.wrapping_add(1);
        self.waiting.push(QueuedTask { rank: self.last_rank, ..task });
    }

    /// Puts a task back to where it was among those that wait.
    pub fn put_back(&mut self, task: QueuedTask) {
        if self.waiting.iter().all(|other| other.id != task.id) {
            let at = self.waiting.iter().position(|other| other.rank > task.rank).unwrap_or(self.waiting.len());
            self.waiting.insert(at, task);
        }
    }

    /// Moves the task at `from` to `to`. Those between keep their order, and all the ranks that there are.
    pub fn shift(&mut self, from: usize, to: usize) {
        let mut ranks: Vec<u64> = self.waiting.iter().map(|task| task.rank).collect();
        ranks.sort_unstable();
        let task = self.waiting.remove(from);
        self.waiting.insert(to.min(self.waiting.len()), task);
        self.waiting.iter_mut().zip(ranks).for_each(|(task, rank)| task.rank = rank);
    }

    /// Remembers that a task landed. What others wait for is never forgotten.
    pub fn land(&mut self, id: &str) {
        self.landed.push(id.to_owned());
        let is_waited_for = |id: &String| self.waiting.iter().any(|task| task.after.as_ref() == Some(id));
        let surplus = self.landed.len().saturating_sub(REMEMBERED);
        let (old, new) = self.landed.split_at(surplus);
        self.landed = old.iter().filter(|id| is_waited_for(id)).chain(new).cloned().collect();
    }

    /// The position of a waiting task. Exit 1 when none has this id.
    pub fn position(&self, id: &str) -> Result<usize> {
        self.waiting.iter().position(|task| task.id == id).ok_or_else(|| {
            Failure::not_found(format!("no task `{}` waits", printable(id)))
                .hint("`worker-ctl queue list` shows the tasks that wait")
        })
    }
}
