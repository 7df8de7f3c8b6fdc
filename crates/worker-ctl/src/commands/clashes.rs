//! `clashes`: which workers' work would conflict.

use clap::Args as ClapArgs;
use serde_json::json;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::printable;

use crate::commands::{self, look};
use crate::context::Context;
use crate::facts::clashes::{Clash, find};
use crate::worker::{Task, Worker};

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Only those of this worker
    pub worker: Option<String>,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    commands::recover(ctx)?;
    look(ctx)?;
    commands::renew_base(ctx);
    let state = ctx.state()?;
    args.worker.as_ref().map_or(Ok(()), |name| state.require(name).map(drop))?;
    let all = find(ctx, &|failure| ctx.ui.warn(failure))?;
    let is_shown = |clash: &&Clash| args.worker.as_ref().is_none_or(|name| clash.other(name).is_some());
    let shown: Vec<&Clash> = all.iter().filter(is_shown).collect();
    if ctx.ui.is_json() {
        ctx.ui.json_lines(shown.iter().map(|Clash { a, b, paths }| json!({ "a": a, "b": b, "paths": paths })));
        return Ok(Exit::Done);
    }
    shown.iter().for_each(|Clash { a, b, paths }| ctx.ui.line(printable(&format!("{a}  {b}  {}", paths.join(", ")))));
    // Who lands first leaves the others to resolve.
    let clashes = |worker: &&Worker| all.iter().filter(|clash| clash.other(&worker.name).is_some()).count();
    let ready = state.workers.values().filter(|worker| worker.task == Task::NeedsReview);
    let first = ready.min_by_key(|worker| (clashes(worker), worker.place_in_line().0, worker.name.clone()));
    match first {
        Some(first) if !shown.is_empty() => {
            ctx.ui.note(format!("land {} first: it clashes with the fewest ({})", first.name, clashes(&first)));
        }
        _ if shown.is_empty() => ctx.ui.note("no work clashes"),
        _ => {}
    }
    Ok(Exit::Done)
}
