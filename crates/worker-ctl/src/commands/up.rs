//! `up` and `down`: sessions come and go, tasks stay.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc;
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::printable;

use super::{Site, patrol};
use crate::apply::session;
use crate::cli::UpArgs;
use crate::plan::machine::Event;
use crate::store;
use crate::worker::{Session, Worker};

/// How often is looked whether somebody committed, added a worker, or asks us to end: a few `stat`s.
const GLANCE: Duration = Duration::from_millis(250);

/// How long a running `up` may take to end its sessions.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn up(site: &Site<'_>, args: &UpArgs) -> Result<Exit> {
    if args.detach {
        return detach(site);
    }
    match args.names.is_empty() {
        true => watch(site, args.no_patrol),
        false => restart(site, &args.names),
    }
}

/// These sessions, daemon or not.
fn restart(site: &Site<'_>, names: &[String]) -> Result<Exit> {
    site.finish_accepts()?;
    let state = store::load(&site.root.path)?;
    let wanted: Vec<Worker> = names.iter().map(|name| state.require(name).cloned()).collect::<Result<_>>()?;
    let failures = bring_up(site, &wanted)?;
    if failures.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure::failed("not all workers are up").details(failures).hint("`worker-ctl status` shows them"))
}

/// Starts what has no session; what hindered it.
fn bring_up(site: &Site<'_>, workers: &[Worker]) -> Result<Vec<String>> {
    let mut failures = Vec::new();
    for worker in workers {
        let _lock = site.lock(&worker.name)?;
        if !Path::new(&worker.worktree_path).is_dir() {
            site.record(&worker.name, &Event::Fault { reason: "worktree missing".into() })?;
            failures.push(format!("{}: its worktree {} is missing", worker.name, worker.worktree_path));
            continue;
        }
        match session::start(site, worker) {
            Ok(_) => site.ui.note(format!("{} is up", worker.name)),
            Err(failure) => failures.push(format!("{}: {failure}", worker.name)),
        }
    }
    Ok(failures)
}

/// The lock whose holder is the running `up`.
pub fn daemon_lock(root: &Path) -> std::path::PathBuf {
    root.join("locks/daemon.lock")
}

/// Whether an `up` runs.
pub fn is_running(root: &Path) -> Result<bool> {
    let path = daemon_lock(root);
    Ok(path.exists() && Lock::try_existing(&path)?.is_none())
}

/// Takes the lock that is held for life. Whoever asks whether it is held has it for an instant, so one look is not enough.
fn become_the_one(path: &Path) -> Result<Lock> {
    for _ in 0..20 {
        if let Some(lock) = Lock::try_take(path)? {
            return Ok(lock);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(Failure::new(Exit::Busy, "busy", "another `up` runs for this root")
        .hint("end it with `worker-ctl down`; `worker-ctl status` shows its workers"))
}

/// Stays, until a signal asks it to end; then all sessions end, and tasks stay.
fn watch(site: &Site<'_>, no_patrol: bool) -> Result<Exit> {
    let path = daemon_lock(&site.root.path);
    let mut lock = become_the_one(&path)?;
    lock.sign().map_err(|e| Failure::failed(format!("cannot write to {}", path.display())).because(e))?;
    let (send, signals) = mpsc::channel();
    // A second one ends us at once.
    proc::handle_signals(move |signal| {
        static CAME: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
        !CAME.fetch_or(true, std::sync::atomic::Ordering::SeqCst) && send.send(signal).is_ok()
    });
    let interval = Duration::from_secs(site.root.config.defaults.patrol_interval_secs.max(1));
    let mut seen = Vec::new();
    let mut last: Option<Instant> = None;
    let mut told = BTreeMap::new();
    loop {
        let now = glance(site);
        let is_due = last.is_none_or(|last| last.elapsed() >= interval) || now != seen;
        if is_due {
            seen = now;
            last = Some(Instant::now());
            if let Err(failure) = tick(site, no_patrol, &mut told) {
                site.ui.problem(&failure);
            }
        }
        if let Ok(signal) = signals.recv_timeout(GLANCE) {
            site.ui.note("ending all sessions");
            let workers: Vec<Worker> = store::load(&site.root.path)?.workers.into_values().collect();
            session::end(site, &workers, false)?;
            site.tmux()?.kill()?;
            return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0)));
        }
    }
}

/// One round: sessions that are missing, then what happened.
fn tick(site: &Site<'_>, no_patrol: bool, told: &mut BTreeMap<String, String>) -> Result<()> {
    let state = store::load(&site.root.path)?;
    let panes = site.tmux()?.panes()?;
    let has_pane = |worker: &Worker| panes.iter().any(|pane| pane.session == worker.session_id);
    let missing = state.workers.values().filter(|worker| worker.fault.is_none() && !has_pane(worker));
    let failures = bring_up(site, &missing.cloned().collect::<Vec<_>>())?;
    for failure in failures {
        if told.insert(failure.clone(), String::new()).is_none() {
            site.ui.warn(failure);
        }
    }
    // Sessions that an `up` before this one left are taken over as they are.
    for worker in state.workers.values().filter(|worker| worker.session != Session::Up && worker.fault.is_none()) {
        if let Some(pane) = panes.iter().find(|pane| pane.session == worker.session_id && pane.end.is_none()) {
            site.record(&worker.name, &Event::SessionUp { pane: pane.id.clone(), pid: pane.pid })?;
        }
    }
    if no_patrol {
        return Ok(());
    }
    let _tick = Lock::take(&site.root.path.join("locks/patrol.lock"))?;
    site.finish_accepts()?;
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
fn detach(site: &Site<'_>) -> Result<Exit> {
    if is_running(&site.root.path)? {
        return Err(
            Failure::new(Exit::Busy, "busy", "another `up` runs for this root").hint("end it with `worker-ctl down`")
        );
    }
    let program = site.env.args.first().map(|name| site.env.cwd.join(name)).filter(|path| path.is_file());
    let program = program
        .or_else(|| proc::find(site.env, crate::TOOL))
        .ok_or_else(|| Failure::failed("cannot find worker-ctl"))?;
    let word = |path: &Path| shell_word(path);
    let log = site.root.path.join("logs/up.log");
    let line =
        format!("nohup {} --root {} up >> {} 2>&1 < /dev/null &", word(&program), word(&site.root.path), word(&log));
    let status = proc::shell(site.env, &line)?.capture()?.status;
    let start = Instant::now();
    while status.success() && start.elapsed() < PATIENCE {
        if is_running(&site.root.path)? {
            site.ui.note(format!("up in the background; its log is {}", log.display()));
            return Ok(Exit::Done);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(Failure::failed("it did not come up").hint(format!("look at {}", log.display())))
}

pub fn down(site: &Site<'_>, force: bool) -> Result<Exit> {
    end_daemon(site)?;
    let state = store::load(&site.root.path)?;
    let workers: Vec<Worker> = state.workers.values().cloned().collect();
    let tmux = site.tmux()?;
    if tmux.is_running() {
        session::end(site, &workers, force)?;
        tmux.kill()?;
    } else {
        for worker in &workers {
            site.record(&worker.name, &Event::SessionGone)?;
        }
    }
    let names = state.workers.keys().cloned().collect::<Vec<_>>().join(", ");
    site.ui.note(format!("{} are down: {}", workers.len(), printable(&names)));
    Ok(Exit::Done)
}

/// Asks a running `up` to end, and waits for it: the lock tells that it has.
fn end_daemon(site: &Site<'_>) -> Result<()> {
    let path = daemon_lock(&site.root.path);
    if !is_running(&site.root.path)? {
        return Ok(());
    }
    let pid = fs::read_no_follow(&path)?.unwrap_or_default();
    let pid = String::from_utf8_lossy(&pid).trim().parse().ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = kill_process(pid, Signal::TERM);
    }
    let start = Instant::now();
    while is_running(&site.root.path)? {
        if start.elapsed() > PATIENCE {
            return Err(Failure::new(Exit::Busy, "busy", "the running `up` does not end")
                .hint("end it yourself, then run `worker-ctl down` again"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
