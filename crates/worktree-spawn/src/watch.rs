//! Sleeping until something happens: a file comes, a process ends, a signal asks us to end. Nothing wakes us else.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::proc;

/// Why we woke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Something changed, or may have.
    Change,
    /// It is time.
    Time,
    /// A signal asks us to end.
    Signal(i32),
}

/// What is watched.
#[derive(Debug)]
pub struct Watch {
    watcher: Option<RecommendedWatcher>,
    send: Sender<Wake>,
    wakes: Receiver<Wake>,
    /// Processes whose end is waited for.
    pids: Vec<u32>,
    ended: Arc<Mutex<BTreeSet<u32>>>,
    is_blind: bool,
    is_writing: Arc<AtomicBool>,
}

impl Watch {
    /// With `hears_signals` signals come here from now on, and end nothing by themselves.
    pub fn new(hears_signals: bool) -> Watch {
        let (send, wakes) = mpsc::channel();
        let is_writing = Arc::new(AtomicBool::new(false));
        if hears_signals {
            let signals = send.clone();
            let is_writing = is_writing.clone();
            // Blocked in a write we would not look: then it ends us, and whatever was claimed is free.
            proc::handle_signals(move |signal| {
                !is_writing.load(Ordering::SeqCst) && signals.send(Wake::Signal(signal)).is_ok()
            });
        }
        let events = send.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading is no news: it must not trigger the scan that reads.
            if !matches!(event, Ok(notify::Event { kind: notify::EventKind::Access(_), .. })) {
                let _ = events.send(Wake::Change);
            }
        });
        let watcher = watcher.ok();
        let is_blind = watcher.is_none();
        Watch { watcher, send, wakes, pids: Vec::new(), ended: Arc::default(), is_blind, is_writing }
    }

    /// Writes, which may block: a signal ends us meanwhile. Gives back one that came before.
    pub fn write(&self, write: impl FnOnce()) -> Option<i32> {
        // From here on a signal ends us; one that came before is in the queue.
        self.is_writing.store(true, Ordering::SeqCst);
        let signal = |wake| if let Wake::Signal(signal) = wake { Some(signal) } else { None };
        let came = self.wakes.try_iter().find_map(signal);
        if came.is_none() {
            write();
        }
        self.is_writing.store(false, Ordering::SeqCst);
        came
    }

    /// Wakes from another thread, as a signal would.
    pub fn waker(&self) -> impl FnOnce() + Send + 'static {
        let send = self.send.clone();
        move || {
            let _ = send.send(Wake::Signal(0));
        }
    }

    /// Watches a directory; where the system has no watch left, we have to look ourselves.
    pub fn dir(&mut self, dir: &Path) {
        let watched = self.watcher.as_mut().map(|watcher| watcher.watch(dir, RecursiveMode::NonRecursive));
        if !matches!(watched, Some(Ok(()))) {
            self.is_blind = true;
        }
    }

    /// Whether changes may go unseen.
    pub fn is_blind(&self) -> bool {
        self.is_blind
    }

    /// Waits for a process to end, too; once for each.
    pub fn process(&mut self, pid: u32) {
        if !self.pids.contains(&pid) {
            self.pids.push(pid);
            let (send, ended) = (self.send.clone(), self.ended.clone());
            let wake = move || {
                ended.lock().unwrap_or_else(PoisonError::into_inner).insert(pid);
                let _ = send.send(Wake::Change);
            };
            if !proc::when_ended(pid, wake) {
                self.is_blind = true;
            }
        }
    }

    /// Whether a process that was waited for has ended.
    pub fn has_ended(&self, pid: u32) -> bool {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).contains(&pid)
    }

    /// Sleeps until something happens, or until then. What has piled up is one wake.
    pub fn sleep(&self, until: Option<Instant>) -> Result<Wake> {
        let first = match until {
            None => self.wakes.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => self.wakes.recv_timeout(until.saturating_duration_since(Instant::now())),
        };
        let mut wake = match first {
            Ok(wake) => wake,
            Err(RecvTimeoutError::Timeout) => Wake::Time,
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::failed("the watcher ended")),
        };
        for more in self.wakes.try_iter() {
            if matches!(more, Wake::Signal(_)) {
                wake = more;
            }
        }
        Ok(wake)
    }
}
