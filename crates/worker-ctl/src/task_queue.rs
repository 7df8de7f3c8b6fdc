//! The tasks that wait for a worker, in `state.json`. A task leaves the queue in the same write that gives it to a worker.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::text::printable;

use crate::store::State;
use crate::worker::Worker;

/// How often a task is given to a worker until only a person gives it.
pub const MOST_TRIES: u32 = 3;

/// How many landed tasks are remembered, so that others can wait for them.
pub const REMEMBERED: usize = 1_000;

/// How many characters the id of a task may have.
const LONGEST_ID: usize = 64;

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

    /// The place of a waiting task. Exit 1 when none has this id.
    pub fn place(&self, id: &str) -> Result<usize> {
        self.waiting.iter().position(|task| task.id == id).ok_or_else(|| {
            Failure::not_found(format!("no task `{}` waits", printable(id)))
                .hint("`worker-ctl queue list` shows the tasks that wait")
        })
    }
}

/// The id of a worker's task, if that is from the queue.
pub fn id_of(worker: &Worker) -> Option<&str> {
    worker.work.queued.as_ref().map(|task| task.id.as_str())
}

/// Appends tasks, each with the words that tell where it is from. Returns their ids. Exit 2 if one of them cannot be
/// queued; then none is.
pub fn add(state: &mut State, tasks: Vec<(String, QueuedTask)>) -> Result<Vec<String>> {
    let mut known: BTreeSet<String> = state.queue.landed.iter().cloned().collect();
    known.extend(state.queue.waiting.iter().map(|task| task.id.clone()));
    known.extend(state.workers.values().filter_map(id_of).map(str::to_owned));
    let (mut added, mut whence) = (Vec::new(), BTreeMap::new());
    for (at, mut task) in tasks {
        let refuse = |why: String| Failure::malformed(format!("{at}: {why}"));
        let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        while task.id.is_empty() {
            state.queue.last += 1;
            task.id = Some(format!("t{}", state.queue.last)).filter(|id| !known.contains(id)).unwrap_or_default();
        }
        if task.id.len() > LONGEST_ID || task.id.starts_with('-') || !task.id.chars().all(is_good) {
            return Err(refuse(format!("`{}` cannot be the id of a task", printable(&task.id)))
                .hint(format!("use up to {LONGEST_ID} letters, digits, `.`, `_` and `-`")));
        }
        if !known.insert(task.id.clone()) {
            return Err(refuse(format!("there is a task `{}` already", task.id)).hint("give it another id"));
        }
        if let Some(name) = task.worker.as_deref().filter(|name| !state.workers.contains_key(*name)) {
            return Err(refuse(format!("there is no worker `{}`", printable(name)))
                .hint("`worker-ctl status` lists all workers; `worker-ctl add NAME` creates one"));
        }
        whence.insert(task.id.clone(), (at, task.after.clone()));
        added.push(task);
    }
    for (at, after) in whence.values() {
        let mut next = after.as_ref();
        if let Some(unknown) = next.filter(|id| !known.contains(*id)) {
            return Err(Failure::malformed(format!("{at}: no task `{}` waits, is worked on or landed", printable(unknown)))
                .hint("`worker-ctl queue list` shows the tasks that wait"));
        }
        for _ in 0..whence.len() {
            next = next.and_then(|id| whence.get(id)).and_then(|(_, after)| after.as_ref());
        }
        if next.is_some_and(|id| whence.contains_key(id)) {
            return Err(Failure::malformed(format!("{at}: this task waits for itself, by the tasks before it"))
                .hint("take one `after` of them away"));
        }
    }
    let ids = added.iter().map(|task| task.id.clone()).collect();
    state.queue.waiting.extend(added);
    Ok(ids)
}

/// What a waiting task waits for; nothing if the next idle worker gets it.
pub fn waits_for(state: &State, task: &QueuedTask) -> Option<String> {
    let after = task.after.as_ref().filter(|after| !state.queue.landed.contains(after))?;
    let worker = state.workers.values().find(|worker| id_of(worker) == Some(after));
    Some(match worker {
        Some(worker) => format!("{after} to land, which {} has", worker.name),
        None if state.queue.waiting.iter().any(|other| other.id == *after) => format!("{after} to land, which waits too"),
        None => format!("{after} to land, which was dropped or reset"),
    })
}
