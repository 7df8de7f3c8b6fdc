//! `trust`: takes an agent's record for ours that this user did not write, once they have seen what it says; or lets a
//! directory lead to another repository.

use std::path::Path;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{common_of, private_dir};
use shopfloor_core::known_dirs::{DirList, owner_of};
use shopfloor_core::path::real;
use shopfloor_core::ui::{Ui, printable};

use crate::facts::{agents, repository};
use crate::failure;
use crate::identity::{Agent, AgentKind};
use crate::layout;

/// Take over an agent whose record you have not written
///
/// An agent can write the record of any worktree, so `remove`, `gc` and `run` use only records that are yours. One that an
/// agent in a sandbox, or an earlier version, has made becomes yours by this command, which shows what it says and asks. So
/// does a directory in which you have put another repository than the one whose worktree it was. Exits with 3 if nobody
/// can be asked.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  worktree-spawn trust feature-a")]
pub struct Args {
    /// The agent's id, a slug that only one agent has, or the whole path of a directory
    pub id: String,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    if Path::new(&args.id).is_absolute() {
        return release(ui, env, &real(Path::new(&args.id)), args.yes);
    }
    let place = repository::find(env)?;
    let known = agents::require(&place, &args.id)?;
    let (agent, path) = (&known.agent, &known.worktree.path);
    if agent.kind != AgentKind::Subtree || known.worktree.is_lost {
        return Err(failure::UNMANAGED
            .failure(format!("{} is no agent with a worktree of its own here", agent.id))
            .hint("`worktree-spawn list` shows all agents"));
    }
    if known.is_managed {
        if ui.is_json() {
            ui.json(&known.keys());
        }
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

/// Takes a directory that leads elsewhere off the list of worktrees.
fn release(ui: &Ui, env: &Env, dir: &Path, yes: bool) -> Result<Exit> {
    let (git_dir, shown) = (private_dir(dir), dir.display().to_string());
    let leads_to = git_dir.as_deref().and_then(common_of);
    let owner = owner_of(env, dir)?.filter(|owner| git_dir == leads_to || leads_to.as_ref() != Some(owner));
    let Some((list, owner)) = DirList::worktrees(env).zip(owner) else {
        if ui.is_json() {
            ui.json(&json!({ "path": shown, "worktree": shown }));
        }
        ui.nothing_to_do();
        return Ok(Exit::Done);
    };
    let now = leads_to.map_or("no repository".to_owned(), |common| common.display().to_string());
    ui.show(&[printable(&format!("{shown} was a worktree of {}, and leads to {now}", owner.display()))]);
    if !ui.is_dry() {
        ui.require_yes(yes, "Is that so by your own doing?", "the place stays that repository's")?;
        list.update(|all| drop(all.remove(dir)))?;
    }
    match ui.is_json() {
        true => ui.json(&json!({ "path": shown, "worktree": shown })),
        false => ui.done(format!("{} {}", if ui.is_dry() { "would release" } else { "released" }, printable(&shown))),
    }
    Ok(Exit::Done)
}
