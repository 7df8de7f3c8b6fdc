//! `message`: sends a message to a worker.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};

use crate::commands;
use crate::context::Context;
use crate::plan::machine::Input;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker
    pub worker: String,
    /// The message; `-` reads it from stdin
    #[arg(allow_hyphen_values = true)]
    pub message: String,
    /// Send even if the worker has no task, a text may be in its input line, somebody types in its
    /// terminal, or its program asks a question
    #[arg(long)]
    pub force: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let name = &args.worker;
    let text = commands::read_text(ctx, &args.message)?;
    commands::recover(ctx)?;
    commands::catch_up(ctx);
    let (worker, _lock) = commands::locked(ctx, name)?;
    let input = Input::Message { force: args.force };
    if let Err(refused) = commands::permit(ctx, &worker, &input) {
        return commands::print_delivery(ctx, name, Err(refused));
    }
    commands::give(ctx, &worker, &input, format!("type {} bytes to {name}", text.len()), || Ok(text))
}
