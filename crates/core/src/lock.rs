//! Advisory file locks, which the system releases when their process ends. No pid file is used.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::error::{At, Exit, Failure, Result};
use crate::fs;
use crate::proc::start_thread;

/// How long a command waits for a lock before it ends with exit 75.
const PATIENCE: Duration = Duration::from_secs(10);

/// A held lock; dropping it, or dying, releases it.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock on `path`; creates the file with mode 0600 and its directory with 0700. Waits at most 10 s and
    /// then fails with exit 75, kind `busy`. After taking the lock, the caller must read again what the lock guards.
    pub fn take(path: &Path) -> Result<Lock> {
        let start = Instant::now();
        loop {
            if let Some(lock) = Lock::try_take(path)? {
                return Ok(lock);
            }
            let file = fs::open_private(path)?;
            match queued(file, PATIENCE.saturating_sub(start.elapsed()))? {
                Some(Ok(file)) if fs::is_open_at(&file, path) => return Ok(Lock { file }),
                // The last holder removed the file, so this lock guards nothing. Try again.
                Some(Ok(_)) => {}
                Some(Err(e)) => return Err(e).at("lock", path),
                None => {
                    let busy = format!("another process holds {}", path.display());
                    let busy = Failure::new(Exit::Busy, "busy", busy);
                    return Err(busy.hint("wait for it to end and run the same command again"));
                }
            }
        }
    }

    /// Writes our process id into the lock file, so that a person can see who holds the lock. No program reads it.
    pub fn sign(&mut self) -> std::io::Result<()> {
        self.file.set_len(0)?;
        self.file.write_all(std::process::id().to_string().as_bytes())
    }

    /// Shares the lock with children that are started from now on. The lock is released when we and all of them have
    /// ended.
    pub fn share_with_children(&self) -> Result<()> {
        let shared = rustix::io::fcntl_setfd(&self.file, rustix::io::FdFlags::empty());
        shared.map_err(|e| Failure::failed("cannot share a lock with a child").because(std::io::Error::from(e)))
    }

    /// Stops sharing the lock with children that are started from now on.
    pub fn keep_from_children(&self) -> Result<()> {
        let kept = rustix::io::fcntl_setfd(&self.file, rustix::io::FdFlags::CLOEXEC);
        kept.map_err(|e| Failure::failed("cannot keep a lock from a child").because(std::io::Error::from(e)))
    }

    /// Whether a process holds the lock at `path`. This briefly takes a shared lock, so that concurrent calls do not
    /// disturb each other.
    pub fn is_held(path: &Path) -> Result<bool> {
        let Some(file) = fs::open_existing(path)? else { return Ok(false) };
        Ok(!is_got(file.try_lock_shared(), path)?)
    }

    /// Takes the lock on an existing file. Returns `None` if a process holds it, or if the file was removed before we
    /// got the lock. If the file is renamed, the lock stays with it.
    pub fn try_existing(path: &Path) -> Result<Option<Lock>> {
        let Some(file) = fs::open_existing(path)? else { return Ok(None) };
        Ok((is_got(file.try_lock(), path)? && fs::is_open_at(&file, path)).then_some(Lock { file }))
    }

    /// Takes the lock if nobody holds it.
    pub fn try_take(path: &Path) -> Result<Option<Lock>> {
        if let Some(dir) = path.parent() {
            fs::create_private_dir(dir)?;
        }
        loop {
            let file = fs::open_private(path)?;
            if !is_got(file.try_lock(), path)? {
                return Ok(None);
            }
            // The last holder may have removed the file. Then the path belongs to another lock, or to none.
            if fs::is_open_at(&file, path) {
                return Ok(Some(Lock { file }));
            }
        }
    }
}

/// Whether we got a lock; `false` if somebody else has it.
fn is_got(tried: std::result::Result<(), TryLockError>, path: &Path) -> Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(e).at("lock", path),
    }
}

/// Waits for the lock in the system's queue, which is first come, first served. Returns `None` after `limit`; the
/// thread that still waits then releases the lock as soon as it gets it.
fn queued(file: File, limit: Duration) -> Result<Option<std::io::Result<File>>> {
    let (send, receive) = mpsc::channel();
    start_thread(move || {
        let locked = file.lock().map(|()| file);
        let _ = send.send(locked);
    })?;
    Ok(receive.recv_timeout(limit).ok())
}
