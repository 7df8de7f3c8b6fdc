//! `hook`: called by an agent's own hooks, records what they tell.

use std::path::Path;

use clap::Args as ClapArgs;
use clap::builder::PossibleValuesParser;
use shopfloor_core::agents::{self, AgentProgram};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use crate::apply::transition;
use crate::context::{Context, Flags};
use crate::hook_report::Payload;
use crate::plan::machine::Input;
use crate::worker::checked_name;

/// How many bytes a payload may have. A hook about a tool gets the tool's whole input and output.
const LONGEST: u64 = 64 << 20;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The agent whose hook calls this
    #[arg(value_name = "AGENT", value_parser = PossibleValuesParser::new(supported().map(|program| program.name)))]
    pub program: String,
    /// What the hook tells, as JSON [default: stdin]
    pub payload: Option<String>,
}

/// The programs that have hooks.
fn supported() -> impl Iterator<Item = &'static AgentProgram> {
    agents::PROGRAMS.iter().filter(|program| program.hooks.is_some())
}

/// Records what the hook tells. Outside of a worker's session this does nothing.
pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let bytes = match &args.payload {
        Some(payload) => payload.clone().into_bytes(),
        None => ui.input_up_to(LONGEST)?,
    };
    let payload = Payload::parse(&bytes)?;
    let hooks = agents::find(&args.program).and_then(|program| program.hooks.as_ref());
    let (Some(root), Some(worker), Some(hooks)) = (env.var("WORKER_CTL_ROOT"), env.var("WORKER_CTL_WORKER"), hooks)
    else {
        return Ok(Exit::Done);
    };
    let worker = worker.to_string_lossy();
    let (root, name) = (Path::new(root), checked_name(&worker)?);
    if ui.is_dry() {
        return Ok(Exit::Done);
    }
    // The root is proven first: its configuration may run a command.
    let ctx = Context::find(ui, env, Some(root), Flags::default())?;
    let Some(report) = payload.report(hooks) else { return Ok(Exit::Done) };
    transition::record(&ctx, name, &Input::Reported(report))?;
    Ok(Exit::Done)
}
