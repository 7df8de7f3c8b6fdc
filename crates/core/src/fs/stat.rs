//! What the system tells of a file without its content.

use std::io;
use std::path::Path;

use rustix::fs::{Access, FileType, access};

use crate::error::{At, Result};

/// Whether something is at `path`, also behind links. Fails where nobody can tell: what is in a closed directory is not
/// gone. Exit 4.
pub fn is_there(path: &Path) -> Result<bool> {
    match path.metadata() {
        Ok(_) => Ok(true),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        Err(e) => Err(e).at("look at", path),
    }
}

/// Fails if nothing can be made in a directory or, while it is not there, in the one above it that is. Exit 4.
pub fn require_writable(dir: &Path) -> Result<()> {
    let there = dir.ancestors().find(|dir| dir.symlink_metadata().is_ok()).unwrap_or(dir);
    access(there, Access::WRITE_OK | Access::EXEC_OK).at("write to", there)
}

/// What the system tells of a file without its content: a change of that changes this, but for a change
/// within one tick of the file system's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stat {
    device: u64,
    inode: u64,
    mode: u32,
    size: u64,
    modified: (i64, u64),
    changed: (i64, u64),
}

impl Stat {
    #[expect(clippy::unnecessary_cast, reason = "the fields' types differ between systems")]
    pub(super) fn of(stat: rustix::fs::Stat) -> Stat {
        Stat {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            mode: stat.st_mode as u32,
            size: stat.st_size as u64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as u64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as u64),
        }
    }

    /// The file's size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// When its content changed last, in nanoseconds since 1970.
    pub fn modified(&self) -> i128 {
        let (seconds, nanos) = self.modified;
        i128::from(seconds) * 1_000_000_000 + i128::from(nanos)
    }

    /// Its kind and permission bits.
    pub fn mode(&self) -> u32 {
        self.mode
    }

    /// All of it as bytes: equal for equal values, and different for different ones.
    pub fn key(&self) -> [u8; 60] {
        let mut key = [0; 60];
        key[0..8].copy_from_slice(&self.device.to_le_bytes());
        key[8..16].copy_from_slice(&self.inode.to_le_bytes());
        key[16..20].copy_from_slice(&self.mode.to_le_bytes());
        key[20..28].copy_from_slice(&self.size.to_le_bytes());
        for (at, (seconds, nanos)) in [(28, self.modified), (44, self.changed)] {
            key[at..at + 8].copy_from_slice(&seconds.to_le_bytes());
            key[at + 8..at + 16].copy_from_slice(&nanos.to_le_bytes());
        }
        key
    }

    /// Whether it is a directory.
    pub fn is_dir(&self) -> bool {
        FileType::from_raw_mode(self.mode as rustix::fs::RawMode) == FileType::Directory
    }

    /// Whether it is a device, such as /dev/null: what a path is called says nothing about that.
    pub fn is_device(&self) -> bool {
        let kind = FileType::from_raw_mode(self.mode as rustix::fs::RawMode);
        matches!(kind, FileType::CharacterDevice | FileType::BlockDevice)
    }

    /// Of any path, links followed; none when nothing is there.
    pub fn at(path: &Path) -> Option<Stat> {
        rustix::fs::stat(path).ok().map(Stat::of)
    }

    /// Whether a change after this was read would show in it: the last one was long enough before `now`.
    /// A clock without fractions ticks in seconds, or in two.
    pub fn is_settled(&self, now: jiff::Timestamp) -> bool {
        let (seconds, nanos) = self.changed;
        let tick = if nanos == 0 { 2_000 } else { 100 };
        let changed = i128::from(seconds) * 1_000 + i128::from(nanos) / 1_000_000;
        changed + tick < i128::from(now.as_millisecond())
    }
}
