//! What becomes of what is written to stdout and stderr.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat, stat};
use rustix::io::ioctl_fionread;

/// A stream as a file: the standard library counts what its own streams cannot take as written if they are open for
/// reading only.
pub fn file(stream: impl AsFd) -> io::Result<File> {
    stream.as_fd().try_clone_to_owned().map(File::from)
}

/// Waits, at most for `limit`, until the reader of our pipe has read all of it; `false` when nobody reads any more. What
/// does not go to a pipe counts as read.
pub fn is_read(stream: impl AsFd, limit: Duration) -> bool {
    let start = Instant::now();
    loop {
        let mut polled = [PollFd::new(&stream, PollFlags::empty())];
        let pause = Timespec { tv_sec: 0, tv_nsec: 0 };
        if poll(&mut polled, Some(&pause)).is_ok_and(|n| n > 0) && polled[0].revents().contains(PollFlags::ERR) {
            return false;
        }
        let is_pipe = fstat(&stream).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
        if !is_pipe || start.elapsed() >= limit || ioctl_fionread(&stream).is_ok_and(|left| left == 0) {
            return true;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether somebody can have read what was written: it was not thrown away, and [`is_read`] says so after a second.
pub fn is_shown(stream: impl AsFd) -> bool {
    let null = stat("/dev/null").map(|null| null.st_rdev);
    let is_null = fstat(&stream).is_ok_and(|found| null == Ok(found.st_rdev));
    !is_null && is_read(stream, Duration::from_secs(1))
}
