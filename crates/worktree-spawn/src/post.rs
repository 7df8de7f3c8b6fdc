//! Sending an event from an agent up the chain: to its parent, or to the nearest one above that is left.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::Git;

use crate::event::Draft;
use crate::facts::agents::{self, Known};
use crate::facts::place::{Place, Tree};
use crate::identity::Agent;
use crate::native::Native;
use crate::spool::{self, Published, Spool};

/// Publishes it. Exit 1 when there is nobody above.
pub fn send(env: &Env, place: &Place, from: &Known, draft: Draft, dedupe: Option<&str>) -> Result<Published> {
    let parent = from.agent.parent.as_ref().filter(|_| from.is_gone());
    publish(env, place, &from.agent, draft, dedupe, parent.map(|_| from.agent.id.as_str()))
}

/// The same from an agent that may be gone.
pub fn send_as(env: &Env, place: &Place, agent: &Agent, draft: Draft, dedupe: Option<&str>) -> Result<Published> {
    publish(env, place, agent, draft, dedupe, None)
}

/// `gone` is the session that is no more, though the parent's is there.
fn publish(
    env: &Env,
    place: &Place,
    agent: &Agent,
    draft: Draft,
    dedupe: Option<&str>,
    gone: Option<&str>,
) -> Result<Published> {
    let Some(parent) = agent.parents.last() else {
        return Err(Failure::new(Exit::No, "no_parent", format!("{} has no parent to tell", agent.id))
            .hint("run it as an agent that was spawned, or name one with `--as ID`"));
    };
    let mut record = draft.of(env, agent);
    let to = heir(place, agent)?;
    let from = match to == *parent {
        // A parent whose own session forwards is named by that.
        true if Spool::of(&place.shared(), parent).forwards_to()?.is_some() => None,
        true => gone,
        false => Some(parent.as_str()),
    };
    from.into_iter().for_each(|from| drop(record.insert("forwarded_from".into(), from.into())));
    let above: Vec<String> = agent.parents.iter().take_while(|id| **id != to).cloned().collect();
    let key = dedupe.map(|key| format!("{}:{}:{key}", agent.id, agent.incarnation));
    spool::publish(&place.shared(), &to, &above, record, key.as_deref())
}

/// The nearest agent above that is there, or whose session forwards; the topmost where none is.
pub fn heir(place: &Place, agent: &Agent) -> Result<String> {
    let top = agent.parents.first().cloned().unwrap_or_default();
    let Some(parent) = agent.parents.last() else { return Ok(top) };
    // The usual case costs one look.
    if is_there_at_once(place, parent) || Spool::of(&place.shared(), parent).forwards_to()?.is_some() {
        return Ok(parent.clone());
    }
    let all = agents::all(place)?;
    let is_there = |id: &&String| all.iter().any(|known| known.agent.id == **id);
    Ok(agent.parents.iter().rev().find(is_there).cloned().unwrap_or(top))
}

fn is_there_at_once(place: &Place, id: &str) -> bool {
    let here = place.here.as_ref().map(|tree| agents::in_tree(place, tree)).unwrap_or_default();
    let main = place.trees_of_main();
    let roots = main.iter().flat_map(|tree| agents::in_tree(place, tree));
    here.into_iter().chain(roots).any(|known| known.agent.id == id)
}

/// The commit a worktree is at; none where there is none.
pub fn head(env: &Env, place: &Place, tree: &Tree) -> Option<String> {
    let native = if place.has_ref_storage { None } else { Native::open(env, tree) };
    if let Some(sha) = native.and_then(|native| native.head()) {
        return Some(sha);
    }
    let asked =
        Git::find(env).ok()?.cmd(&tree.path).args(["rev-parse", "--verify", "--quiet", "HEAD"]).capture().ok()?;
    let sha = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    (!sha.is_empty()).then_some(sha)
}
