//! Sending an event from an agent to its parent, or to the nearest ancestor that is left.

use serde_json::{Map, Value};
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::git::Git;

use crate::agent_in_worktree::KnownAgent;
use crate::event::EventDraft;
use crate::facts::{agents, repository};
use crate::failure;
use crate::identity::Agent;
use crate::repository_view::Place;
use crate::spool::{self, Published, Spool};

/// Sends an event, with the branch and the commit that the agent is at. Exit 1 if the agent has no parent.
pub fn send(env: &Env, place: &Place, from: &KnownAgent, draft: EventDraft, dedupe: Option<&str>) -> Result<Published> {
    let head = repository::head(&Git::find(env)?, &from.worktree).unwrap_or_default();
    let record = draft.into_record(env, &from.agent, (from.worktree.branch.as_deref(), head.as_deref()));
    // The events of a removed agent name its session as forwarded.
    let gone = (from.agent.parent.is_some() && from.is_gone()).then_some(&from.agent.id);
    publish(place, &from.agent, record, dedupe, gone)
}

/// Sends an event for an agent whose worktree may be gone.
pub fn send_as(env: &Env, place: &Place, agent: &Agent, draft: EventDraft, dedupe: Option<&str>) -> Result<Published> {
    publish(place, agent, draft.into_record(env, agent, (None, None)), dedupe, None)
}

/// The agent's parent, and the agent that gets its events: the parent, or the nearest ancestor that is left. Exit 1 if
/// it has no parent.
pub fn recipient(place: &Place, agent: &Agent) -> Result<(String, String)> {
    let parent = agent.parents.last().ok_or_else(|| {
        failure::NO_PARENT
            .failure(format!("{} has no parent to report to", agent.id))
            .hint("run it as an agent that was spawned, or name one with `--as ID`")
    })?;
    Ok((parent.clone(), heir(place, agent)?))
}

/// Publishes an event of an agent; `gone` is its id if it was removed.
fn publish(
    place: &Place,
    agent: &Agent,
    mut record: Map<String, Value>,
    dedupe: Option<&str>,
    gone: Option<&String>,
) -> Result<Published> {
    let (parent, to) = recipient(place, agent)?;
    let from = match to == parent {
        // If the parent's session forwards, the spool names that session.
        true if Spool::new(&place.shared(), &parent).forwards_to()?.is_some() => None,
        true => gone,
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
