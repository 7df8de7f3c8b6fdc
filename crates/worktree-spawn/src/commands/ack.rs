//! `ack`: acknowledge events that were delivered with a lease.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::{Ui, printable};

use super::shared_args::SessionArgs;
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
    pub session: SessionArgs,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    let own = args.session.spool(&place)?;
    if ui.is_dry() {
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
    for uid in uids.iter().filter(|uid| !left.contains(uid)) {
        tell(ui, uid, "acknowledged");
    }
    require_none(&left)
}

#[derive(Serialize)]
struct AckAnswer<'a> {
    uid: &'a str,
    acknowledged: bool,
}

fn tell(ui: &Ui, uid: &str, word: &str) {
    match ui.is_json() {
        true => ui.json(&AckAnswer { uid, acknowledged: !ui.is_dry() }),
        false => ui.done(format!("{word} {}", printable(uid))),
    }
}

fn preview(ui: &Ui, place: &Place, own: Spool, args: &Args) -> Result<Exit> {
    let all = if args.session.session.is_some() { vec![own] } else { spool::all(&place.shared())? };
    let mut left = args.uids.clone();
    for spool in all {
        let found =
            spool.entries()?.iter().filter_map(|entry| spool.read(entry).transpose()).collect::<Result<Vec<_>>>()?;
        for event in &found {
            if let Some(at) = left.iter().position(|uid| *uid == event.uid()) {
                tell(ui, &left.remove(at), "would acknowledge");
            }
        }
    }
    require_none(&left)
}

/// Exit 1 for uids that no event has.
fn require_none(left: &[String]) -> Result<Exit> {
    if left.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure::not_found(format!("no event here has the uid {}", left.join(", "))).hint(
        "it was acknowledged already or never existed; `worktree-spawn events --all` lists the events that are left",
    ))
}
