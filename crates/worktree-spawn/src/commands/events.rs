//! `events`: what nobody took yet, which stays.

use std::time::{Duration, Instant};

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use crate::cli::Session;
use crate::facts::agents;
use crate::facts::place::Place;
use crate::spool::{self, Spool};
use crate::watch::{Wake, Watch};

/// How often is looked where the system cannot tell us.
const POLL: Duration = Duration::from_millis(250);

/// The session that is meant: named, else the caller's own. Exit 1 when nobody has it.
pub fn session(place: &Place, asked: &Session) -> Result<Spool> {
    let shared = place.shared();
    let known = match &asked.session {
        None => agents::caller(place, asked.identity.id.as_deref())?,
        // Whose worktree is gone may still have events.
        Some(name) if Spool::of(&shared, name).exists() => return Ok(Spool::of(&shared, name)),
        Some(name) => agents::require(place, name)?,
    };
    Ok(Spool::of(&shared, &known.agent.id).below(&known.agent.parents))
}

pub fn run(ui: &Ui, env: &Env, asked: &Session, follow: bool, all: bool) -> Result<Exit> {
    let place = Place::find(env)?;
    if all {
        for spool in spool::all(&place.shared())? {
            print(ui, &spool)?;
        }
        return Ok(Exit::Done);
    }
    let spool = session(&place, asked)?;
    if !follow {
        print(ui, &spool)?;
        return Ok(Exit::Done);
    }
    spool.create()?;
    let mut watch = Watch::new(true);
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
        if let Wake::Signal(signal) = watch.sleep(until)? {
            return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0)));
        }
    }
}

/// Prints what nobody acknowledged.
fn print(ui: &Ui, spool: &Spool) -> Result<()> {
    for entry in spool.entries()? {
        if let Some(event) = spool.read(&entry)? {
            ui.line(event.line());
        }
    }
    Ok(())
}
