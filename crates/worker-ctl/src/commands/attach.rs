//! `attach`: attaches a person's terminal to a worker's session.

use clap::Args as ClapArgs;
use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc::{self, Cmd};
use shopfloor_core::ui::printable;

use crate::apply::launch_spec;
use crate::commands;
use crate::context::Context;
use crate::worker::Worker;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker
    pub worker: String,
}

/// Attaches, also from inside another tmux. `before_attach` and `after_attach` run in the worktree.
pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let name = args.worker.as_str();
    let pane = commands::pane(ctx, name)?;
    let worker = ctx.worker(name)?;
    if ctx.is_dry {
        let would = format!("attach this terminal to the session of {name}");
        return Ok(ctx.ui.would(&commands::about(name, json!({})), &[would]));
    }
    if !ctx.tmux()?.is_inside() && !ctx.env.stdin_is_terminal {
        return Err(Failure::usage("attach needs a terminal")
            .hint(format!("run it on one, or print the screen: `worker-ctl peek {name}`")));
    }
    run_hook(ctx, &worker, "before_attach")?;
    let status = ctx.tmux()?.attach(&pane.id)?;
    run_hook(ctx, &worker, "after_attach")?;
    match status.success() {
        true => Ok(Exit::Done),
        false => Err(Failure::failed(format!("tmux attach-session failed with {status}"))
            .hint(format!("attach from a terminal, or print the screen with `worker-ctl peek {name}`"))),
    }
}

fn run_hook(ctx: &Context<'_>, worker: &Worker, setting: &str) -> Result<()> {
    let Some(line) = ctx.root.config.command(setting) else { return Ok(()) };
    let sh = proc::find(ctx.env, "sh").ok_or_else(|| Failure::failed("sh is not on the PATH"))?;
    let mut cmd = Cmd::new(&sh, ctx.env).dir(worker.tree()).arg("-c").arg(line.shell());
    for (key, value) in launch_spec::of_worker(ctx, worker) {
        // With this variable the command would count as the worker's process, and would be ended with the worker.
        cmd = cmd.var(if key == "WORKER_CTL_WORKER" { "WORKER_CTL_NAME" } else { key }, value);
    }
    let cmd = cmd.without_vars(&["WORKER_CTL_WORKER"]);
    let status = cmd.foreground()?;
    if !status.success() {
        ctx.ui.warn(format!("`{}` ended with {status}", printable(&line.shell())));
    }
    Ok(())
}
