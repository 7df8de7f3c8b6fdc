//! Displaced files. A program that holds a file open while it is replaced goes on writing into the old file. So the old
//! file stays under a name of its own until no program can write to it any more.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;

use super::read::open_plain;
use super::{RESERVED, changed, list, read_own, remove, unique_name};
use crate::error::Result;
use crate::hash::Digest;
use crate::path::RelPath;

/// What follows [`RESERVED`] in the name of a displaced file.
const MARK: &str = "late-";

/// How long a file is kept if the system does not tell whether a program can write to it.
const UNTOLD: Duration = Duration::from_secs(24 * 60 * 60);

/// A file that was displaced by its replacement and may still be written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplacedFile {
    /// Where it is now.
    pub file: PathBuf,
    /// The digest of the text that was displaced.
    pub before: Digest,
    /// The digest of the text that displaced it. Until the two files are exchanged, the file at this path has that
    /// text.
    ours: Digest,
    /// The hash of the path that it had in its directory tree.
    path: String,
}

/// Who can write to a displaced file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// Nobody.
    None,
    /// Some program holds it open for writing, or has mapped it.
    Some,
    /// The system does not tell: the file system has no leases, or the file is another user's.
    Unknown,
}

impl DisplacedFile {
    /// The name of a file that `target` is about to displace.
    pub(super) fn name(target: &RelPath, before: &Digest, ours: &Digest) -> String {
        let unique = unique_name();
        let unique = unique.strip_prefix(RESERVED).unwrap_or(&unique);
        format!("{RESERVED}{MARK}{before}-{ours}-{}-{unique}", hashed(target))
    }

    /// Every displaced file in a directory.
    pub fn list(dir: &Path) -> Result<Vec<DisplacedFile>> {
        let names = list(dir)?;
        Ok(names.iter().filter_map(|name| DisplacedFile::parse(dir, name)).collect())
    }

    fn parse(dir: &Path, name: &OsStr) -> Option<DisplacedFile> {
        let mut parts = name.to_str()?.strip_prefix(RESERVED)?.strip_prefix(MARK)?.splitn(4, '-');
        let mut digest = || Digest::parse(parts.next()?);
        let (before, ours) = (digest()?, digest()?);
        Some(DisplacedFile { file: dir.join(name), before, ours, path: parts.next()?.to_owned() })
    }

    /// Whether this is the path that it had.
    pub fn was(&self, path: &RelPath) -> bool {
        self.path == hashed(path)
    }

    /// Who can write to it now.
    pub fn writers(&self) -> Writers {
        open_plain(&self.file).map_or(Writers::Unknown, |file| Writers::of(&file))
    }

    /// Whether it may be taken: no program can write to it, or the system does not tell and the file has not changed
    /// for a day.
    pub fn is_released(&self, now: jiff::Timestamp) -> bool {
        match self.writers() {
            Writers::None => true,
            Writers::Some => false,
            Writers::Unknown => self.is_old(now),
        }
    }

    /// Whether nothing has happened to it for a day.
    pub fn is_old(&self, now: jiff::Timestamp) -> bool {
        changed(&self.file).is_none_or(|at| now.duration_since(at).unsigned_abs() > UNTOLD)
    }

    /// Its text; `None` when somebody has removed it, or when a killed run never came to displace anything.
    pub fn read(&self) -> Result<Option<Vec<u8>>> {
        Ok(read_own(&self.file)?.filter(|bytes| Digest::of(bytes) != self.ours))
    }

    /// Removes it.
    pub fn remove(&self) -> Result<()> {
        remove(&self.file)
    }
}

/// Whether this is the name of a displaced file, which no sweep removes.
pub fn is_displaced(name: &OsStr) -> bool {
    name.to_str().and_then(|name| name.strip_prefix(RESERVED)).is_some_and(|rest| rest.starts_with(MARK))
}

fn hashed(path: &RelPath) -> String {
    Digest::of(path.to_string().as_bytes()).to_string()[..16].to_owned()
}

/// Chooses the signal that breaks a lease (`asm-generic/fcntl.h`; the libc crate has no name for it).
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

impl Writers {
    /// Who can write to an open file. The kernel grants a read lease only where nobody has the file open for writing and
    /// no mapping of it can be written to (fcntl(2), "Leases").
    #[cfg(target_os = "linux")]
    #[expect(unsafe_code, reason = "no safe wrapper of F_SETLEASE is published; the calls take and give integers only")]
    pub fn of(file: &File) -> Writers {
        let fd = file.as_raw_fd();
        // SAFETY: the descriptor is open for as long as `file` is borrowed, and these commands of fcntl use no memory.
        // The signal that breaks a lease would end this process, so it becomes one that is ignored by default.
        let granted = unsafe {
            libc::fcntl(fd, F_SETSIG, libc::SIGURG);
            libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK)
        };
        if granted == 0 {
            // SAFETY: as above.
            unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK) };
            return Writers::None;
        }
        match Errno::from_io_error(&std::io::Error::last_os_error()) {
            Some(Errno::AGAIN) => Writers::Some,
            _ => Writers::Unknown,
        }
    }

    /// Who can write to an open file: other systems have no leases.
    #[cfg(not(target_os = "linux"))]
    pub fn of(_: &File) -> Writers {
        Writers::Unknown
    }
}

/// Copies a file that `rename` displaces. What was written just before that is copied too.
pub(super) fn copy(old: &mut File, mut copy: File, rename: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    io::copy(old, &mut copy)?;
    rename()?;
    // The first copy stays if this fails.
    let again = old.rewind().and_then(|()| copy.rewind()).and_then(|()| io::copy(old, &mut copy));
    if let Ok(length) = again {
        let _ = copy.set_len(length);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn a_name_tells_the_path_and_the_text() {
        let path = RelPath::parse("a/b.jsonl").unwrap();
        let name = DisplacedFile::name(&path, &Digest::of(b"1\n"), &Digest::of(b"2\n"));
        assert!(is_displaced(OsStr::new(&name)) && !is_displaced(OsStr::new(&unique_name())));
        let parsed = DisplacedFile::parse(Path::new("/d"), OsStr::new(&name)).unwrap();
        assert_eq!(parsed.before, Digest::of(b"1\n"));
        assert!(parsed.was(&path) && !parsed.was(&RelPath::parse("a/c").unwrap()));
        assert_eq!(DisplacedFile::parse(Path::new("/d"), OsStr::new(".shopfloor-tmp-late-x-y")), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn only_writers_hold_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let writer = File::create(&path).unwrap();
        let reader = File::open(&path).unwrap();
        // A process that another test starts at this moment has a copy of every descriptor until its `exec`.
        let is_left = || (0..10_000).any(|_| Writers::of(&reader) == Writers::None);
        assert_eq!(Writers::of(&reader), Writers::Some);
        drop(writer);
        assert!(is_left());
        drop(OpenOptions::new().append(true).open(&path).unwrap());
        assert!(is_left());
    }
}
