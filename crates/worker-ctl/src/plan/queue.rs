//! Decides what may be queued, which workers get tasks of the queue, and who may get one at all.

use std::collections::{BTreeMap, BTreeSet};

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::text::printable;

use crate::store::State;
use crate::task_queue::QueuedTask;
use crate::worker::{Session, Worker};

/// Whether a worker could get a task: it is up, has none, and gets none at the moment.
pub fn is_free(worker: &Worker) -> bool {
    worker.status() == "idle" && worker.pending_send.is_none()
}

/// Exit 2 if a task is for another agent than the one that its worker runs.
pub fn require_agent((worker, runs): (&str, &str), wanted: Option<&str>) -> Result<()> {
    match wanted.filter(|wanted| *wanted != runs) {
        None => Ok(()),
        Some(wanted) => Err(Failure::usage(format!("{worker} runs {runs}, and not {wanted}"))
            .hint("name the worker or the agent, but not both")),
    }
}

/// How many workers work on tasks.
pub fn count_working(state: &State) -> usize {
    let works = |worker: &&Worker| {
        worker.has_open_task() && worker.program.session == Session::Up && worker.program.fault.is_none()
    };
    state.workers.values().filter(works).count()
}

/// Gives out the tasks that wait, the first in the queue to whoever has been idle longest: at most `room`, none of those
/// `in_hand`. `agent_of` tells the agent of a worker that gets tasks, and nothing of another one; `in_pool` tells whether
/// it gets what is for no certain worker.
pub fn assign(
    state: &State,
    (in_hand, mut room): (&BTreeSet<String>, usize),
    agent_of: &dyn Fn(&Worker) -> Option<String>,
    in_pool: &dyn Fn(&Worker) -> bool,
) -> Vec<(String, String)> {
    let mut free: Vec<(&Worker, String)> = state
        .workers
        .values()
        // Where a text may be in the input line, a person types the next one. To a limited one nobody types.
        .filter(|worker| is_free(worker) && !worker.program.is_in_doubt && worker.program.limit.is_none())
        .filter_map(|worker| Some((worker, agent_of(worker)?)))
        .collect();
    free.sort_by_key(|(worker, _)| (worker.task_since_unix, &worker.name));
    let mut given = Vec::new();
    for task in &state.queue.waiting {
        let suits = |(worker, agent): &(&Worker, String)| match &task.worker {
            Some(name) => *name == worker.name && task.agent.as_ref().is_none_or(|wanted| wanted == agent),
            None => task.agent.as_ref().is_none_or(|wanted| wanted == agent) && in_pool(worker),
        };
        if room == 0 || in_hand.contains(&task.id) || waits_for(state, task).is_some() {
            continue;
        }
        if let Some(at) = free.iter().position(suits) {
            given.push((free.remove(at).0.name.clone(), task.id.clone()));
            room -= 1;
        }
    }
    given
}

/// How many characters the id of a task may have.
const LONGEST_ID: usize = 64;

/// Appends tasks, each with the words that tell where it is from. Returns their ids. Exit 2 if one of them cannot be
/// queued; then none is.
pub fn add(state: &mut State, tasks: Vec<(String, QueuedTask)>) -> Result<Vec<String>> {
    let mut known: BTreeSet<String> = state.queue.landed.iter().cloned().collect();
    known.extend(state.queue.waiting.iter().map(|task| task.id.clone()));
    known.extend(state.workers.values().filter_map(Worker::queued_id).map(str::to_owned));
    let (mut added, mut whence) = (Vec::new(), BTreeMap::new());
    for (at, mut task) in tasks {
        let refuse = |why: String| Failure::malformed(format!("{at}: {why}"));
        let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        while task.id.is_empty() {
            state.queue.last = state.queue.last.wrapping_add(1);
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
            return Err(Failure::malformed(format!(
                "{at}: no task `{}` waits, is worked on or landed",
                printable(unknown)
            ))
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
    added.into_iter().for_each(|task| state.queue.push(task));
    Ok(ids)
}

/// What a waiting task waits for; nothing if the next idle worker gets it.
pub fn waits_for(state: &State, task: &QueuedTask) -> Option<String> {
    if let Some(gone) = task.worker.as_ref().filter(|name| !state.workers.contains_key(*name)) {
        return Some(format!("{gone}, which is no worker any more"));
    }
    let after = task.after.as_ref().filter(|after| !state.queue.landed.contains(after))?;
    let worker = state.workers.values().find(|worker| worker.queued_id() == Some(after));
    Some(match worker {
        Some(worker) => format!("{after} to land, which {} has", worker.name),
        None if state.queue.waiting.iter().any(|other| other.id == *after) => {
            format!("{after} to land, which waits too")
        }
        None => format!("{after} to land, which was dropped or reset"),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_first_task_goes_to_whoever_has_been_idle_longest_and_may_have_it() {
        let mut state = State::new(Path::new("/s"));
        for (name, since) in [("late", 9), ("early", 1), ("own", 5), ("busy", 0)] {
            let mut worker = Worker::new(name, "claude", "/w", "b", since);
            worker.program.session = if name == "busy" { Session::Down } else { Session::Up };
            state.put(worker);
        }
        let task = |id: &str, worker: Option<&str>, agent: Option<&str>, after: Option<&str>| QueuedTask {
            id: id.into(),
            worker: worker.map(str::to_owned),
            agent: agent.map(str::to_owned),
            after: after.map(str::to_owned),
            ..QueuedTask::default()
        };
        state.queue.waiting = vec![
            task("held", None, None, Some("other")),
            task("one", None, None, None),
            task("codex", None, Some("codex"), None),
            task("mine", Some("own"), None, None),
            task("two", None, Some("claude"), None),
            task("three", None, None, None),
        ];
        let given = |in_hand: &[&str], room| {
            let in_hand = in_hand.iter().map(|id| (*id).to_owned()).collect();
            let given = assign(&state, (&in_hand, room), &|_| Some("claude".into()), &|worker| worker.name != "own");
            given.into_iter().map(|(name, id)| format!("{id} {name}")).collect::<Vec<_>>()
        };
        assert_eq!(given(&[], 9), ["one early", "mine own", "two late"]);
        assert_eq!(given(&["one"], 9), ["mine own", "two early", "three late"]);
        assert_eq!((given(&[], 1), given(&[], 0).len()), (vec!["one early".to_owned()], 0));
    }
}
