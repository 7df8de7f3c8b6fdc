//! Threads, without a panic where the system starts no more of them.

use std::io;
use std::panic::resume_unwind;
use std::thread::{self, JoinHandle, Scope, ScopedJoinHandle};

use crate::error::{Failure, Result};

/// Why a thread could not be started. Exit 4.
pub fn no_thread(cause: io::Error) -> Failure {
    Failure::failed("cannot start a thread")
        .because(cause)
        .hint("end programs that you do not need, or raise the limit that `ulimit -u` shows, and run the command again")
}

/// Starts a thread, or fails as [`no_thread`] says.
pub fn start_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    thread::Builder::new().spawn(work).map_err(no_thread)
}

/// Begins work in a thread of its own. Where the system starts none, it is done at once, and the result is in `Err`.
pub fn begin<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Clone + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, T> {
    thread::Builder::new().spawn_scoped(scope, work.clone()).map_err(|_| work())
}

/// The result of work that was begun, when it has ended.
pub fn ended<T>(begun: Result<ScopedJoinHandle<'_, T>, T>) -> T {
    match begun {
        Ok(running) => running.join().unwrap_or_else(|panic| resume_unwind(panic)),
        Err(done) => done,
    }
}

/// Maps a list on all cores and keeps its order. A short list is mapped on this thread, because another one would cost
/// more than it saves.
pub fn map_parallel<T: Sync, R: Send>(items: &[T], map: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    if items.len() < 16 || cores == 1 {
        return items.iter().map(map).collect();
    }
    let map = &map;
    thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(cores));
        let running: Vec<_> =
            parts.map(|part| begin(scope, move || part.iter().map(map).collect::<Vec<R>>())).collect();
        running.into_iter().flat_map(ended).collect()
    })
}
