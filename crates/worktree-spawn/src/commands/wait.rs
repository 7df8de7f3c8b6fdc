//! `wait`: print events of a session as they arrive, and acknowledge them once they are taken.

use std::time::{Duration, Instant};

use jiff::SignedDuration;
use shopfloor_core::args::flag_duration;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::Ui;

use super::shared_args::SessionArgs;
use crate::apply::recover;
use crate::apply::wait::{EventFilter, EventWait, WaitOutcome, is_from};
use crate::facts::{agents, repository};
use crate::failure;
use crate::repository_view::Place;
use crate::spool::{Spool, SpoolEntry};
use crate::watch::Signals;

/// Wait for events of the caller's session and print them as they arrive
///
/// An event is deleted once it is printed and taken or, with --lease, once it is acknowledged.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(
    after_help = "Example:\n  worktree-spawn wait --type worker_complete --type worker_died --count 3 |\n    jq -r 'select(.status==\"failure\").from.id'"
)]
pub struct Args {
    #[command(flatten)]
    pub session: SessionArgs,
    #[command(flatten)]
    pub filter: EventFilter,
    /// Exit after this number of events
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub count: u64,
    /// Exit with 124 after this time: 90s, 30m, 2h
    #[arg(long, value_name = "TIME", default_value = "300s")]
    pub timeout: String,
    /// Deliver an event again if `ack` does not acknowledge it within this time
    #[arg(long, value_name = "TIME")]
    pub lease: Option<String>,
}

/// How long a reader may take to empty its pipe. After that time an event counts as taken if the reader still exists.
const READER: Duration = Duration::from_secs(1);

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let timeout = flag_duration("--timeout", &args.timeout)?;
    let lease = args.lease.as_deref().map(|text| flag_duration("--lease", text)).transpose()?;
    if args.filter.kinds.iter().any(|kind| kind.trim().is_empty()) {
        return Err(Failure::usage("the type is empty").hint("leave `--type` out, or name one"));
    }
    let place = repository::find(env)?;
    if !ui.is_dry() {
        recover::finish_removals(env, &place)?.iter().for_each(|note| ui.note(note));
    }
    let spool = args.session.spool(&place)?;
    require_senders(&place, &spool, &args.filter.from)?;
    if ui.is_dry() {
        return preview(ui, &spool, &args.filter, args.count);
    }
    let mut wait = EventWait::new(&place, spool, args.filter.clone(), Signals::Watched)?;
    let end = Instant::now().checked_add(timeout);
    for _ in 0..args.count {
        let next = wait.next(end)?;
        wait.warnings.drain(..).for_each(|warning| ui.warn(warning));
        let claim = match next {
            WaitOutcome::Event(claim) => *claim,
            WaitOutcome::Timeout => {
                ui.note(format!("no more events arrived within {}", args.timeout));
                return Ok(Exit::Timeout);
            }
            WaitOutcome::Signal(signal) => return Ok(Exit::Signal(signal)),
        };
        if let Some(signal) = wait.watch.write(|| ui.json(&claim.event.answer())) {
            claim.give_back()?;
            return Ok(Exit::Signal(signal));
        }
        // The event may have gone into a pipe that nobody reads.
        if !ui.is_taken(READER) {
            claim.give_back()?;
            return Ok(Exit::Done);
        }
        match lease {
            Some(lease) => {
                claim.lend(env.later().now + SignedDuration::try_from(lease).unwrap_or(SignedDuration::MAX))?
            }
            None => claim.acknowledge()?,
        }
    }
    Ok(Exit::Done)
}

/// Prints the events that a wait would take now, and leaves them.
fn preview(ui: &Ui, spool: &Spool, filter: &EventFilter, count: u64) -> Result<Exit> {
    let mut left = count;
    for entry in spool.entries()?.iter().filter(|entry| entry.id > filter.after) {
        if let Some(event) = spool.read(entry)?.filter(|event| left > 0 && filter.matches(event)) {
            left -= 1;
            ui.json(&event.answer());
        }
    }
    Ok(Exit::Done)
}

/// Refuses a sender that no agent is, or was, called (exit 1).
fn require_senders(place: &Place, spool: &Spool, names: &[String]) -> Result<()> {
    for name in names {
        let has_sent = |entry: &SpoolEntry| Ok(spool.read(entry)?.is_some_and(|event| is_from(&event, name)));
        let waits: Vec<bool> = spool.entries()?.iter().map(has_sent).collect::<Result<_>>()?;
        // An agent that was removed may have left a session that forwards.
        if waits.contains(&true) || Spool::new(&place.shared(), name).exists() {
            continue;
        }
        match agents::require(place, name) {
            Err(failure) if failure::NOT_FOUND.is_kind_of(&failure) => return Err(failure),
            _ => {}
        }
    }
    Ok(())
}
