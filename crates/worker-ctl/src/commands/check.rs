//! `check`: checks a worker's work with the command of `config.toml`.

use clap::Args as ClapArgs;
use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};

use crate::apply::check;
use crate::commands::{self, about, joined, look};
use crate::context::Context;
use crate::layout;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker
    pub worker: String,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let name = &args.worker;
    let Some(command) = check::command(&ctx.root) else {
        return Err(
            Failure::usage("no check is configured").hint("set one in config.toml: `check = \"just check\"` in [repo]")
        );
    };
    commands::recover(ctx)?;
    look(ctx)?;
    let worker = ctx.worker(name)?;
    if ctx.is_dry {
        check::find_work(ctx, &worker)?;
        return Ok(ctx
            .ui
            .would(&about(name, json!({})), &[format!("run `{}` on the work of {name}", command.shell())]));
    }
    let checked = check::run(ctx, &worker, true)?;
    let log = layout::check_log(&ctx.root.path, name);
    if ctx.ui.is_json() {
        let record = serde_json::to_value(&checked).unwrap_or_default();
        let answer = about(name, joined(record, json!({ "log": log.to_string_lossy() })));
        let error = (!checked.ok).then(|| ctx.ui.error_key(&check::refuse_red(ctx, name)));
        ctx.ui.json(&joined(answer, error.unwrap_or(json!({}))));
        return Ok(if checked.ok { Exit::Done } else { Exit::No });
    }
    if !checked.ok {
        return Err(check::refuse_red(ctx, name));
    }
    ctx.ui.done(format!("{name}: green after {} s", checked.secs));
    Ok(Exit::Done)
}
