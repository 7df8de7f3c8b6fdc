//! The lock of the `up` that stays: whether one runs, and how it is asked to end.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc;

use crate::failure;
use crate::layout::{self, RootLock};
use crate::poll;

/// How long a running `up` may take to end its sessions.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Whether an `up` runs.
pub fn is_running(root: &Path) -> Result<bool> {
    Lock::is_held(&layout::lock(root, RootLock::Daemon))
}

/// Exit 75: another `up` runs.
pub fn refuse_second() -> Failure {
    failure::BUSY
        .failure("another `up` runs for this root")
        .hint("end it with `worker-ctl down`; `worker-ctl status` shows its workers")
}

/// Takes the lock that `up` holds for life, and writes our process id into it. A probe may hold the lock for an
/// instant, so this tries several times.
pub fn take(root: &Path) -> Result<Lock> {
    let path = layout::lock(root, RootLock::Daemon);
    let taken = poll::answer(Duration::from_secs(2), Duration::from_millis(10), || Lock::try_take(&path))?;
    let mut lock = taken.ok_or_else(refuse_second)?;
    lock.sign().map_err(|e| Failure::failed(format!("cannot write to {}", path.display())).because(e))?;
    Ok(lock)
}

/// Sends the signal to this process again after a while, so that a shutdown that hangs is ended.
pub fn limit_shutdown(signal: i32) {
    let _ = proc::start_thread(move || {
        thread::sleep(PATIENCE);
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _ = kill_process(getpid(), signal);
        }
    });
}

/// Asks a running `up` to end, and waits until its lock is free. At once, it leaves its sessions to us.
pub fn end(root: &Path, at_once: bool) -> Result<()> {
    let mut asked = None;
    let ended = poll::answer(PATIENCE, Duration::from_millis(20), || {
        if !is_running(root)? {
            return Ok(Some(()));
        }
        // An `up` that has just taken the lock may not have written its id yet.
        let text = fs::read_no_follow(&layout::lock(root, RootLock::Daemon))?.unwrap_or_default();
        let pid = String::from_utf8_lossy(&text).trim().parse().ok().and_then(Pid::from_raw);
        if let Some(pid) = pid.filter(|pid| asked.replace(*pid) != Some(*pid)) {
            let _ = kill_process(pid, Signal::TERM);
            if at_once {
                let _ = kill_process(pid, Signal::INT);
            }
        }
        Ok(None)
    })?;
    ended.ok_or_else(|| {
        failure::BUSY
            .failure("the running `up` does not end")
            .hint("kill that process, then run `worker-ctl down` again")
    })
}
