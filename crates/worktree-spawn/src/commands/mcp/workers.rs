//! The MCP tools for agents that are worker-ctl's workers as well: landing a child's work and talking to a relative.
//! Each runs worker-ctl, whose rules hold.

use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc::{self, Cmd};

use crate::agent_in_worktree::KnownAgent;
use crate::facts::agents;
use crate::failure;
use crate::repository_view::Place;

const TOOL: &str = "worker-ctl";

/// Lands the work of the caller's child on the caller's branch.
pub fn land_child(env: &Env, place: &Place, caller: &KnownAgent, name: &str) -> Result<Value> {
    let child = relative(place, caller, name, &[Relation::Child])?;
    // Clients start this server outside of the agent's sandbox. Who is a worker, and which branch is whose, a person has
    // said, and worker-ctl has recorded where no agent can write.
    let (own, worker) = (worker(env, caller, caller)?, worker(env, &child, caller)?);
    let text = |key: &str| worker[key].as_str().unwrap_or_default().to_owned();
    let (name, target) = (text("name"), text("target"));
    if own["branch"] != *target {
        return Err(failure::NOT_RELATED
            .failure(format!("the work of {} lands on {target}, which is not your branch", child.agent.id))
            .hint("tell the person that the work can be reviewed"));
    }
    worker_ctl(env, &child, caller, &["accept", &name], String::new())
}

/// Sends a text to the terminal of the caller's parent or child.
pub fn send_agent(env: &Env, place: &Place, caller: &KnownAgent, (to, text): (&str, &str)) -> Result<Value> {
    if text.chars().all(|c| c.is_whitespace() || c.is_control()) {
        return Err(Failure::usage("the text is empty").hint("give a text with at least one visible character"));
    }
    let to = relative(place, caller, to, &[Relation::Child, Relation::Parent])?;
    let worker = worker(env, &to, caller)?;
    let (name, text) = (worker["name"].as_str().unwrap_or_default(), format!("[from {}] {text}", caller.agent.id));
    worker_ctl(env, &to, caller, &["message", name, &text], String::new())
}

/// worker-ctl's record of the worker that works where this agent does. Exit 1 if there is none.
fn worker(env: &Env, agent: &KnownAgent, caller: &KnownAgent) -> Result<Value> {
    let status = worker_ctl(env, agent, caller, &["status"], String::new())?;
    let is_its = |worker: &&Value| worker["worktree"] == *agent.worktree.path.to_string_lossy();
    status["workers"].as_array().into_iter().flatten().find(is_its).cloned().ok_or_else(|| {
        failure::NOT_FOUND.failure(format!("{} is no worker of worker-ctl", agent.agent.id)).hint(
            match agent.worktree.is_main {
                true => "the main checkout is nobody's worker: report with notify_parent, or tell the person",
                false => "report with notify_parent; a person makes a worker of it with `worker-ctl add --worktree`",
            },
        )
    })
}

#[derive(PartialEq, Eq)]
enum Relation {
    Parent,
    Child,
}

/// The caller's relative with this id or slug. Exit 1 if the agent is none.
fn relative(place: &Place, caller: &KnownAgent, name: &str, relations: &[Relation]) -> Result<KnownAgent> {
    let relation = |other: &KnownAgent| match () {
        () if other.agent.parents.last() == Some(&caller.agent.id) => Some(Relation::Child),
        () if caller.agent.parents.last() == Some(&other.agent.id) => Some(Relation::Parent),
        () => None,
    };
    let is_meant = |other: &&KnownAgent| {
        (other.agent.id == name || other.agent.slug == name)
            && relation(other).is_some_and(|relation| relations.contains(&relation))
    };
    if let Some(found) = agents::all(place)?.iter().find(is_meant) {
        return Ok(found.clone());
    }
    let other = agents::require(place, name)?;
    let whom =
        if relations.contains(&Relation::Parent) { "neither your parent nor your child" } else { "not your child" };
    Err(failure::NOT_RELATED
        .failure(format!("{} is {whom}", other.agent.id))
        .hint("list_agents shows each one's parent"))
}

/// The answer of worker-ctl in an agent's worktree, called by the caller.
fn worker_ctl(env: &Env, at: &KnownAgent, caller: &KnownAgent, args: &[&str], input: String) -> Result<Value> {
    let program = proc::require(env, TOOL, "tell the person that it is missing")?;
    let cmd = Cmd::new(&program, env).arg("--json").args(args.iter().copied()).dir(&at.worktree.path);
    let output = cmd.var("SHOPFLOOR_AGENT_ID", &caller.agent.id).input(input.into_bytes()).capture()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer: Value = serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_default();
    let error = &answer["error"];
    if output.status.success() {
        return Ok(answer);
    }
    let said = error["message"].as_str().map_or_else(|| output.status.to_string(), str::to_owned);
    let hints = error["hints"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let failure = failure::BLOCKED.with(Exit::No, format!("{TOOL}: {said}"));
    Err(hints.fold(failure, |failure, hint| failure.hint(hint)))
}
