//! `peek`: prints the screen of a worker's terminal.

use clap::Args as ClapArgs;
use serde_json::json;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::printable;

use crate::commands;
use crate::context::Context;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker
    pub worker: String,
    /// Print N lines above the screen too
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub lines: usize,
    /// With --json, keep the colours of the screen, as escape sequences
    #[arg(long)]
    pub ansi: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let pane = commands::pane(ctx, &args.worker)?;
    let text = ctx.tmux()?.text(&pane, args.lines, args.ansi && ctx.ui.is_json())?;
    if ctx.ui.is_json() {
        ctx.ui.json(&commands::about(&args.worker, json!({ "text": text.join("\n") })));
    } else {
        // A worker's terminal is wider than most, so cut the lines.
        let width = ctx.ui.width().unwrap_or(usize::MAX);
        text.iter().for_each(|line| ctx.ui.line(printable(line).chars().take(width).collect::<String>()));
    }
    Ok(Exit::Done)
}
