//! The events that an MCP client got, each under a lease: one that it may have missed is delivered once more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use shopfloor_core::error::Result;

use crate::apply::wait::EventFilter;
use crate::event::SpoolEvent;
use crate::spool::{Claim, Spool};

/// A client that gets its answer within this time has not given up on it.
const PROMPT: Duration = Duration::from_secs(1);

/// The lease on a delivered event.
const LEASE: Duration = Duration::from_secs(300);

/// How long after its lease an event is remembered, in case it is acknowledged late.
const MEMORY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone, Default)]
pub struct DeliveredEvents(Arc<Mutex<Vec<DeliveredEvent>>>);

struct DeliveredEvent {
    event: SpoolEvent,
    spool: Spool,
    until: Instant,
    /// Whether it counts as taken with the next call.
    is_settled: bool,
}

impl DeliveredEvents {
    fn all(&self) -> MutexGuard<'_, Vec<DeliveredEvent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leases an event that is about to be answered to a request that took this long.
    pub fn add(&self, claim: Claim, now: Timestamp, took: Duration) -> Result<()> {
        let (event, spool) = (claim.event.clone(), claim.spool.clone());
        claim.lend(now + SignedDuration::try_from(LEASE).unwrap_or_default())?;
        let is_settled = took < PROMPT;
        self.all().push(DeliveredEvent { event, spool, until: Instant::now() + LEASE, is_settled });
        Ok(())
    }

    /// The client calls again, so it has taken the settled events and the one whose number it names.
    pub fn next_call(&self, after: Option<u64>) {
        let mut all = self.all();
        for taken in all.extract_if(.., |one| one.is_settled || after == Some(one.event.id())) {
            // An event that cannot be acknowledged is delivered again.
            let _ = taken.spool.acknowledge(&[taken.event.uid().to_owned()]);
        }
        all.retain(|one| one.until + MEMORY > Instant::now());
    }

    /// The first event that the client may have missed. It is delivered once more only.
    pub fn redeliver(&self, filter: &EventFilter) -> Option<SpoolEvent> {
        let mut all = self.all();
        let missed =
            all.iter_mut().find(|one| !one.is_settled && one.until > Instant::now() && filter.matches(&one.event))?;
        missed.is_settled = true;
        Some(missed.event.clone())
    }
}
