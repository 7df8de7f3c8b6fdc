//! Decides which workers get tasks of the queue, and who may get one at all.

use std::collections::BTreeSet;

use crate::store::State;
use crate::task_queue::waits_for;
use crate::worker::{Session, Worker};

/// Whether a worker could get a task: it is up, has none, and gets none at the moment.
pub fn is_free(worker: &Worker) -> bool {
    worker.status() == "idle" && worker.pending_send.is_none()
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
        .filter(|worker| is_free(worker))
        .filter_map(|worker| Some((worker, agent_of(worker)?)))
        .collect();
    free.sort_by_key(|(worker, _)| (worker.task_since_unix, &worker.name));
    let mut given = Vec::new();
    for task in &state.queue.waiting {
        let suits = |(worker, agent): &(&Worker, String)| match &task.worker {
            Some(name) => *name == worker.name,
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::task_queue::QueuedTask;

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
