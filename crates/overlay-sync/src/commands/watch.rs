//! `watch`: syncs whenever something changes, until it is told to end.

use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc;
use shopfloor_core::ui::Ui;

use super::sync::{converge, preview, print};
use crate::apply::disk::Disk;
use crate::cli::{OverlayFlags, WorkspaceArgs};
use crate::facts::Overlay;
use crate::manifest::Workspace;
use crate::store::RESERVED;
use crate::watch::{Debounce, WakeReason, WatchedDirs, is_change, removed};

/// Whatever events were lost, a scan this often finds what they were about.
const SAFETY: Duration = Duration::from_secs(60);
/// How often directories are armed anew while events keep coming.
const REARM: Duration = Duration::from_millis(50);
/// How soon is tried again what failed.
const RETRY: Duration = Duration::from_secs(10);
/// How often is looked where the system cannot tell us.
const POLL: Duration = Duration::from_secs(2);

pub fn run(ui: &Ui, env: &Env, place: &OverlayFlags) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    if !overlay.settings.enabled {
        ui.note("`enabled` is false, so there is nothing to watch");
        return Ok(Exit::Done);
    }
    if place.dry_run {
        overlay.require()?;
        return preview(ui, env, &overlay, &overlay.workspaces(ui, env, &WorkspaceArgs::default())?);
    }
    drop(overlay.create()?);
    let _lock = only_one(&overlay)?;

    let (send, wakes) = mpsc::channel();
    let signals = send.clone();
    proc::handle_signals(move |signal| signals.send(WakeReason::Signal(signal)).is_ok());
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if is_change(&event) {
            let _ = send.send(WakeReason::Change { at: Instant::now(), gone: removed(&event) });
        }
    });
    let watcher = watcher.map_err(|e| Failure::failed("cannot watch files").because(e))?;
    let mut watched = WatchedDirs::new(watcher);
    // What an earlier watch had to poll is of no account.
    overlay.store.save_polled(&[])?;

    // State that leads outside, or that nobody can read, is no state to begin with.
    overlay.workspaces(ui, env, &WorkspaceArgs::default())?;
    // Armed before the first scan: what changes in between is seen by one of them.
    arm(ui, &overlay, &mut watched);
    let mut told = Reported::default();
    scan(ui, env, &overlay, &mut told);
    let mut pending = Debounce::new(overlay.settings.debounce, overlay.settings.max_wait);
    let mut last_scan = Instant::now();
    let mut last_arm = Instant::now();
    loop {
        let idle = match (watched.degraded.is_some(), told.has_failed) {
            (true, _) => POLL,
            (_, true) => RETRY,
            _ => SAFETY,
        };
        let due = pending.due().unwrap_or(last_scan + idle);
        let now = Instant::now();
        if due <= now {
            pending.clear();
            arm(ui, &overlay, &mut watched);
            scan(ui, env, &overlay, &mut told);
            last_scan = Instant::now();
            // WorkspaceArgs that were attached meanwhile, directories that syncing made.
            if arm(ui, &overlay, &mut watched) {
                pending.changed(Instant::now());
            }
            continue;
        }
        match wakes.recv_timeout(due - now) {
            Ok(WakeReason::Signal(signal)) => {
                // An edit just before may not have reached us as an event yet.
                scan(ui, env, &overlay, &mut told);
                return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0)));
            }
            Ok(WakeReason::Change { at, gone }) => {
                gone.iter().for_each(|dir| watched.forget(dir));
                // Dated by when it came, not by when we fell asleep: from there on it has to be quiet.
                pending.changed(at);
                let now = Instant::now();
                // A directory may be the news: a new one is armed before it is looked into. Not for every
                // event of a burst, though.
                if !gone.is_empty() || now >= last_arm + REARM {
                    arm(ui, &overlay, &mut watched);
                    last_arm = now;
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::failed("the watcher ended")),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The lock that a watch holds for life; exit 75 at once, with the holder's process id.
fn only_one(overlay: &Overlay) -> Result<Lock> {
    let path = overlay.store.watch_lock_path();
    let Some(mut lock) = Lock::try_take(&path)? else {
        let pid = fs::read_no_follow(&path)?.unwrap_or_default();
        let pid = String::from_utf8_lossy(&pid).into_owned();
        return Err(Failure::new(Exit::Busy, "busy", format!("process {pid} watches this overlay already"))
            .hint(format!("end it first: `kill {pid}`")));
    };
    lock.sign().map_err(|e| Failure::failed(format!("cannot write to {}", path.display())).because(e))?;
    Ok(lock)
}

/// What was told to be open: not again until it is something else.
#[derive(Default)]
struct Reported {
    open: Vec<String>,
    has_failed: bool,
}

/// One sync. What goes wrong is said, once, and tried again.
fn scan(ui: &Ui, env: &Env, overlay: &Overlay, told: &mut Reported) {
    let env = env.later();
    let sync = || {
        let mut disk = Disk::open(&env, overlay, Some(overlay.lock()?))?;
        let mut workspaces = overlay.workspaces(ui, &env, &WorkspaceArgs::default())?;
        converge(&env, overlay, &mut disk, &mut workspaces)
    };
    match sync() {
        Ok(mut outcome) => {
            told.has_failed = !outcome.failures.is_empty();
            if outcome.open == told.open {
                outcome.open.clear();
                outcome.failures.clear();
            } else {
                told.open.clone_from(&outcome.open);
            }
            print(ui, &outcome);
        }
        Err(failure) => {
            told.has_failed = true;
            let what = vec![failure.to_string()];
            if what != told.open {
                ui.warn(&failure);
                told.open = what;
            }
        }
    }
}

/// Watches the directories of the overlay and of every managed file; `true` when that is a change. What
/// cannot be read now (it comes and goes) is found by the next change or scan.
fn arm(ui: &Ui, overlay: &Overlay, watched: &mut WatchedDirs) -> bool {
    let (before, polled) = (watched.degraded.clone(), watched.polled.clone());
    let changed = watched.arm(directories(overlay).into_iter());
    if watched.polled != polled
        && let Err(failure) = overlay.store.save_polled(&watched.polled)
    {
        ui.problem(&failure);
    }
    if let Some(why) = watched.degraded.as_ref().filter(|_| before.is_none()) {
        ui.warn(format!("{why}; looking every {} s instead", POLL.as_secs()));
    }
    changed
}

fn directories(overlay: &Overlay) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = vec![overlay.dir.clone(), overlay.store.workspaces()];
    let listing = overlay.root().ok().flatten().and_then(|root| root.files(&[RESERVED]).ok());
    let listing = listing.unwrap_or_default();
    dirs.extend(listing.dirs.iter().map(|dir| overlay.dir.join(dir)));
    let paths = listing.files;
    let declared: Vec<PathBuf> = overlay.declared().map(|d| d.dirs().collect()).unwrap_or_default();
    for workspace in Workspace::load_all(&overlay.store.workspaces()).unwrap_or_default() {
        let managed = paths.iter().chain(workspace.files.keys());
        // The root as well: a directory that is removed and made anew is news there.
        dirs.push(workspace.root.clone());
        dirs.extend(declared.iter().map(|dir| workspace.root.join(dir)));
        dirs.extend(managed.filter_map(|path| Some(workspace.root.join(path.as_path()).parent()?.to_path_buf())));
    }
    dirs
}
