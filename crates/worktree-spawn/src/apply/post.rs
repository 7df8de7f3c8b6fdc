//! Sending an event from an agent to its parent, or to the nearest ancestor that is left.

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;

use crate::event::EventDraft;
use crate::facts::agents;
use crate::failure::SpawnFailure;
use crate::identity::Agent;
use crate::known_agent::KnownAgent;
use crate::place::Place;
use crate::spool::{self, Published, Spool};

/// Sends an event. Exit 1 if the agent has no parent.
pub fn send(env: &Env, place: &Place, from: &KnownAgent, draft: EventDraft, dedupe: Option<&str>) -> Result<Published> {
    publish(env, place, &from.agent, draft, dedupe, from.agent.parent.is_some() && from.is_gone())
}

/// Sends an event for an agent whose worktree may be gone.
pub fn send_as(env: &Env, place: &Place, agent: &Agent, draft: EventDraft, dedupe: Option<&str>) -> Result<Published> {
    publish(env, place, agent, draft, dedupe, false)
}

/// The agent's parent, and the agent that gets its events: the parent, or the nearest ancestor that is left. Exit 1 if
/// it has no parent.
pub fn recipient(place: &Place, agent: &Agent) -> Result<(String, String)> {
    let parent = agent.parents.last().ok_or_else(|| {
        SpawnFailure::NoParent
            .refuse(format!("{} has no parent to report to", agent.id))
            .hint("run it as an agent that was spawned, or name one with `--as ID`")
    })?;
    Ok((parent.clone(), heir(place, agent)?))
}

/// Publishes an event. That of a removed agent names its session as forwarded.
fn publish(
    env: &Env,
    place: &Place,
    agent: &Agent,
    draft: EventDraft,
    dedupe: Option<&str>,
    is_gone: bool,
) -> Result<Published> {
    let mut record = draft.into_record(env, agent);
    let (parent, to) = recipient(place, agent)?;
    let from = match to == parent {
        // If the parent's session forwards, the spool names that session.
        true if Spool::new(&place.shared(), &parent).forwards_to()?.is_some() => None,
        true => is_gone.then_some(&agent.id),
        false => Some(&parent),
    };
    from.into_iter().for_each(|from| drop(record.insert("forwarded_from".into(), from.clone().into())));
    let above: Vec<String> = agent.parents.iter().take_while(|id| **id != to).cloned().collect();
    let key = dedupe.map(|key| format!("{}:{}:{key}", agent.id, agent.incarnation));
    spool::publish(&place.shared(), &to, &above, record, key.as_deref())
}

/// The nearest ancestor that exists or whose session forwards; the topmost one if there is none.
pub fn heir(place: &Place, agent: &Agent) -> Result<String> {
    let top = agent.parents.first().cloned().unwrap_or_default();
    let Some(parent) = agent.parents.last() else { return Ok(top) };
    if Spool::new(&place.shared(), parent).forwards_to()?.is_some() {
        return Ok(parent.clone());
    }
    let all = agents::all(place)?;
    let exists = |id: &&String| all.iter().any(|known| known.agent.id == **id);
    Ok(agent.parents.iter().rev().find(exists).cloned().unwrap_or(top))
}
