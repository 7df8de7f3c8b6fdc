//! `reject`: sends the reviewed work back to its worker.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Failure, Result};

use crate::commands::{self, look};
use crate::context::Context;
use crate::failure;
use crate::plan::machine::Input;
use crate::plan::prompt;
use crate::plan::start::permit;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker [default: the one that was reviewed last], and the changes that you want; `-` reads them from stdin
    #[arg(allow_hyphen_values = true, num_args = 1..=2, required = true, value_names = ["WORKER", "MESSAGE"])]
    pub words: Vec<String>,
    /// Send even if a text may be in the worker's input line, somebody types in its
    /// terminal, or its program asks a question
    #[arg(long)]
    pub force: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let (named, message) = match &args.words[..] {
        [name, message] => (Some(name), message),
        [message] => (None, message),
        _ => return Err(Failure::usage("the message is missing").hint("say what is to change")),
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
    let input = Input::Reject { base: sha.clone(), patch, force: args.force };
    if let Err(refused) = permit(&worker, &input) {
        return commands::print_delivery(ctx, &name, Err(refused));
    }
    let text = || Ok(prompt::rejection(&message, &commands::diff(ctx, &sha)?));
    commands::give(ctx, &worker, &input, format!("send {name} back to work"), text)
}
