//! What is watched, and when it has been quiet for long enough. Events are only hints; the scan decides.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use shopfloor_core::proc;

/// A reason to wake up.
pub enum WakeReason {
    /// Something changed at this time, or may have changed; with the paths that were removed.
    Change(Instant, Vec<PathBuf>),
    /// A signal asks the watch to end.
    Signal(i32),
}

/// A watcher without directories yet, or why there is none, and the reasons to wake up as they come.
pub fn listen() -> (notify::Result<RecommendedWatcher>, Receiver<WakeReason>) {
    let (send, wakes) = mpsc::channel();
    let signals = send.clone();
    proc::handle_signals(move |signal| signals.send(WakeReason::Signal(signal)).is_ok());
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if is_change(&event) {
            let now = Instant::now();
            // A directory made anew at such a path must be watched anew.
            let removal = event.ok().filter(|event| matches!(event.kind, EventKind::Remove(_)));
            let _ = send.send(WakeReason::Change(now, removal.map(|event| event.paths).unwrap_or_default()));
        }
    });
    (watcher, wakes)
}

/// Whether an event means that something changed. Reading does not count, because it must not trigger the scan that
/// reads. An overflow or an error counts as a change.
fn is_change(event: &notify::Result<notify::Event>) -> bool {
    !matches!(event, Ok(notify::Event { kind: EventKind::Access(_), .. }))
}

/// When to act on changes: after a quiet time, or after the longest wait for it. It holds two instants however many
/// events there are, so nothing overflows.
pub struct Debounce {
    quiet: Duration,
    longest: Duration,
    span: Option<(Instant, Instant)>,
}

impl Debounce {
    /// The longest wait is the time until a change has arrived, so the sync begins a little before it ends.
    pub fn new(quiet: Duration, longest: Duration) -> Debounce {
        let longest = longest - longest / 20;
        Debounce { quiet, longest: longest.max(quiet), span: None }
    }

    pub fn changed(&mut self, now: Instant) {
        let first = self.span.map_or(now, |(first, _)| first);
        self.span = Some((first, now));
    }

    pub fn clear(&mut self) {
        self.span = None;
    }

    /// When it is time to act, if anything is pending.
    pub fn due(&self) -> Option<Instant> {
        self.span.map(|(first, last)| (last + self.quiet).min(first + self.longest))
    }
}

/// The directories that are watched, each with its identity: when a directory is removed and made anew at the same
/// path, the system silently stops watching it.
pub struct WatchedDirs {
    /// Where there is none, everything is polled.
    watcher: notify::Result<RecommendedWatcher>,
    dirs: BTreeMap<PathBuf, (u64, u64)>,
    /// Why some directories cannot be watched, if so. They are polled instead.
    pub degraded: Option<String>,
    /// The directories that have to be polled.
    pub polled: Vec<PathBuf>,
}

impl WatchedDirs {
    pub fn new(watcher: notify::Result<RecommendedWatcher>) -> WatchedDirs {
        WatchedDirs { watcher, dirs: BTreeMap::new(), degraded: None, polled: Vec::new() }
    }

    /// Forgets a directory that is gone: a new one may even have the same inode.
    pub fn forget(&mut self, dir: &Path) {
        if let (Some(_), Ok(watcher)) = (self.dirs.remove(dir), &mut self.watcher) {
            let _ = watcher.unwatch(dir);
        }
    }

    /// Watches the nearest existing ancestors of these directories and no others. `true` when that is a change: a scan
    /// is due then, because earlier changes were not seen.
    pub fn arm(&mut self, wanted: impl Iterator<Item = PathBuf>) -> bool {
        let living = wanted.filter_map(|dir| dir.ancestors().find_map(|dir| Some((dir.to_path_buf(), identity(dir)?))));
        let wanted: BTreeMap<PathBuf, (u64, u64)> = living.collect();
        let stale: Vec<PathBuf> =
            self.dirs.iter().filter(|(dir, id)| wanted.get(*dir) != Some(id)).map(|(dir, _)| dir.clone()).collect();
        stale.iter().for_each(|dir| self.forget(dir));
        let mut changed = false;
        self.degraded = None;
        self.polled.clear();
        let new: Vec<_> = wanted.into_iter().filter(|(dir, _)| !self.dirs.contains_key(dir)).collect();
        for (dir, id) in new {
            let armed = match &mut self.watcher {
                Ok(watcher) => watcher.watch(&dir, RecursiveMode::NonRecursive).map_err(|e| e.to_string()),
                Err(why) => Err(why.to_string()),
            };
            match armed {
                Ok(()) => {
                    changed = true;
                    self.dirs.insert(dir, id);
                }
                Err(e) => {
                    self.degraded = Some(format!("cannot watch {}: {e}", dir.display()));
                    self.polled.push(dir);
                }
            }
        }
        changed
    }
}

fn identity(dir: &Path) -> Option<(u64, u64)> {
    let meta = dir.symlink_metadata().ok().filter(|m| m.is_dir())?;
    Some((meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_is_due_after_the_quiet_time_or_the_longest_wait() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut pending = Debounce::new(Duration::from_millis(100), Duration::from_millis(200));
        assert_eq!(pending.due(), None);
        pending.changed(at(0));
        assert_eq!(pending.due(), Some(at(100)));
        pending.changed(at(90));
        pending.changed(at(180));
        assert_eq!(pending.due(), Some(at(190)));
        pending.clear();
        assert_eq!(pending.due(), None);
    }

    #[test]
    fn reading_is_not_a_change_and_an_unknown_event_is_one() {
        use notify::event::{AccessKind, AccessMode, Event, Flag};
        let event = |kind| Ok(Event::new(kind));
        assert!(!is_change(&event(EventKind::Access(AccessKind::Open(AccessMode::Any)))));
        assert!(is_change(&event(EventKind::Any)));
        assert!(is_change(&Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan))));
        assert!(is_change(&Err(notify::Error::generic("lost"))));
    }
}
