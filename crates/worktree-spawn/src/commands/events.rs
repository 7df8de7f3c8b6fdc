//! `events`: print the events that wait, and leave them where they are.

use std::time::Instant;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use super::shared_args::SessionArgs;
use crate::facts::repository;
use crate::spool::{self, Spool};
use crate::watch::{POLL, Signals, WakeCause, Watch};

/// Print the events that wait, and leave them where they are
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  worktree-spawn events --all | jq -r '[.to, .type, .message] | @tsv'")]
pub struct Args {
    #[command(flatten)]
    pub session: SessionArgs,
    /// Keep printing events as they arrive, until interrupted
    #[arg(long)]
    pub follow: bool,
    /// Print the events of every session
    #[arg(long, conflicts_with_all = ["session", "follow"])]
    pub all: bool,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    if args.all {
        for spool in spool::all(&place.shared())? {
            print(ui, &spool)?;
        }
        return Ok(Exit::Done);
    }
    let spool = args.session.spool(&place)?;
    if args.follow {
        return follow(ui, &spool);
    }
    print(ui, &spool)?;
    Ok(Exit::Done)
}

/// Prints events as they arrive.
fn follow(ui: &Ui, spool: &Spool) -> Result<Exit> {
    spool.create()?;
    let mut watch = Watch::new(Signals::Watched);
    spool.watched().iter().for_each(|dir| watch.dir(dir));
    let mut after = 0;
    loop {
        let seen = after;
        for entry in spool.entries()?.into_iter().filter(|entry| entry.id > seen) {
            if let Some(event) = spool.read(&entry)?
                && let Some(signal) = watch.write(|| ui.line(event.line()))
            {
                return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0)));
            }
            after = entry.id;
        }
        if ui.is_unheard() {
            return Ok(Exit::Done);
        }
        let until = if watch.is_blind() { Some(Instant::now() + POLL) } else { None };
        if let WakeCause::Signal(signal) = watch.sleep(until)? {
            return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0)));
        }
    }
}

/// Prints the events that are not acknowledged.
fn print(ui: &Ui, spool: &Spool) -> Result<()> {
    for entry in spool.entries()? {
        if let Some(event) = spool.read(&entry)? {
            ui.line(event.line());
        }
    }
    Ok(())
}
