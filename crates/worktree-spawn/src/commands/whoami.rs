//! `whoami`: the calling agent, found without a git process.

use std::path::Path;

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::{Ui, printable};

use super::shared_args::CallerArgs;
use crate::facts::{agents, repository};
use crate::identity::AgentKind;
use crate::known_agent::KnownAgent;

/// Print the calling agent: by `--as`, else the environment, else the worktree
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  worktree-spawn whoami --json | jq -r .session")]
pub struct Args {
    #[command(flatten)]
    pub caller: CallerArgs,
}

#[derive(Serialize)]
struct WhoamiAnswer<'a> {
    id: &'a str,
    kind: AgentKind,
    name: &'a str,
    session: &'a str,
    parent: Option<&'a str>,
    birth_branch: Option<&'a str>,
    level: u64,
    path: &'a Path,
    worktree: &'a Path,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    let KnownAgent { agent, worktree, .. } = agents::caller(&place, args.caller.id.as_deref())?;
    if ui.is_json() {
        ui.json(&WhoamiAnswer {
            id: &agent.id,
            kind: agent.kind,
            name: &agent.slug,
            session: &agent.id,
            parent: agent.parent.as_deref(),
            birth_branch: agent.birth_branch.as_deref(),
            level: agent.level,
            path: &worktree.path,
            worktree: &worktree.path,
        });
    } else {
        ui.line(printable(&agent.id));
    }
    Ok(Exit::Done)
}
