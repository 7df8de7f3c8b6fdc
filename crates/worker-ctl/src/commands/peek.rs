//! `peek`: prints the screen of a worker's terminal.

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::printable;

use crate::commands::{self, answer::digest};
use crate::context::Context;
use crate::menu::Menu;
use crate::worker::{Activity, Worker};

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
        let text = text.join("\n");
        let menu = menu(ctx, &ctx.worker(&args.worker)?, &without_colours(&text));
        ctx.ui.json(&commands::about(&args.worker, json!({ "text": text, "menu": menu })));
    } else {
        // A worker's terminal is wider than most, so cut the lines.
        let width = ctx.ui.size().map_or(usize::MAX, |(width, _)| width);
        text.iter().for_each(|line| ctx.ui.line(printable(line).chars().take(width).collect::<String>()));
    }
    Ok(Exit::Done)
}

/// The menu on a screen, as `answer` lists it, if it is a question.
fn menu(ctx: &Context<'_>, worker: &Worker, screen: &str) -> Option<Value> {
    let menu = Menu::read(screen)?;
    let asks = worker.reported.activity == Activity::Asks || ctx.question_in(screen, worker).is_some();
    asks.then(|| json!({ "id": digest(worker, screen, &menu), "lines": menu.lines }))
}

fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text)).collect::<String>()
}
