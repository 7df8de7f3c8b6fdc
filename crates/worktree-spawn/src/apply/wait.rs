//! Waiting for events of a session, for `wait` and the MCP tool `wait_for_event`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;

use super::runs;
use crate::agent_run;
use crate::event::{SpoolEvent, short_name};
use crate::layout;
use crate::repository_view::Place;
use crate::spool::{Claim, Spool};
use crate::watch::{POLL, Signals, Watch};

// Which events are waited for.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct EventFilter {
    /// Wait only for events of this type; may be repeated
    #[arg(long = "type", value_name = "TYPE")]
    pub kinds: Vec<String>,
    /// Wait only for events from this agent; may be repeated
    #[arg(long, value_name = "ID")]
    pub from: Vec<String>,
    /// Wait only for events with a higher number
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub after: u64,
}

impl EventFilter {
    /// Whether an event has one of the types and senders.
    pub fn matches(&self, event: &SpoolEvent) -> bool {
        (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == event.kind()))
            && (self.from.is_empty() || self.from.iter().any(|name| is_from(event, name)))
    }
}

/// Whether an event is from the agent with this id or slug.
pub fn is_from(event: &SpoolEvent, name: &str) -> bool {
    let id = event.from();
    id == name || short_name(id) == name
}

/// The result of waiting.
pub enum WaitOutcome {
    Event(Box<Claim>),
    Timeout,
    Signal(u8),
}

/// A wait for events of one session.
pub struct EventWait<'a> {
    place: &'a Place,
    spool: Spool,
    filter: EventFilter,
    pub watch: Watch,
    /// The numbers of events that do not match, which need no second look.
    passed: BTreeSet<u64>,
    /// The numbers of events of a later version, of which the caller was told.
    newer: BTreeSet<u64>,
    /// Whether an agent runs that reports to this session. No file changes when it dies.
    has_children: bool,
    /// Warnings that the caller has not shown yet.
    pub warnings: Vec<String>,
}

/// One scan of the spool.
struct SpoolScan {
    claim: Option<Claim>,
    /// Whether another process is delivering an event.
    is_held: bool,
    /// When the next lease ends.
    due: Option<Timestamp>,
}

impl<'a> EventWait<'a> {
    /// The watch begins before the first scan, so that an event published in between is seen by one of them.
    pub fn new(place: &'a Place, spool: Spool, filter: EventFilter, signals: Signals) -> Result<EventWait<'a>> {
        spool.create()?;
        let runs = layout::runs_dir(&place.shared());
        fs::create_private_dir(&runs)?;
        let mut watch = Watch::new(signals);
        spool.watched().iter().chain([&runs]).for_each(|dir| watch.dir(dir));
        Ok(EventWait {
            place,
            spool,
            filter,
            watch,
            passed: BTreeSet::new(),
            newer: BTreeSet::new(),
            has_children: false,
            warnings: Vec::new(),
        })
    }

    /// Waits for the next matching event. It belongs to the caller until it is acknowledged or given back.
    pub fn next(&mut self, end: Option<Instant>) -> Result<WaitOutcome> {
        loop {
            let scan = self.scan()?;
            if let Some(claim) = scan.claim {
                return Ok(WaitOutcome::Event(Box::new(claim)));
            }
            if self.report_deaths()? {
                continue;
            }
            if end.is_some_and(|end| end <= Instant::now()) {
                return Ok(WaitOutcome::Timeout);
            }
            let poll = (scan.is_held || self.has_children || self.watch.is_blind).then(|| Instant::now() + POLL);
            let now = self.place.env.later().now;
            let due = scan.due.and_then(|due| Duration::try_from(due.duration_since(now)).ok());
            let due = due.map(|wait| Instant::now() + wait + Duration::from_millis(1));
            let until = [end, poll, due].into_iter().flatten().min();
            if let Some(signal) = self.watch.sleep(until)? {
                return Ok(WaitOutcome::Signal(signal));
            }
        }
    }

    /// Looks for a matching event, the lowest number first.
    fn scan(&mut self) -> Result<SpoolScan> {
        let mut scan = SpoolScan { claim: None, is_held: false, due: None };
        if let Some(heir) = self.spool.forwards_to()? {
            return Err(Failure::not_found(format!("{} was removed; its events go to {heir}", self.spool.session))
                .hint(format!("wait for those: `worktree-spawn wait --session {heir}`")));
        }
        self.spool.sweep()?;
        let now = self.place.env.later().now;
        for entry in self.spool.entries()? {
            if entry.id <= self.filter.after || self.passed.contains(&entry.id) {
                continue;
            }
            let Some(event) = self.spool.read(&entry)? else {
                // If the file still exists, a later version wrote it. It is left for a program that knows that version.
                let path = entry.path.display();
                if entry.path.exists() && self.newer.insert(entry.id) {
                    self.warnings.push(format!("{path} is newer than this program knows; it is left there"));
                } else if self.spool.is_bad(&entry) {
                    self.warnings.push(format!("{path} is damaged; it is kept in {}", self.spool.bad_dir().display()));
                }
                continue;
            };
            if !self.filter.matches(&event) {
                self.passed.insert(entry.id);
                continue;
            }
            if let Some(until) = entry.lent.filter(|until| *until > now) {
                scan.due = Some(scan.due.map_or(until, |due: Timestamp| due.min(until)));
                continue;
            }
            match self.spool.claim(&entry, now)? {
                Some(claim) => return Ok(SpoolScan { claim: Some(claim), ..scan }),
                // Another process has the event. If that one dies, the event is free again.
                None => scan.is_held = true,
            }
        }
        Ok(scan)
    }

    /// Reports the deaths of agents that report to this session. `true` if there was one.
    fn report_deaths(&mut self) -> Result<bool> {
        let shared = self.place.shared();
        let mut any = false;
        self.has_children = false;
        for run in agent_run::all(&shared)? {
            let is_child = run.agent.parent.as_deref() == Some(&self.spool.session);
            if !is_child || run.ended.is_some() {
                continue;
            }
            match runs::report_death(&self.place.env, self.place, &run.agent.id)? {
                Some(_) => any = true,
                None => self.has_children = true,
            }
        }
        Ok(any)
    }
}
