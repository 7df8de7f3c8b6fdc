//! `hook`: called by an agent's own hook, confirms that a text has arrived.

use std::path::Path;

use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;
use serde_json::Value;
use shopfloor_core::agents::{self, AgentProgram};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::Ui;

use crate::receipt::Receipt;
use crate::worker::checked_name;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The agent whose hook calls this
    #[arg(value_name = "AGENT", value_parser = PossibleValuesParser::new(supported().map(|program| program.name)))]
    pub program: String,
}

/// The programs whose own hooks tell of a prompt.
fn supported() -> impl Iterator<Item = &'static AgentProgram> {
    agents::PROGRAMS.iter().filter(|program| program.prompt_event.is_some())
}

/// Saves a receipt. Outside of a worker's session this does nothing.
pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let payload: Value = serde_json::from_slice(&ui.input()?)
        .map_err(|e| Failure::malformed("the hook's input is not JSON").because(e))?;
    let (Some(root), Some(worker)) = (env.var("WORKER_CTL_ROOT"), env.var("WORKER_CTL_WORKER")) else {
        return Ok(Exit::Done);
    };
    let event = payload["hook_event_name"].as_str().unwrap_or_default();
    let is_prompt = agents::find(&args.program).is_some_and(|program| program.prompt_event == Some(event));
    let text = payload["prompt"].as_str().filter(|_| is_prompt);
    if ui.is_dry() {
        return Ok(Exit::Done);
    }
    Receipt::new(event, text).save(Path::new(root), checked_name(&worker.to_string_lossy())?)?;
    Ok(Exit::Done)
}
