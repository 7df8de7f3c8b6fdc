//! `events`: print the events that wait, and leave them where they are.

use std::time::Instant;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::since::Since;
use shopfloor_core::ui::Ui;

use super::shared_args::SessionArgs;
use crate::facts::repository;
use crate::spool::{self, Spool};
use crate::watch::{POLL, Signals, Watch};

/// Print the events that wait, and leave them where they are
///
/// Exits with 1 if there is no such session.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  worktree-spawn events --all | jq -r '[.to, .type, .message] | @tsv'")]
pub struct Args {
    #[command(flatten)]
    pub session: SessionArgs,
    /// Print new events as they arrive, until interrupted
    #[arg(long)]
    pub follow: bool,
    /// Start at a time, `30m` ago, after the event with this `seq`, or print `all`
    #[arg(long, value_name = "TIME|SEQ|all")]
    pub since: Option<String>,
    /// Print the events of every session
    #[arg(long, conflicts_with_all = ["session", "follow"])]
    pub all: bool,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let since = args.since.as_deref().map(|text| Since::parse(text, env.now)).transpose()?;
    let place = repository::find(env)?;
    if args.follow {
        return follow(ui, &args.session.spool(&place)?, since);
    }
    let spools = if args.all { spool::all(&place.shared())? } else { vec![args.session.spool(&place)?] };
    for spool in spools {
        print(ui, &spool, since.unwrap_or(Since::All))?;
    }
    Ok(Exit::Done)
}

/// Prints events as they arrive. Without `--since` it begins now, so that a script that is started again does not act on
/// old events.
fn follow(ui: &Ui, spool: &Spool, since: Option<Since>) -> Result<Exit> {
    if !ui.is_dry() {
        spool.create()?;
    }
    let mut watch = Watch::new(Signals::Watched);
    spool.watched().iter().for_each(|dir| watch.dir(dir));
    let mut after = match since {
        None => spool.entries()?.last().map_or(0, |entry| entry.id),
        Some(since) => print(ui, spool, since)?,
    };
    loop {
        let seen = after;
        for entry in spool.entries()?.into_iter().filter(|entry| entry.id > seen) {
            if let Some(event) = spool.read_moved(&entry)?
                && let Some(signal) = watch.write(|| ui.json(&event.answer()))
            {
                return Ok(Exit::Signal(signal));
            }
            after = entry.id;
        }
        if ui.is_unheard() {
            return Ok(Exit::Done);
        }
        let until = watch.is_blind.then(|| Instant::now() + POLL);
        if let Some(signal) = watch.sleep(until)? {
            return Ok(Exit::Signal(signal));
        }
    }
}

/// Prints the events that are not acknowledged. Returns the highest number.
fn print(ui: &Ui, spool: &Spool, since: Since) -> Result<u64> {
    let mut last = 0;
    for entry in spool.entries()? {
        last = entry.id;
        if let Some(event) = spool.read_moved(&entry)?
            && since.takes(event.id(), event.time())
        {
            ui.json(&event.answer());
        }
    }
    Ok(last)
}
