//! `ack`: acknowledge events that were delivered with a lease.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::{Ui, printable};

use super::shared_args::{DryRunArgs, SessionArgs};
use crate::facts::repository;
use crate::place::Place;
use crate::spool::{self, Spool};

/// Acknowledge events that were delivered with a lease; exits with 1 if one is not found
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  worktree-spawn wait --lease 5m | jq -r .uid | xargs -d '\\n' worktree-spawn ack")]
pub struct Args {
    /// The `uid` of the event
    #[arg(required = true, value_name = "UID")]
    pub uids: Vec<String>,
    #[command(flatten)]
    pub dry_run: DryRunArgs,
    #[command(flatten)]
    pub session: SessionArgs,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    let own = args.session.spool(&place)?;
    if args.dry_run.dry_run {
        return preview(ui, &place, own, args);
    }
    let uids = &args.uids;
    let mut left = own.acknowledge(uids)?;
    // The events may have been delivered from another session, or forwarded since.
    if !left.is_empty() && args.session.session.is_none() {
        for spool in spool::all(&place.shared())? {
            left = spool.acknowledge(&left)?;
        }
    }
    ui.detail(format!("acknowledged {}", uids.len() - left.len()));
    if left.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure::not_found(format!("no event here has the uid {}", left.join(", "))).hint(
        "it was acknowledged already or never existed; `worktree-spawn events --all` lists the events that are left",
    ))
}

fn preview(ui: &Ui, place: &Place, own: Spool, args: &Args) -> Result<Exit> {
    let all = if args.session.session.is_some() { vec![own] } else { spool::all(&place.shared())? };
    for spool in all {
        let found =
            spool.entries()?.iter().filter_map(|entry| spool.read(entry).transpose()).collect::<Result<Vec<_>>>()?;
        for event in found.iter().filter(|event| args.uids.iter().any(|uid| uid == event.uid())) {
            ui.line(format!("would acknowledge {} of {}", printable(event.uid()), printable(&spool.session)));
        }
    }
    Ok(Exit::Done)
}
