//! `login`: a person logs in for the agent in a sandbox, which has a home of its own.

use std::ffi::OsString;

use clap::Args as ClapArgs;
use serde_json::json;
use shopfloor_core::agents;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;

use crate::apply::sandbox;
use crate::commands::about;
use crate::context::Context;
use crate::failure;
use crate::layout;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker
    pub worker: String,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let worker = ctx.worker(&args.worker)?;
    let name = &worker.name;
    if !sandbox::is_wanted(ctx, &worker) {
        return Err(failure::WRONG_STATE
            .failure(format!("{name} runs in no sandbox, and has the login of your own home"))
            .hint("log in as usual"));
    }
    let agent = ctx.root.agent_name(&worker);
    let words = agents::find(&agent).map(|program| program.login).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| {
        Failure::usage(format!("{agent} has no command for that")).hint(format!(
            "log in where it asks, `worker-ctl attach {name}`, or pass a key: `env` of {}",
            ctx.root.config.sandbox.table
        ))
    })?;
    let command = ctx.root.agent_of(&worker)?.command;
    let program = command.first().map(String::as_str).unwrap_or_default();
    let found = proc::require(ctx.env, program, "install it")?;
    if ctx.is_dry {
        return Ok(ctx.ui.would(&about(name, json!({})), &[format!("run `{program} {words}` in its sandbox")]));
    }
    let sandbox = sandbox::require(ctx, &worker)?;
    let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
    let ended = sandbox.run(layout::TOOL, &found, &words, Vec::new(), &|| ())?;
    Ok(ended.exit())
}
