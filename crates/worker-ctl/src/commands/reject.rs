//! `reject`: sends the reviewed work back to its worker.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};

use crate::commands::{self, look};
use crate::context::Context;
use crate::failure;
use crate::plan::machine::Input;
use crate::plan::prompt;
use crate::plan::start::permit;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The changes that you want, of the work that was reviewed last; `-` reads them from stdin. With a second argument, the
    /// worker
    #[arg(allow_hyphen_values = true, value_name = "MESSAGE")]
    pub first: String,
    /// The changes, if the first argument is the worker; after `--` they may begin with a dash
    #[arg(value_name = "MESSAGE")]
    pub second: Option<String>,
    /// Send even if a text may be in the worker's input line, somebody types in its
    /// terminal, or its program asks a question
    #[arg(long)]
    pub force: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let (named, message) = match &args.second {
        Some(message) => (Some(&args.first), message),
        None => (None, &args.first),
    };
    let message = commands::read_text(ctx, message)?;
    commands::recover(ctx)?;
    look(ctx)?;
    let state = ctx.state()?;
    let name = match named {
        Some(name) => state.require(name)?.name.clone(),
        None => state.last_reviewed.ok_or_else(|| {
            failure::WRONG_STATE.failure("nothing was reviewed").hint("review work first: `worker-ctl review NAME`")
        })?,
    };
    let (worker, _lock) = commands::locked(ctx, &name)?;
    let ctx = &ctx.of(&worker)?;
    let sha = worker.work.commit_sha.clone().unwrap_or_default();
    let patch = if sha.is_empty() { String::new() } else { ctx.repo.work_digest(&sha)? };
    let input = Input::Reject { base: sha.clone(), patch, text: prompt::changes(&message), force: args.force };
    if let Err(refused) = permit(&worker, &input, ctx.now()) {
        return commands::print_delivery(ctx, &name, Err(refused));
    }
    let text = || Ok(prompt::rejection(&message, &commands::diff(ctx, &sha)?));
    commands::give(ctx, &worker, &input, format!("send {name} back to work"), text)
}
