//! `wait`: events of a session, printed as they come; gone once they were taken.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::Ui;

use super::events::session;
use crate::apply::spawn;
use crate::cli::WaitArgs;
use crate::event::Event;
use crate::facts::agents;
use crate::facts::place::Place;
use crate::life;
use crate::spool::{Claim, Entry, Spool};
use crate::watch::{Wake, Watch};

/// How often is looked where the system cannot tell us, or where another one holds an event.
const POLL: Duration = Duration::from_millis(250);

/// How long a reader may take to empty its pipe before its being there counts as reading.
const READER: Duration = Duration::from_secs(1);

/// What is waited for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub kinds: Vec<String>,
    pub from: Vec<String>,
    pub after: u64,
}

impl Wanted {
    pub fn takes(&self, event: &Event) -> bool {
        (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == event.kind()))
            && (self.from.is_empty() || self.from.iter().any(|name| is_from(event, name)))
    }
}

pub fn run(ui: &Ui, env: &Env, args: &WaitArgs) -> Result<Exit> {
    let timeout = flag_time("--timeout", &args.timeout)?;
    let lease = args.lease.as_deref().map(|text| flag_time("--lease", text)).transpose()?;
    if args.kind.iter().any(|kind| kind.trim().is_empty()) {
        return Err(Failure::usage("the type is empty").hint("leave `--type` out, or name one"));
    }
    let place = Place::find(env)?;
    spawn::finish_removals(env, &place)?.iter().for_each(|said| ui.note(said));
    let spool = session(&place, &args.session)?;
    known_senders(&place, &spool, &args.from)?;
    let wanted = Wanted { kinds: args.kind.clone(), from: args.from.clone(), after: args.after };
    let mut waiting = Waiting::new(env, &place, spool, wanted, true)?;
    let end = Instant::now().checked_add(timeout);
    for _ in 0..args.count {
        let next = waiting.next(end)?;
        waiting.said.drain(..).for_each(|said| ui.warn(said));
        let claim = match next {
            Next::Event(claim) => *claim,
            Next::Timeout => return timed_out(&args.timeout, ui),
            Next::Signal(signal) => return Ok(Exit::Signal(signal)),
        };
        if let Some(signal) = waiting.watch.write(|| ui.line(claim.event.line())) {
            claim.give_back()?;
            return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0)));
        }
        // Whether somebody has it now, or it went into a pipe nobody reads.
        if !ui.is_taken(READER) {
            claim.give_back()?;
            return Ok(Exit::Done);
        }
        match lease {
            Some(lease) => claim.lend(env.later().now + signed(lease))?,
            None => claim.acknowledge()?,
        }
    }
    Ok(Exit::Done)
}

/// Exit 1 when nobody is, or was, called so.
fn known_senders(place: &Place, spool: &Spool, names: &[String]) -> Result<()> {
    for name in names {
        let has_sent = |entry: &Entry| Ok(spool.read(entry)?.is_some_and(|event| is_from(&event, name)));
        let waits: Vec<bool> = spool.entries()?.iter().map(has_sent).collect::<Result<_>>()?;
        // One that was removed may have left a session that forwards.
        if waits.contains(&true) || Spool::of(&place.shared(), name).exists() {
            continue;
        }
        match agents::require(place, name) {
            Err(failure) if failure.kind == "not_found" => return Err(failure),
            _ => {}
        }
    }
    Ok(())
}

fn is_from(event: &Event, name: &str) -> bool {
    let id = event.from();
    id == name || id.rsplit(['/', '.']).next() == Some(name)
}

/// Nothing more on stdout than what had come; in text, a word on stderr.
fn timed_out(timeout: &str, ui: &Ui) -> Result<Exit> {
    ui.note(format!("nothing more came within {timeout}"));
    Ok(Exit::Timeout)
}

/// What the waiting came to.
pub enum Next {
    Event(Box<Claim>),
    Timeout,
    Signal(u8),
}

/// A session under watch.
pub struct Waiting<'a> {
    env: &'a Env,
    place: &'a Place,
    spool: Spool,
    wanted: Wanted,
    watch: Watch,
    /// Numbers of events that are not wanted, which need no second look.
    passed: BTreeSet<u64>,
    /// What the last look listed and did not come to, the lowest number last: what was published since has higher ones.
    listed: Vec<Entry>,
    newer: BTreeSet<u64>,
    /// An agent lives on whose `run` is gone.
    has_orphans: bool,
    /// What a person should hear.
    pub said: Vec<String>,
}

impl<'a> Waiting<'a> {
    /// The watch comes before the first look: what is published in between is seen by one of them.
    pub fn new(
        env: &'a Env,
        place: &'a Place,
        spool: Spool,
        wanted: Wanted,
        hears_signals: bool,
    ) -> Result<Waiting<'a>> {
        spool.create()?;
        let runs = life::dir(&place.shared());
        shopfloor_core::fs::create_private_dir(&runs)?;
        let mut watch = Watch::new(hears_signals);
        spool.watched().iter().chain([&runs]).for_each(|dir| watch.dir(dir));
        Ok(Waiting {
            env,
            place,
            spool,
            wanted,
            watch,
            passed: BTreeSet::new(),
            listed: Vec::new(),
            newer: BTreeSet::new(),
            has_orphans: false,
            said: Vec::new(),
        })
    }

    /// What ends the waiting from another thread, as a signal would.
    pub fn waker(&self) -> impl FnOnce() + Send + 'static {
        self.watch.waker()
    }

    /// The next event that is wanted, ours until it is acknowledged or given back.
    pub fn next(&mut self, end: Option<Instant>) -> Result<Next> {
        loop {
            let look = match self.look(true)? {
                Look { claim: None, .. } => self.look(false)?,
                look => look,
            };
            if let Some(claim) = look.claim {
                return Ok(Next::Event(Box::new(claim)));
            }
            if self.tell_deaths()? {
                continue;
            }
            if end.is_some_and(|end| end <= Instant::now()) {
                return Ok(Next::Timeout);
            }
            let poll = (look.is_held || self.has_orphans || self.watch.is_blind()).then(|| Instant::now() + POLL);
            let now = self.env.later().now;
            let due = look.due.and_then(|due| Duration::try_from(due.duration_since(now)).ok());
            let due = due.map(|wait| Instant::now() + wait + Duration::from_millis(1));
            let until = [end, poll, due].into_iter().flatten().min();
            if let Wake::Signal(signal) = self.watch.sleep(until)? {
                return Ok(Next::Signal(u8::try_from(signal).unwrap_or(0)));
            }
        }
    }

    /// One look at what is there, or with `again` at the rest of the last one, the lowest number first.
    fn look(&mut self, again: bool) -> Result<Look> {
        let mut look = Look { claim: None, is_held: false, due: None };
        if let Some(heir) = self.spool.forwards_to()? {
            return Err(Failure::not_found(format!("{} was removed; its events go to {heir}", self.spool.session))
                .hint(format!("wait for those: `worktree-spawn wait --session {heir}`")));
        }
        if !again {
            self.spool.sweep()?;
            self.listed = self.spool.entries()?;
            self.listed.reverse();
        }
        let now = self.env.later().now;
        while let Some(entry) = self.listed.pop() {
            if entry.id <= self.wanted.after || self.passed.contains(&entry.id) {
                continue;
            }
            let Some(event) = self.spool.read(&entry)? else {
                // Still there it is of a later version: left for a program that knows it.
                if entry.path.exists() && self.newer.insert(entry.id) {
                    self.said
                        .push(format!("{} is newer than this program knows; it is left there", entry.path.display()));
                }
                continue;
            };
            if !self.wanted.takes(&event) {
                self.passed.insert(entry.id);
                continue;
            }
            if let Some(until) = entry.lent.filter(|until| *until > now) {
                look.due = Some(look.due.map_or(until, |due: Timestamp| due.min(until)));
                continue;
            }
            match self.spool.claim(&entry, now)? {
                Some(claim) => return Ok(Look { claim: Some(claim), ..look }),
                // Another one has it; should it die, it is ours.
                None => look.is_held = true,
            }
        }
        Ok(look)
    }

    /// Publishes the deaths of those who report here, and watches the living. `true` when there was one.
    fn tell_deaths(&mut self) -> Result<bool> {
        let shared = self.place.shared();
        let mut any = false;
        self.has_orphans = false;
        for life in life::all(&shared)? {
            let is_child = life.agent.parent.as_deref() == Some(&self.spool.session);
            if !is_child || life.ended.is_some() {
                continue;
            }
            match life::tell_death(self.env, self.place, &life.agent.id)? {
                Some(_) => any = true,
                // `run` alone was killed: its command holds the lock, and nothing tells of that one's end.
                None if self.watch.has_ended(life.pid) => self.has_orphans = true,
                None => self.watch.process(life.pid),
            }
        }
        Ok(any)
    }
}

struct Look {
    claim: Option<Claim>,
    /// Somebody else is just handing one out.
    is_held: bool,
    /// When the next lease runs out.
    due: Option<Timestamp>,
}

/// A length of time: `90s`, `30m`, `2h`, `1d`; a number alone is seconds.
pub fn flag_time(flag: &str, text: &str) -> Result<Duration> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number: Option<f64> = text[..text.len() - unit.len()].parse().ok();
    let scale = match unit {
        "ms" => Some(0.001),
        "" | "s" => Some(1.0),
        "m" => Some(60.0),
        "h" => Some(3600.0),
        "d" => Some(86_400.0),
        _ => None,
    };
    let seconds = number.zip(scale).map(|(n, scale)| n * scale).filter(|s| *s < 3.2e9);
    seconds.and_then(|s| Duration::try_from_secs_f64(s).ok()).ok_or_else(|| {
        Failure::usage(format!("{flag} must be a time, not `{text}`"))
            .hint("write a number and a unit: 90s, 30m, 2h, 1d")
    })
}

/// For adding to an instant.
pub fn signed(time: Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)
}
