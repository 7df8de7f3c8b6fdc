//! `events`: prints the events of workers.

use std::fs::File;
use std::io::Read;
use std::thread;
use std::time::Duration;

use clap::Args as ClapArgs;
use serde_json::Value;
use shopfloor_core::error::{At, Exit, Result};
use shopfloor_core::fs;
use shopfloor_core::proc;
use shopfloor_core::since::Since;
use shopfloor_core::ui::printable;

use crate::context::Context;
use crate::layout;
use crate::log;

/// How often to check for new events.
const POLL: Duration = Duration::from_millis(200);

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Print new events until interrupted
    #[arg(long)]
    pub follow: bool,
    /// Start at a time or a duration ago (`30m`), after the event with this `seq`, or with `all`
    #[arg(long, value_name = "TIME|SEQ|all")]
    pub since: Option<String>,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let since = args.since.as_deref().map(|text| Since::parse(text, ctx.env.now)).transpose()?;
    let path = layout::events(&ctx.root.path);
    // `--follow` alone skips the events that are there already, so that a restarted script gets only new ones.
    let mut skips = args.follow && since.is_none();
    let since = since.unwrap_or(Since::All);
    let mut rest = fs::read_own(&log::older(&path))?.unwrap_or_default();
    let mut file: Option<File> = None;
    loop {
        match &mut file {
            None => file = fs::open_plain(&path),
            // The log was rotated: read the rest of the old file, then go on with the new one.
            Some(open) if !fs::is_open_at(open, &path) => {
                open.read_to_end(&mut rest).at("read", &path)?;
                file = fs::open_plain(&path);
            }
            Some(_) => {}
        }
        if let Some(open) = &mut file {
            open.read_to_end(&mut rest).at("read", &path)?;
        }
        if std::mem::take(&mut skips) {
            let complete = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            rest.drain(..complete);
        }
        print(ctx, &since, &mut rest);
        if !args.follow || !ctx.ui.is_taken(Duration::ZERO) {
            return Ok(Exit::Done);
        }
        proc::check_interrupt()?;
        thread::sleep(POLL);
    }
}

/// Prints the records of complete lines that `since` takes. A line that is still being written stays in `rest`.
fn print(ctx: &Context<'_>, since: &Since, rest: &mut Vec<u8>) {
    let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else { return };
    let lines: Vec<u8> = rest.drain(..=end).collect();
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let Some(mut record) = serde_json::from_slice::<Value>(line).ok().filter(Value::is_object) else { continue };
        let seq = record["seq"].as_u64().unwrap_or_default();
        if !since.takes(seq, record["time"].as_str().unwrap_or_default()) {
            continue;
        }
        if ctx.ui.is_json() {
            record["name"] = record["worker"].clone();
            record["id"] = record["worker"].clone();
            ctx.ui.json(&record);
        } else {
            ctx.ui.line(printable(&log::line(&record)));
        }
    }
}
