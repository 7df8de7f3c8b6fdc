//! `up` and `down`: sessions come and go, tasks stay.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc;
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::printable;

use super::status::Waiting;
use super::{Site, add, patrol};
use crate::apply::session;
use crate::cli::UpArgs;
use crate::log;
use crate::note::Fault;
use crate::plan::machine::Event;
use crate::store;
use crate::tmux::{self, Pane, Tmux, socket_of};
use crate::worker::{Session, Worker, checked_name};

/// How many programs are started at once.
const AT_ONCE: usize = 8;

/// How often is looked whether somebody committed, added a worker, or asks us to end: a few `stat`s.
const GLANCE: Duration = Duration::from_millis(250);

/// When everything is looked at again while a text waits for a person who types.
const SOON: Duration = Duration::from_secs(1);

/// How long a running `up` may take to end its sessions.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn up(site: &Site<'_>, args: &UpArgs) -> Result<Exit> {
    if args.detach && !site.is_dry {
        return detach(site, args.no_patrol);
    }
    let names = if args.names.is_empty() { "all workers".to_owned() } else { args.names.join(", ") };
    if site.would(format!("bring up {names}")) {
        return Ok(Exit::Done);
    }
    match args.names.is_empty() {
        true => watch(site, args.no_patrol),
        false => restart(site, &args.names),
    }
}

/// These sessions, daemon or not.
fn restart(site: &Site<'_>, names: &[String]) -> Result<Exit> {
    site.finish_left()?;
    let made = make_missing(site, Some(names));
    if !made.is_empty() {
        return Err(Failure::failed("not all workers can be made").details(made).hint("mend that, or use `add`"));
    }
    let state = store::load(&site.root.path)?;
    names.iter().try_for_each(|name| state.require(name).map(drop))?;
    let failures = bring_up(site, names, &|_| ());
    if failures.is_empty() {
        site.statuses(names)?;
        return Ok(Exit::Done);
    }
    Err(Failure::failed("not all workers are up").details(failures).hint("`worker-ctl status` shows them"))
}

/// Starts what has no session, several at a time; what hindered it.
fn bring_up(site: &Site<'_>, names: &[String], when_done: &(dyn Fn(&str) + Sync)) -> Vec<String> {
    if names.is_empty() {
        return Vec::new();
    }
    let ready = site.tmux().and_then(|tmux| tmux.start(&site.root.path).and_then(|()| tmux.renew_environment()));
    if let Err(failure) = ready {
        return vec![failure.to_string()];
    }
    let queue = Mutex::new(names.iter());
    let failures = Mutex::new(Vec::new());
    let next = || lock_of(&queue).next();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(names.len()) {
            scope.spawn(|| {
                while let Some(name) = next() {
                    match bring_one_up(site, name) {
                        Ok(true) => site.ui.note(format!("{name} is up")),
                        Ok(false) => {}
                        Err(failure) => lock_of(&failures).push(format!("{name}: {failure}")),
                    }
                    when_done(name);
                }
            });
        }
    });
    failures.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Under its lock, as it is by then; `false` when it is gone.
fn bring_one_up(site: &Site<'_>, name: &str) -> Result<bool> {
    site.check_ending()?;
    let _lock = site.lock(name)?;
    // As config.toml is by now: it may have been written while we waited.
    let site = &site.again()?;
    let Some(worker) = store::load(&site.root.path)?.workers.get(name).cloned() else { return Ok(false) };
    if !Path::new(&worker.worktree_path).is_dir() {
        site.record(name, &Event::Fault { reason: Fault::WorktreeMissing })?;
        return Err(Failure::failed(format!("its worktree {} is missing", worker.worktree_path))
            .hint("`worker-ctl doctor --repair` makes it again from its branch"));
    }
    session::start(site, &worker).map(|_| true)
}

/// Makes workers that config.toml tells of and the state does not, of these or all; what hindered it.
fn make_missing(site: &Site<'_>, names: Option<&[String]>) -> Vec<String> {
    let known = store::load(&site.root.path).map(|state| state.workers).unwrap_or_default();
    let mut failures = Vec::new();
    let is_wanted = |name: &&String| !known.contains_key(*name) && names.is_none_or(|names| names.contains(name));
    for name in site.root.config.workers.keys().filter(is_wanted) {
        let made = checked_name(name).and_then(|_| {
            let _lock = site.lock(name)?;
            // As all is by now: it may have been removed.
            let now = site.again()?;
            let is_known = store::load(&site.root.path)?.workers.contains_key(name);
            match now.root.config.workers.contains_key(name) && !is_known {
                true => add::make(&now, name, None).map(drop),
                false => Ok(()),
            }
        });
        failures.extend(made.err().map(|failure| format!("{name}: {failure}")));
    }
    failures
}

/// The lock whose holder is the running `up`.
pub fn daemon_lock(root: &Path) -> std::path::PathBuf {
    root.join("locks/daemon.lock")
}

/// Whether an `up` runs.
pub fn is_running(root: &Path) -> Result<bool> {
    Lock::is_held(&daemon_lock(root))
}

/// Takes the lock that is held for life. Whoever asks whether it is held has it for an instant, so one look is not enough.
fn become_the_one(path: &Path) -> Result<Lock> {
    for _ in 0..20 {
        if let Some(lock) = Lock::try_take(path)? {
            return Ok(lock);
        }
        thread::sleep(Duration::from_millis(10));
    }
    Err(Failure::new(Exit::Busy, "busy", "another `up` runs for this root")
        .hint("end it with `worker-ctl down`; `worker-ctl status` shows its workers"))
}

/// The site, with the configuration as it is by now; as it was, where that cannot be read.
struct Fresh<'a> {
    site: Site<'a>,
    changed: Option<jiff::Timestamp>,
}

impl Fresh<'_> {
    fn renew(&mut self) -> Result<()> {
        let now = fs::changed(&self.site.root.path.join("config.toml"));
        if now != self.changed {
            self.changed = now;
            self.site = self.site.again()?;
        }
        Ok(())
    }
}

/// Stays, until a signal asks it to end; then all sessions end, and tasks stay.
fn watch(site: &Site<'_>, no_patrol: bool) -> Result<Exit> {
    // Without a state there is nothing to keep up, and only a person can mend that.
    store::load(&site.root.path)?;
    let path = daemon_lock(&site.root.path);
    let mut lock = become_the_one(&path)?;
    lock.sign().map_err(|e| Failure::failed(format!("cannot write to {}", path.display())).because(e))?;
    let (send, signals) = mpsc::channel();
    // A second one ends us at once.
    let ending = site.ending.clone();
    proc::handle_signals(move |signal| !ending.fetch_or(true, Ordering::SeqCst) && send.send(signal).is_ok());
    let changed = fs::changed(&site.root.path.join("config.toml"));
    let mut fresh = Fresh { site: site.again()?, changed };
    let mut seen = Vec::new();
    let mut last: Option<Instant> = None;
    let mut is_first = true;
    let mut is_waiting = false;
    let told = Told::default();
    let mut waiting = Waiting::default();
    // A program that takes its time to get ready keeps nobody else's commit from being seen.
    let starting = Mutex::new(BTreeSet::new());
    thread::scope(|scope| {
        let mut starters = Vec::new();
        loop {
            let renewed = fresh.renew();
            let site = &fresh.site;
            told.tell(site, "config", renewed.err().map(|failure| failure.to_string()));
            let interval = Duration::from_secs(site.root.config.defaults.patrol_interval_secs.max(1));
            let interval = if is_waiting { interval.min(SOON) } else { interval };
            let now = glance(site);
            let is_due = last.is_none_or(|last| last.elapsed() >= interval) || now != seen;
            let state = if is_due { Some(store::load(&site.root.path)) } else { None };
            let unreadable = state.as_ref().and_then(|state| state.as_ref().err()).map(ToString::to_string);
            let is_readable = is_due && unreadable.is_none();
            if is_due {
                seen = now;
                last = Some(Instant::now());
                // Said once; the next look is due when the file changes.
                told.tell(site, "state", unreadable);
            }
            if is_readable {
                // Each for itself: what hinders the one hinders no other.
                match missing(site, is_first).and_then(|found| Ok((found, site.again()?))) {
                    Ok(((failures, mut names), own)) => {
                        is_first = false;
                        told.tell(site, "tick", failures);
                        names.retain(|name| lock_of(&starting).insert(name.clone()));
                        if !names.is_empty() {
                            starters.push(scope.spawn(|| start_all(own, names, &starting, &told)));
                        }
                    }
                    Err(failure) => told.tell(site, "tick", other_than_state(&failure)),
                }
                match look_after(site, no_patrol) {
                    Ok(waits) => {
                        is_waiting = !waits.is_empty();
                        told.tell(site, "patrol", None);
                        told.tell(site, "typing", waits);
                    }
                    Err(failure) => told.tell(site, "patrol", other_than_state(&failure)),
                }
                if let Ok(state) = store::load(&site.root.path) {
                    waiting.look(site, &state);
                }
            }
            starters.retain(|starter: &thread::ScopedJoinHandle<'_, ()>| !starter.is_finished());
            if let Ok(signal) = signals.recv_timeout(GLANCE) {
                site.ui.note("ending all sessions");
                end_in_time(signal);
                // They look whether all is to end.
                starters.into_iter().for_each(|starter| drop(starter.join()));
                end_all(site, false)?;
                return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0)));
            }
        }
    })
}

/// What was said already: each only once, as long as it goes on.
#[derive(Default)]
struct Told(Mutex<BTreeMap<&'static str, BTreeSet<String>>>);

impl Told {
    fn tell(&self, site: &Site<'_>, of: &'static str, failures: impl IntoIterator<Item = String>) {
        let failures: Vec<String> = failures.into_iter().collect();
        let mut all = lock_of(&self.0);
        let before = all.entry(of).or_default();
        failures.iter().filter(|said| !before.contains(*said)).for_each(|said| site.ui.warn(said));
        *before = failures.into_iter().collect();
    }
}

/// A state that cannot be read is told of by who looks at it first.
fn other_than_state(failure: &Failure) -> Option<String> {
    (failure.kind != "state").then(|| failure.to_string())
}

fn lock_of<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start_all(site: Site<'_>, names: Vec<String>, starting: &Mutex<BTreeSet<String>>, told: &Told) {
    let failures = bring_up(&site, &names, &|name| {
        lock_of(starting).remove(name);
    });
    lock_of(starting).retain(|name| !names.contains(name));
    told.tell(&site, "start", failures);
}

/// Whatever hangs, we end in the end: as by a second signal.
fn end_in_time(signal: i32) {
    thread::spawn(move || {
        thread::sleep(PATIENCE);
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _ = kill_process(getpid(), signal);
        }
    });
}

/// Workers that are not made, or hindered from it, and those whose sessions are to be started; for the first time also
/// those whose program ended well.
fn missing(site: &Site<'_>, is_first: bool) -> Result<(Vec<String>, Vec<String>)> {
    let failures = make_missing(site, None);
    let state = store::load(&site.root.path)?;
    let panes = site.tmux()?.panes()?;
    // Sessions that an `up` before this one left are taken over as they are; but for those that did not get so far as to
    // take input.
    let is_begun = |worker: &Worker, pane: &Pane| {
        worker.session == Session::Down && worker.pane_id.as_ref() == Some(&pane.id) && pane.end.is_none()
    };
    for worker in state.workers.values().filter(|worker| worker.session != Session::Up && worker.fault.is_none()) {
        if let Some(pane) = tmux::find(&panes, worker).filter(|pane| pane.end.is_none() && !is_begun(worker, pane))
            && let Some(_lock) = site.try_lock(&worker.name)?
        {
            site.observe(worker, &Event::SessionUp { pane: pane.id.clone(), pid: pane.pid })?;
        }
    }
    // What ended badly and nobody knows of yet is not to be started; nor what somebody else is starting.
    patrol::tick_sessions(site)?;
    let state = store::load(&site.root.path)?;
    let is_missing = |worker: &&Worker| {
        let pane = tmux::find(&panes, worker);
        let is_wanted = pane.is_none_or(|pane| is_first && pane.end.is_some() || is_begun(worker, pane));
        worker.fault.is_none() && is_wanted
    };
    let is_free =
        |worker: &&Worker| worker.pane_id.is_none() || site.try_lock(&worker.name).is_ok_and(|lock| lock.is_some());
    let names = state.workers.values().filter(is_missing).filter(is_free).map(|worker| worker.name.clone()).collect();
    Ok((failures, names))
}

/// What happened, and what is to be done about it.
/// Gives back what waits for a person who types.
fn look_after(site: &Site<'_>, no_patrol: bool) -> Result<Vec<String>> {
    if no_patrol {
        return Ok(Vec::new());
    }
    let _tick = site.lock_out("patrol")?;
    site.finish_left()?;
    patrol::tick(site)?;
    patrol::refresh(site)
}

/// What changes when somebody commits, adds a worker or gives a task: a few times of change.
fn glance(site: &Site<'_>) -> Vec<Option<jiff::Timestamp>> {
    let git = site.root.path.join(".git/worktrees");
    let names = fs::list(&git).unwrap_or_default();
    let heads = names.iter().map(|name| fs::changed(&git.join(name).join("logs/HEAD")));
    let own = ["config.toml", "state.json"].map(|name| fs::changed(&site.root.path.join(name)));
    own.into_iter().chain(heads).collect()
}

/// The same in the background; what it says goes to a log.
fn detach(site: &Site<'_>, no_patrol: bool) -> Result<Exit> {
    store::load(&site.root.path)?;
    if is_running(&site.root.path)? {
        return Err(
            Failure::new(Exit::Busy, "busy", "another `up` runs for this root").hint("end it with `worker-ctl down`")
        );
    }
    let program = site.env.args.first().map(|name| site.env.cwd.join(name)).filter(|path| path.is_file());
    let program = program
        .or_else(|| proc::find(site.env, crate::TOOL))
        .ok_or_else(|| Failure::failed("cannot find worker-ctl"))?;
    let log = log::of_up(&site.root.path);
    log::rotate(&log)?;
    let word = |path: &Path| shell_word(path);
    let mut words = vec![word(&program), "--root".into(), word(&site.root.path)];
    words.extend(site.flags().iter().map(|word| shell_word(Path::new(word))));
    words.push("up".into());
    words.extend(no_patrol.then(|| "--no-patrol".into()));
    let line = format!("nohup {} >> {} 2>&1 < /dev/null &", words.join(" "), word(&log));
    let status = proc::shell(site.env, &line)?.capture()?.status;
    let start = Instant::now();
    while status.success() && start.elapsed() < PATIENCE {
        if is_running(&site.root.path)? && are_started(site)? {
            site.ui.note(format!("up in the background; its log is {}", log.display()));
            return Ok(Exit::Done);
        }
        thread::sleep(Duration::from_millis(20));
    }
    if is_running(&site.root.path)? {
        site.ui.warn(format!("up in the background, but not all workers are up; its log is {}", log.display()));
        return Ok(Exit::Done);
    }
    Err(Failure::failed("it did not come up").hint(format!("look at {}", log.display())))
}

/// Whether every worker's program takes input, or has said that it will not. What an earlier `up` left in the state when it
/// was killed is not taken for it.
fn are_started(site: &Site<'_>) -> Result<bool> {
    let state = store::load(&site.root.path)?;
    let panes = site.tmux()?.panes()?;
    let is_up = |worker: &Worker| {
        worker.session == Session::Up && tmux::find(&panes, worker).is_some_and(|pane| pane.end.is_none())
    };
    let is_settled = |worker: &Worker| is_up(worker) || worker.fault.is_some() || worker.dead_pane.is_some();
    let are_made = site.root.config.workers.keys().all(|name| state.workers.contains_key(name));
    Ok(are_made && state.workers.values().all(is_settled))
}

pub fn down(site: &Site<'_>, force: bool) -> Result<Exit> {
    if site.would("end all sessions") {
        return Ok(Exit::Done);
    }
    let was_up = |worker: &Worker| worker.session == Session::Up;
    let state = match store::load(&site.root.path) {
        Ok(state) => state,
        Err(failure) => return down_without_state(site, force, &failure),
    };
    let names: Vec<String> = state.workers.into_values().filter(was_up).map(|worker| worker.name).collect();
    end_daemon(site, force)?;
    site.finish_left()?;
    end_all(site, force)?;
    if !names.is_empty() {
        site.ui.note(format!("down: {}", printable(&names.join(", "))));
    }
    site.statuses(&names)?;
    Ok(Exit::Done)
}

/// Ends what the root's tmux server has, whosever it is: nobody can say any more.
fn down_without_state(site: &Site<'_>, force: bool, why: &Failure) -> Result<Exit> {
    site.ui.warn(why);
    end_daemon(site, force)?;
    let tmux = Tmux::find(site.env, &socket_of(&site.root.path))?;
    let names = session::end_unknown(site, &tmux, force)?;
    tmux.kill()?;
    if !names.is_empty() {
        site.ui.note(format!("down: {}", printable(&names.into_iter().collect::<Vec<_>>().join(", "))));
    }
    Ok(Exit::Done)
}

/// Every session, and then the server, whatever hinders in between.
fn end_all(site: &Site<'_>, force: bool) -> Result<()> {
    let state = match store::load(&site.root.path) {
        Ok(state) => state,
        Err(failure) => return down_without_state(site, force, &failure).map(drop),
    };
    let workers: Vec<Worker> = state.workers.values().cloned().collect();
    let tmux = site.tmux()?;
    let ended = match tmux.is_running() {
        true => session::end(site, &workers, force),
        false => workers.iter().try_for_each(|worker| site.record(&worker.name, &Event::SessionGone).map(drop)),
    };
    ended.and(tmux.kill())
}

/// Asks a running `up` to end, and waits for it: the lock tells that it has. With `force` it leaves its sessions to us.
fn end_daemon(site: &Site<'_>, force: bool) -> Result<()> {
    let path = daemon_lock(&site.root.path);
    let start = Instant::now();
    let mut asked = None;
    while is_running(&site.root.path)? {
        // Written by its holder; one that has just taken it may not have got so far.
        let text = fs::read_no_follow(&path)?.unwrap_or_default();
        let pid = String::from_utf8_lossy(&text).trim().parse().ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|pid| asked.replace(*pid) != Some(*pid)) {
            let _ = kill_process(pid, Signal::TERM);
            if force {
                let _ = kill_process(pid, Signal::INT);
            }
        }
        if start.elapsed() > PATIENCE {
            return Err(Failure::new(Exit::Busy, "busy", "the running `up` does not end")
                .hint("end it yourself, then run `worker-ctl down` again"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
