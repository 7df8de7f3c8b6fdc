//! `ack`: what was delivered with a lease is done with.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::{Ui, printable};

use super::events::session;
use crate::cli::Session;
use crate::facts::place::Place;
use crate::spool;

pub fn run(ui: &Ui, env: &Env, uids: &[String], asked: &Session, is_dry: bool) -> Result<Exit> {
    let place = Place::find(env)?;
    let own = session(&place, asked)?;
    if is_dry {
        let all = if asked.session.is_some() { vec![own] } else { spool::all(&place.shared())? };
        for spool in all {
            let found = spool
                .entries()?
                .iter()
                .filter_map(|entry| spool.read(entry).transpose())
                .collect::<Result<Vec<_>>>()?;
            for event in found.iter().filter(|event| uids.iter().any(|uid| uid == event.uid())) {
                ui.line(format!("would acknowledge {} of {}", printable(event.uid()), printable(&spool.session)));
            }
        }
        return Ok(Exit::Done);
    }
    let mut left = own.acknowledge(uids)?;
    // Delivered from there, or forwarded since.
    if !left.is_empty() && asked.session.is_none() {
        for spool in spool::all(&place.shared())? {
            left = spool.acknowledge(&left)?;
        }
    }
    ui.detail(format!("acknowledged {}", uids.len() - left.len()));
    if left.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure::not_found(format!("no event here has the uid {}", left.join(", ")))
        .hint("it was acknowledged before, or never was; `worktree-spawn events --all` shows what is left"))
}
