//! `watch`: syncs whenever something changes, until it is told to end.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc;
use shopfloor_core::ui::Ui;

use super::preview::preview;
use crate::apply::far_side::{FarSync, sync_far};
use crate::apply::outcome::SyncOutcome;
use crate::apply::sync::sync_all;
use crate::facts::overlay::Overlay;
use crate::failure;
use crate::store::RESERVED;
use crate::watch::{Debounce, WakeReason, WatchedDirs, listen};
use crate::workspace::Workspace;

/// A scan this often finds changes whose events were lost.
const SAFETY: Duration = Duration::from_secs(60);
/// The directories are watched anew this often while events keep coming.
const REARM: Duration = Duration::from_millis(50);
/// A sync that failed is tried again after this time.
const RETRY: Duration = Duration::from_secs(10);
/// Other machines are asked this often; one that does not answer as often as changes are looked for.
const FAR: Duration = Duration::from_secs(10);
/// This often it is looked whether they have answered.
const LOOK: Duration = Duration::from_secs(1);
/// Directories that cannot be watched are scanned this often.
const POLL: Duration = Duration::from_secs(2);

pub fn run(ui: &Ui, overlay: &Overlay) -> Result<Exit> {
    if !overlay.settings.enabled {
        ui.note("`enabled` is false, so there is nothing to watch");
        return Ok(Exit::Done);
    }
    if ui.is_dry() {
        overlay.require()?;
        return Ok(preview(ui, overlay, &overlay.workspaces(&[])?)?.0);
    }
    drop(overlay.create()?);
    let _lock = only_one(overlay)?;
    let (watcher, wakes) = listen();
    // The directories that an earlier watch had to poll may be watched by this one.
    overlay.store.save_polled(&[])?;
    // A state that is damaged or cannot be read ends the watch before it begins.
    overlay.workspaces(&[])?;
    WatchRun {
        ui,
        overlay,
        watched: WatchedDirs::new(watcher),
        reported: [Vec::new(), Vec::new()],
        has_failed: false,
        far_due: Instant::now(),
        far: None,
    }
    .run(&wakes)
}

/// The lock that a watch holds for life; when another one holds it, exit 75 at once with that one's process id.
fn only_one(overlay: &Overlay) -> Result<Lock> {
    let path = overlay.store.watch_lock_path();
    let Some(mut lock) = Lock::try_take(&path)? else {
        let pid = fs::read_no_follow(&path)?.unwrap_or_default();
        let pid = String::from_utf8_lossy(&pid).into_owned();
        return Err(failure::BUSY
            .failure(format!("process {pid} watches this overlay already"))
            .hint(format!("end it first: `kill {pid}`")));
    };
    lock.sign().map_err(|e| Failure::failed(format!("cannot write to {}", path.display())).because(e))?;
    Ok(lock)
}

struct WatchRun<'a> {
    ui: &'a Ui,
    overlay: &'a Overlay,
    watched: WatchedDirs,
    /// What the last sync here, and the last one of other machines, reported as open. It is not reported again until it changes.
    reported: [Vec<String>; 2],
    has_failed: bool,
    /// When other machines are asked again, and what they are being asked.
    far_due: Instant,
    far: Option<JoinHandle<Result<Option<FarSync>>>>,
}

impl WatchRun<'_> {
    fn run(mut self, wakes: &Receiver<WakeReason>) -> Result<Exit> {
        // The directories are watched before the first scan, so that no change in between is missed.
        self.arm();
        let mut scan_began = Instant::now();
        self.scan();
        let settings = &self.overlay.settings;
        let mut pending = Debounce::new(settings.debounce, settings.max_wait);
        let mut last_scan = Instant::now();
        let mut last_arm = Instant::now();
        loop {
            let due = pending.due().unwrap_or(last_scan + self.idle_time()).min(self.far_due);
            let now = Instant::now();
            if due <= now {
                pending.clear();
                self.arm();
                scan_began = Instant::now();
                self.scan();
                last_scan = Instant::now();
                // Meanwhile workspaces may have been attached, and the sync may have made directories.
                if self.arm() {
                    pending.changed(Instant::now());
                }
                continue;
            }
            match wakes.recv_timeout(due - now) {
                Ok(WakeReason::Signal(signal)) => {
                    // The event of an edit just before the signal may not have arrived.
                    self.scan();
                    return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0)));
                }
                Ok(WakeReason::Change(at, gone)) => {
                    gone.iter().for_each(|dir| self.watched.forget(dir));
                    // The quiet time begins when the event came, not when it is read here. The last scan has seen
                    // what came before it.
                    if at >= scan_began {
                        pending.changed(at);
                    }
                    let now = Instant::now();
                    // A new directory must be watched before files appear in it; in a burst of events not for each.
                    if !gone.is_empty() || now >= last_arm + REARM {
                        self.arm();
                        last_arm = now;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Failure::failed("the watcher ended")),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// How long to wait for the next scan when nothing changes.
    fn idle_time(&self) -> Duration {
        match (self.watched.degraded.is_some(), self.has_failed) {
            (true, _) => POLL,
            (_, true) => RETRY,
            _ => SAFETY,
        }
    }

    /// Syncs once. A failure is reported once and tried again later.
    fn scan(&mut self) {
        let overlay = Overlay { env: self.overlay.env.later(), ..self.overlay.clone() };
        self.report(sync_all(&overlay), false);
        let is_asked = self.far.is_some();
        if let Some(asked) = self.far.take_if(|asked| asked.is_finished()) {
            let far = asked.join().unwrap_or_else(|_| Err(Failure::failed("a sync of other machines was cut off")));
            let is_all = matches!(&far, Ok(Some((_, true))));
            self.far_due = Instant::now() + if is_all { FAR } else { SAFETY };
            if let Some(far) = far.map(|far| far.map(|(outcome, _)| outcome)).transpose() {
                self.report(far, true);
            }
        } else if !is_asked && self.far_due <= Instant::now() {
            // A machine that is slow delays nothing here.
            match proc::start_thread(move || sync_far(&overlay, None, &[])) {
                Ok(asked) => self.far = Some(asked),
                Err(failure) => {
                    self.far_due = Instant::now() + SAFETY;
                    self.report(Err(failure), true);
                }
            }
        }
        if self.far.is_some() {
            self.far_due = Instant::now() + LOOK;
        }
    }

    /// Says what a sync has done, and what is open if that is news.
    fn report(&mut self, scanned: Result<SyncOutcome>, is_far: bool) {
        let [near, far] = &mut self.reported;
        let reported = if is_far { far } else { near };
        match scanned {
            Ok(mut outcome) => {
                self.has_failed = !outcome.failures.is_empty();
                if outcome.open == *reported {
                    outcome.open.clear();
                    outcome.failures.clear();
                } else {
                    reported.clone_from(&outcome.open);
                }
                outcome.print(self.ui);
            }
            Err(failure) => {
                self.has_failed = true;
                let open = vec![failure.to_string()];
                if open != *reported {
                    self.ui.warn(&failure);
                    *reported = open;
                }
            }
        }
    }

    /// Watches the directories of the overlay and of every managed file; `true` when that is a change. A directory
    /// that cannot be read now is found by the next change or scan.
    fn arm(&mut self) -> bool {
        let watched = &mut self.watched;
        let (before, polled) = (watched.degraded.clone(), watched.polled.clone());
        let has_changed = watched.arm(directories(self.overlay).into_iter());
        if watched.polled != polled
            && let Err(failure) = self.overlay.store.save_polled(&watched.polled)
        {
            self.ui.problem(&failure);
        }
        if let Some(why) = watched.degraded.as_ref().filter(|_| before.is_none()) {
            self.ui.warn(format!("{why}; polling every {} s instead", POLL.as_secs()));
        }
        has_changed
    }
}

fn directories(overlay: &Overlay) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = vec![overlay.dir.clone(), overlay.store.workspaces()];
    let listing = overlay.root().ok().flatten().and_then(|root| root.files(&[RESERVED]).ok());
    let listing = listing.unwrap_or_default();
    dirs.extend(listing.dirs.iter().map(|dir| overlay.dir.join(dir)));
    let declared: Vec<PathBuf> = overlay.declared().map(|d| d.dirs().collect()).unwrap_or_default();
    let all = Workspace::load_all(&overlay.store.workspaces()).unwrap_or_default();
    for workspace in all.into_iter().filter(|workspace| workspace.far.is_none()) {
        let managed = listing.files.iter().chain(workspace.files.keys());
        // The root as well, where a directory that is removed and made anew shows up.
        dirs.push(workspace.root.clone());
        dirs.extend(declared.iter().map(|dir| workspace.root.join(dir)));
        dirs.extend(managed.filter_map(|path| Some(workspace.root.join(path.as_path()).parent()?.to_path_buf())));
    }
    dirs
}
