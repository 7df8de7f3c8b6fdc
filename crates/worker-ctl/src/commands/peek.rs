//! `peek`: what a worker's terminal shows.

use clap::Args as ClapArgs;
use serde::Serialize;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::printable;

use crate::commands;
use crate::site::Site;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker
    pub worker: String,
    /// So many lines above the screen too
    #[arg(short, long = "lines", value_name = "N", default_value_t = 0)]
    pub n: usize,
}

/// The answer with `--json`.
#[derive(Serialize)]
struct Answer<'a> {
    worker: &'a str,
    text: String,
}

pub fn run(site: &Site<'_>, args: &Args) -> Result<Exit> {
    let pane = commands::pane(site, &args.worker)?;
    let text = site.tmux()?.text(&pane, args.n)?;
    if site.ui.is_json() {
        site.ui.json(&Answer { worker: &args.worker, text: text.join("\n") });
    } else {
        // A worker's terminal is wider than most.
        let width = site.ui.width().unwrap_or(usize::MAX);
        text.iter().for_each(|line| site.ui.line(printable(line).chars().take(width).collect::<String>()));
    }
    Ok(Exit::Done)
}
