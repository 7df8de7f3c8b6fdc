//! `whoami`: the calling agent.

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::{Ui, printable};

use super::shared_args::CallerArgs;
use crate::facts::{agents, repository};

/// Print the calling agent: by `--as`, else the environment, else the worktree
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  worktree-spawn whoami --json | jq -r .session")]
pub struct Args {
    #[command(flatten)]
    pub caller: CallerArgs,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    let named = args.caller.id.as_deref();
    let known = agents::contained(&place, named).map_or_else(|| agents::caller(&place, named), Ok)?;
    if ui.is_json() {
        ui.json_of_both(&known.keys(), &json!({ "session": known.agent.id }));
    } else {
        ui.line(printable(&known.agent.id));
    }
    Ok(Exit::Done)
}
