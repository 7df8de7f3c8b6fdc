//! Who writes an event, and with which time.

use jiff::SignedDuration;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::ui::Ui;

use super::Ledger;
use super::gather::load_events;
use crate::draft;
use crate::event_time::{AHEAD, EventTime};
use crate::stored_event::EventRecord;
use crate::tool::AGENT_VARIABLE;

/// The smallest step between two times.
pub const STEP: SignedDuration = SignedDuration::from_millis(1);

/// The name of the agent that speaks: as named, else from the environment, else that of the session whose draft gets it at
/// its end, else the worktree's name.
pub fn speaker_name(env: &Env, ledger: &Ledger, named: Option<&str>) -> Result<String> {
    let by_session = || draft::session(env).map(|session| draft::short_name(&session));
    let session = if named.is_none() && env.var(AGENT_VARIABLE).is_none() { by_session() } else { None };
    agent_name(env, ledger, named.or(session.as_deref()))
}

/// The name of the agent that writes: as named, else from the environment, else the worktree's name.
pub fn agent_name(env: &Env, ledger: &Ledger, named: Option<&str>) -> Result<String> {
    let by_env = || env.var(AGENT_VARIABLE).map(|agent| agent.to_string_lossy().into_owned());
    let by_worktree = || {
        let top = ledger.repo.worktree.as_deref().unwrap_or(&ledger.dir);
        top.file_name().map(|name| name.to_string_lossy().into_owned())
    };
    let agent = named.map(str::to_owned).or_else(by_env).or_else(by_worktree).unwrap_or_default();
    if agent.trim().is_empty() {
        return Err(Failure::usage("the agent has no name").hint("name it with `--agent NAME`"));
    }
    Ok(agent)
}

/// A time that is newer than everything the writer can have read, so that a lagging clock loses nothing.
pub fn next_time(ui: &Ui, env: &Env, ledger: &Ledger) -> Result<EventTime> {
    let limit = EventTime::from(env.now).checked_add(AHEAD).unwrap_or(EventTime::MAX);
    // Milliseconds are enough, and keep file names short.
    let now = EventTime::from(jiff::Timestamp::from_millisecond(env.now.as_millisecond()).unwrap_or(env.now));
    // An agent can always write, even if the events of others cannot be read.
    let newest = times(ledger).map(|times| times.into_iter().filter(|ts| *ts <= limit).max());
    let newest = newest.unwrap_or_else(|failure| {
        ui.warn(format!("the event gets the clock's time, because other events cannot be read: {failure}"));
        None
    });
    let Some(newest) = newest else { return Ok(now) };
    Ok(newest.checked_add(STEP).map_or(now, |next| next.max(now)))
}

/// A time before every event, so that what was written then beats none of them.
pub fn time_before_all(env: &Env, ledger: &Ledger) -> Result<EventTime> {
    let oldest = times(ledger)?.into_iter().min();
    Ok(oldest.and_then(|ts| ts.checked_sub(STEP)).unwrap_or(env.now.into()))
}

/// The times of all events, folded ones included.
fn times(ledger: &Ledger) -> Result<Vec<EventTime>> {
    let events = load_events(ledger)?;
    Ok(events.records().chain(events.folded()?).map(EventRecord::ts).collect())
}
