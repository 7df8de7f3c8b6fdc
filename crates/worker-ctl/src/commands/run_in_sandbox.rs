//! `run-in-sandbox`: what a pane runs for a worker in a sandbox. It waits for the program, and takes in meanwhile what that
//! commits and what its hooks tell.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;

use crate::apply::patrol::{PatrolScope, tick};
use crate::apply::sandbox;
use crate::context::Context;
use crate::layout;

#[derive(Debug, ClapArgs)]
pub struct Args {
    pub worker: String,
    /// A variable that the program gets
    #[arg(long = "var", value_name = "NAME")]
    pub vars: Vec<String>,
    /// A file of ours that it reads
    #[arg(long = "file", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let worker = ctx.worker(&args.worker)?;
    let sandbox = sandbox::require(ctx, &worker)?.with_files(args.files.clone());
    let (name, rest) = args.command.split_first().ok_or_else(|| Failure::usage("a command is missing"))?;
    let program = match name.to_str() {
        Some(name) if !name.contains('/') => proc::find(ctx.env, name),
        _ => Some(ctx.env.cwd.join(name)),
    };
    let program = program.ok_or_else(|| Failure::failed(format!("{} is not on the PATH", name.to_string_lossy())))?;
    let take = |is_last: bool| {
        ctx.warn_on_failure(&worker.name, || {
            let now = ctx.worker(&worker.name)?;
            sandbox::take_reports(ctx, &now, &sandbox);
            if (is_last || sandbox.has_moved()) && sandbox::take_commit(ctx, &now, &sandbox)? {
                tick(ctx, PatrolScope::All)?;
            }
            Ok(())
        });
    };
    let vars = sandbox::variables(ctx, &args.vars);
    let ended = sandbox.run(layout::TOOL, &program, rest, vars, &|| take(false));
    take(true);
    Ok(ended?.exit())
}
