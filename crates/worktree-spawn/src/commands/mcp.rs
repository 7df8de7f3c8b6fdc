//! `mcp`: an agent's tools over stdin and stdout.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use crate::facts::agents;
use crate::facts::place::Place;
use crate::mcp;

pub fn run(ui: &Ui, env: &Env, named: Option<&str>) -> Result<Exit> {
    let place = Place::of_speaker(env)?;
    let caller = agents::speaker(&place, named)?;
    mcp::serve(ui, env, &place, &caller)
}
