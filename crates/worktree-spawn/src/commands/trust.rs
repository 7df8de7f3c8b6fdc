//! `trust`: takes an agent's record for ours that this user did not write, once they have seen what it says.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::ui::{Ui, printable};

use crate::facts::{agents, repository};
use crate::failure;
use crate::identity::{Agent, AgentKind};
use crate::layout;

/// Take over an agent whose record you have not written
///
/// An agent can write the record of any worktree, so `remove`, `gc` and `run` use only records that are yours. One that an
/// agent in a sandbox, or an earlier version, has made becomes yours by this command, which shows what it says and asks.
/// Exits with 3 if nobody can be asked.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  worktree-spawn trust feature-a")]
pub struct Args {
    /// The agent's id, or a slug that only one agent has
    pub id: String,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    let known = agents::require(&place, &args.id)?;
    let (agent, path) = (&known.agent, &known.worktree.path);
    if agent.kind != AgentKind::Subtree || known.worktree.is_lost {
        return Err(failure::UNMANAGED
            .failure(format!("{} is no agent with a worktree of its own here", agent.id))
            .hint("`worktree-spawn list` shows all agents"));
    }
    if known.is_managed {
        ui.nothing_to_do();
        return Ok(Exit::Done);
    }
    let branch = known.worktree.branch.as_deref().unwrap_or("no branch");
    let parent = agent.parent.as_deref().unwrap_or("nobody");
    let target = agent.target.as_ref().map(|target| format!(", and its work lands on {target}")).unwrap_or_default();
    let says = format!("{} works in {} on {branch}, for {parent}{target}", agent.id, path.display());
    // What stands there while the person reads is what counts.
    let agent = Agent { directory: fs::dir_id(path), ..agent.clone() };
    ui.show(&[printable(&says)]);
    if !ui.is_dry() {
        ui.require_yes(args.yes, "Is that so, and may it be run and removed?", "the record was not listed")?;
        agent.save(env, &layout::identity_file(&known.worktree.git_dir))?;
        if !agents::require(&place, &agent.id)?.is_managed {
            return Err(Failure::failed(format!("the record of {} could not be listed in your own state", agent.id))
                .hint("run the command where `~/.local/state` can be written, outside of a sandbox"));
        }
    }
    match ui.is_json() {
        true => ui.json(&known.keys()),
        false => ui.done(format!("{} {}", if ui.is_dry() { "would list" } else { "listed" }, printable(&agent.id))),
    }
    Ok(Exit::Done)
}
