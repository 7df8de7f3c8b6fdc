//! Sleeping until something happens: a file changes, or a signal arrives.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::proc;

/// How often to look when a change may go unnoticed.
pub const POLL: Duration = Duration::from_millis(250);

/// What wakes a sleeper: a signal that asks this process to end, or else a change.
type Wake = Option<u8>;

/// Whether a watch receives the process's signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signals {
    /// Signals wake the watch and no longer end the process.
    Watched,
    /// Signals have their usual effect.
    Unwatched,
}

/// A set of watched directories.
#[derive(Debug)]
pub struct Watch {
    watcher: Option<RecommendedWatcher>,
    send: Sender<Wake>,
    wakes: Receiver<Wake>,
    /// Whether changes may go unnoticed.
    pub is_blind: bool,
    is_writing: Arc<AtomicBool>,
}

impl Watch {
    pub fn new(signals: Signals) -> Watch {
        let (send, wakes) = mpsc::channel();
        let is_writing = Arc::new(AtomicBool::new(false));
        if signals == Signals::Watched {
            let signals = send.clone();
            let is_writing = is_writing.clone();
            // A blocked write cannot look at the queue, so a signal ends the process then; its claims become free.
            proc::handle_signals(move |signal| {
                !is_writing.load(Ordering::SeqCst) && signals.send(u8::try_from(signal).ok()).is_ok()
            });
        }
        let events = send.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reads are ignored: otherwise each scan would cause the next one.
            if !matches!(event, Ok(notify::Event { kind: notify::EventKind::Access(_), .. })) {
                let _ = events.send(None);
            }
        });
        Watch { is_blind: watcher.is_err(), watcher: watcher.ok(), send, wakes, is_writing }
    }

    /// Calls `write`, which may block; a signal ends the process meanwhile. If a signal arrived before, returns it and
    /// does not call `write`.
    pub fn write(&self, write: impl FnOnce()) -> Option<u8> {
        // From here on a signal ends the process; an earlier one is in the queue.
        self.is_writing.store(true, Ordering::SeqCst);
        let came = self.wakes.try_iter().flatten().next();
        if came.is_none() {
            write();
        }
        self.is_writing.store(false, Ordering::SeqCst);
        came
    }

    /// A function that wakes the watch from another thread, as a signal would.
    pub fn waker(&self) -> impl FnOnce() + Send + 'static {
        let send = self.send.clone();
        move || {
            let _ = send.send(Some(0));
        }
    }

    /// Watches a directory. If the system has no watch left, the caller has to poll.
    pub fn dir(&mut self, dir: &Path) {
        let watched = self.watcher.as_mut().map(|watcher| watcher.watch(dir, RecursiveMode::NonRecursive));
        if !matches!(watched, Some(Ok(()))) {
            self.is_blind = true;
        }
    }

    /// Sleeps until something happens or the time is up, and returns the signal if one arrived.
    pub fn sleep(&self, until: Option<Instant>) -> Result<Option<u8>> {
        let first = match until {
            None => self.wakes.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => self.wakes.recv_timeout(until.saturating_duration_since(Instant::now())),
        };
        let signal = match first {
            Ok(wake) => wake,
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::failed("the file watcher ended")),
        };
        // What has accumulated counts as one.
        Ok(self.wakes.try_iter().flatten().last().or(signal))
    }
}
