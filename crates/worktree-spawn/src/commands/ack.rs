//! `ack`: acknowledge events that were delivered with a lease.

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::{Ui, printable};

use super::shared_args::SessionArgs;
use crate::facts::repository;
use crate::spool;

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
    let mut spools = vec![args.session.spool(&place)?];
    // The events may have been delivered from another session, or forwarded since.
    if args.session.session.is_none() {
        spools.extend(spool::all(&place.shared())?);
    }
    let mut left = args.uids.clone();
    for spool in spools {
        left = if ui.is_dry() { spool.each_of(&left, |_| Ok(()))? } else { spool.acknowledge(&left)? };
    }
    let word = if ui.is_dry() { "would acknowledge" } else { "acknowledged" };
    args.uids.iter().filter(|uid| !left.contains(uid)).for_each(|uid| tell(ui, uid, word));
    if left.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure::not_found(format!("no event here has the uid {}", left.join(", "))).hint(
        "it was acknowledged already or never existed; `worktree-spawn events --all` lists the events that are left",
    ))
}

fn tell(ui: &Ui, uid: &str, word: &str) {
    ui.json_or_done(&json!({ "uid": uid, "acknowledged": !ui.is_dry() }), format!("{word} {}", printable(uid)));
}
