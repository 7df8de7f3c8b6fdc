//! The `up` that stays: it keeps all sessions up and looks after them until a signal asks it to end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::proc;

use crate::apply::bring_up::{bring_up, locked, make_missing};
use crate::apply::patrol::{self, Scope};
use crate::apply::{recover, shutdown, transition};
use crate::bell::Bell;
use crate::daemon;
use crate::layout::{self, RootLock};
use crate::plan::machine::Input;
use crate::site::Site;
use crate::store;
use crate::tmux::{self, Pane};
use crate::worker::{Session, Worker};

/// How often it looks whether somebody committed, added a worker, or asks it to end: a few `stat`s.
const GLANCE: Duration = Duration::from_millis(250);

/// When it looks at everything again while a text waits for a person who types.
const SOON: Duration = Duration::from_secs(1);

/// Whether commits and ends are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patrol {
    On,
    Off,
}

/// Stays until a signal asks it to end; then it ends all sessions, and tasks stay.
pub fn keep_up(site: &Site<'_>, patrol: Patrol) -> Result<Exit> {
    // Without a state there is nothing to keep up, and only a person can mend that.
    store::load(&site.root.path)?;
    let _lock = daemon::take(&site.root.path)?;
    let (send, signals) = mpsc::channel();
    // A second signal ends us at once.
    let ending = site.ending.clone();
    proc::handle_signals(move |signal| !ending.fetch_or(true, Ordering::SeqCst) && send.send(signal).is_ok());
    let mut config = LiveConfig { changed: fs::changed(&layout::config(&site.root.path)), site: site.reload()? };
    // A program that takes its time to get ready keeps nobody else's commit from being seen.
    let shared = Shared::default();
    let mut rounds =
        Rounds { patrol, seen: Vec::new(), last: None, is_first: true, is_waiting: false, bell: Bell::default() };
    thread::scope(|scope| {
        let mut starters = Vec::new();
        loop {
            let renewed = config.renew();
            shared.warn(&config.site, "config", renewed.err().map(|failure| failure.to_string()));
            if let Some((own, names)) = rounds.look(&config.site, &shared) {
                let shared = &shared;
                starters.push(scope.spawn(move || start_all(&own, &names, shared)));
            }
            starters.retain(|starter: &thread::ScopedJoinHandle<'_, ()>| !starter.is_finished());
            if let Ok(signal) = signals.recv_timeout(GLANCE) {
                config.site.ui.note("ending all sessions");
                end_in_time(signal);
                // They ask whether all is to end.
                starters.into_iter().for_each(|starter| drop(starter.join()));
                shutdown::end_all(&config.site, false)?;
                return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0)));
            }
        }
    })
}

/// The site with the configuration as it is now; where that cannot be read, as it was.
struct LiveConfig<'a> {
    site: Site<'a>,
    changed: Option<jiff::Timestamp>,
}

impl LiveConfig<'_> {
    fn renew(&mut self) -> Result<()> {
        let now = fs::changed(&layout::config(&self.site.root.path));
        if now != self.changed {
            self.changed = now;
            self.site = self.site.reload()?;
        }
        Ok(())
    }
}

/// What the loop and the threads that start programs share.
#[derive(Default)]
struct Shared {
    /// The workers whose programs are being started.
    starting: Mutex<BTreeSet<String>>,
    /// The warnings of each kind that were given last.
    warned: Mutex<BTreeMap<&'static str, BTreeSet<String>>>,
}

impl Shared {
    /// Gives each warning once, for as long as it goes on.
    fn warn(&self, site: &Site<'_>, kind: &'static str, warnings: impl IntoIterator<Item = String>) {
        let warnings: Vec<String> = warnings.into_iter().collect();
        let mut all = locked(&self.warned);
        let before = all.entry(kind).or_default();
        warnings.iter().filter(|warning| !before.contains(*warning)).for_each(|warning| site.ui.warn(warning));
        *before = warnings.into_iter().collect();
    }
}

/// The looks at everything, one after the other.
struct Rounds {
    patrol: Patrol,
    /// What [`glance`] saw at the last look.
    seen: Vec<Option<jiff::Timestamp>>,
    last: Option<Instant>,
    is_first: bool,
    /// Whether a text waits for a person who types.
    is_waiting: bool,
    bell: Bell,
}

impl Rounds {
    /// Looks at everything when that is due; gives back whose programs are to be started.
    fn look<'a>(&mut self, site: &Site<'a>, shared: &Shared) -> Option<(Site<'a>, Vec<String>)> {
        let interval = Duration::from_secs(site.root.config.defaults.patrol_interval_secs.max(1));
        let interval = if self.is_waiting { interval.min(SOON) } else { interval };
        let now = glance(site);
        if self.last.is_some_and(|last| last.elapsed() < interval) && now == self.seen {
            return None;
        }
        (self.seen, self.last) = (now, Some(Instant::now()));
        let unreadable = store::load(&site.root.path).err().map(|failure| failure.to_string());
        let is_readable = unreadable.is_none();
        // The next look is due when the file changes.
        shared.warn(site, "state", unreadable);
        if !is_readable {
            return None;
        }
        // Each step for itself: a failure of one does not keep the others from running.
        let starts = self.find_starts(site, shared);
        self.look_after(site, shared);
        if let Ok(state) = store::load(&site.root.path) {
            self.bell.look(site, &state);
        }
        starts
    }

    fn find_starts<'a>(&mut self, site: &Site<'a>, shared: &Shared) -> Option<(Site<'a>, Vec<String>)> {
        match missing(site, self.is_first).and_then(|found| Ok((found, site.reload()?))) {
            Ok(((failures, mut names), own)) => {
                self.is_first = false;
                shared.warn(site, "tick", failures);
                names.retain(|name| locked(&shared.starting).insert(name.clone()));
                (!names.is_empty()).then_some((own, names))
            }
            Err(failure) => {
                shared.warn(site, "tick", unless_of_state(&failure));
                None
            }
        }
    }

    fn look_after(&mut self, site: &Site<'_>, shared: &Shared) {
        match look_after(site, self.patrol) {
            Ok(waits) => {
                self.is_waiting = !waits.is_empty();
                shared.warn(site, "patrol", None);
                shared.warn(site, "typing", waits);
            }
            Err(failure) => shared.warn(site, "patrol", unless_of_state(&failure)),
        }
    }
}

/// A warning about anything but the state, which has a warning of its own.
fn unless_of_state(failure: &Failure) -> Option<String> {
    (failure.kind != "state").then(|| failure.to_string())
}

fn start_all(site: &Site<'_>, names: &[String], shared: &Shared) {
    let failures = bring_up(site, names, &|name| {
        locked(&shared.starting).remove(name);
    });
    locked(&shared.starting).retain(|name| !names.contains(name));
    shared.warn(site, "start", failures);
}

/// Ends us as a second signal does, if something hangs.
fn end_in_time(signal: i32) {
    thread::spawn(move || {
        thread::sleep(daemon::PATIENCE);
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _ = kill_process(getpid(), signal);
        }
    });
}

/// What hindered workers from being made, and those whose sessions are to be started; at the first look also those whose
/// program ended well.
fn missing(site: &Site<'_>, is_first: bool) -> Result<(Vec<String>, Vec<String>)> {
    let failures = make_missing(site, None);
    let state = store::load(&site.root.path)?;
    let panes = site.tmux()?.panes()?;
    // Sessions that an earlier `up` left are taken over as they are, except where the program never got ready for input.
    let is_begun = |worker: &Worker, pane: &Pane| {
        worker.session == Session::Down && worker.pane_id.as_ref() == Some(&pane.id) && pane.end.is_none()
    };
    for worker in state.workers.values().filter(|worker| worker.session != Session::Up && worker.fault.is_none()) {
        if let Some(pane) = tmux::find(&panes, worker).filter(|pane| pane.end.is_none() && !is_begun(worker, pane))
            && let Some(_lock) = site.try_lock(&worker.name)?
        {
            transition::observe(site, worker, &Input::SessionUp { pane: pane.id.clone(), pid: pane.pid })?;
        }
    }
    // First, so that a program is not started whose crash nobody has recorded yet.
    patrol::tick(site, Scope::Sessions)?;
    let state = store::load(&site.root.path)?;
    let is_missing = |worker: &&Worker| {
        let pane = tmux::find(&panes, worker);
        let is_wanted = pane.is_none_or(|pane| is_first && pane.end.is_some() || is_begun(worker, pane));
        worker.fault.is_none() && is_wanted
    };
    // A worker whose lock is held is being started by another process.
    let is_free =
        |worker: &&Worker| worker.pane_id.is_none() || site.try_lock(&worker.name).is_ok_and(|lock| lock.is_some());
    let names = state.workers.values().filter(is_missing).filter(is_free).map(|worker| worker.name.clone()).collect();
    Ok((failures, names))
}

/// Records what happened and does what follows from it; gives back what waits for a person who types.
fn look_after(site: &Site<'_>, patrol: Patrol) -> Result<Vec<String>> {
    if patrol == Patrol::Off {
        return Ok(Vec::new());
    }
    let _tick = site.lock_root(RootLock::Patrol)?;
    recover::finish_all(site)?;
    patrol::tick(site, Scope::All)?;
    patrol::refresh(site)
}

/// What changes when somebody commits, adds a worker or gives a task: a few times of change.
fn glance(site: &Site<'_>) -> Vec<Option<jiff::Timestamp>> {
    let root = &site.root.path;
    let git = root.join(".git/worktrees");
    let names = fs::list(&git).unwrap_or_default();
    let heads = names.iter().map(|name| fs::changed(&git.join(name).join("logs/HEAD")));
    let own = [layout::config(root), layout::state(root)].map(|path| fs::changed(&path));
    own.into_iter().chain(heads).collect()
}
