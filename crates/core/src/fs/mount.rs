//! Mounts: no rename crosses them. Two bind mounts of one file system have the same device.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use crate::error::{Failure, Result};
use crate::text::{shell_word, unescaped};

/// The device and, where the system tells it, the mount.
pub type Mount = (u64, u64);

/// The mount that an open directory is on.
pub fn of(dir: &OwnedFd) -> rustix::io::Result<Mount> {
    match statx_mount(dir, "", AtFlags::EMPTY_PATH) {
        Some(mount) => Ok(mount),
        None => Ok((device(dir)?, id(dir))),
    }
}

/// The places below a directory, and the directory itself, where something is mounted: removing the directory would
/// remove what is there. Empty where the system does not list its mounts.
pub fn below(dir: &Path) -> Vec<PathBuf> {
    let Ok(dir) = dir.canonicalize() else { return Vec::new() };
    let listed = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let points = listed.split(|b| *b == b'\n').filter_map(|line| line.split(|b| *b == b' ').nth(4)).map(unescaped);
    points.map(|point| PathBuf::from(OsString::from_vec(point))).filter(|point| point.starts_with(&dir)).collect()
}

/// Fails if something is mounted below a directory, which its removal would empty.
pub fn refuse_below(dir: &Path) -> Result<()> {
    below(dir).first().map_or(Ok(()), |mount| {
        Err(Failure::failed(format!("something is mounted at {}", mount.display()))
            .hint(format!("unmount it first: `umount {}`", shell_word(mount))))
    })
}

/// Whether a copy of a file in a directory would share its blocks: tries it, with a file that has no name.
#[cfg(target_os = "linux")]
pub fn shares_blocks(file: &Path, dir: &Path) -> bool {
    let nameless = rustix::fs::open(dir, OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR);
    let file = std::fs::File::open(file);
    nameless.is_ok_and(|new| file.is_ok_and(|file| rustix::fs::ioctl_ficlone(new, file).is_ok()))
}

/// APFS can.
#[cfg(not(target_os = "linux"))]
pub fn shares_blocks(file: &Path, dir: &Path) -> bool {
    cfg!(target_os = "macos") && file.parent().is_some_and(|from| at(from).ok() == at(dir).ok())
}

/// The mount that a directory is on.
pub fn at(path: &Path) -> rustix::io::Result<Mount> {
    match statx_mount(CWD, path, AtFlags::empty()) {
        Some(mount) => Ok(mount),
        None => of(&rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?),
    }
}

#[expect(clippy::unnecessary_cast, reason = "the field's type differs between systems")]
fn device(dir: &OwnedFd) -> rustix::io::Result<u64> {
    rustix::fs::fstat(dir).map(|stat| stat.st_dev as u64)
}

/// Linux tells both at once since 5.8.
#[cfg(target_os = "linux")]
fn statx_mount(dir: impl AsFd, path: impl rustix::path::Arg, flags: AtFlags) -> Option<Mount> {
    use rustix::fs::StatxFlags;
    let stat = rustix::fs::statx(dir, path, flags, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID).ok()?;
    let is_told = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::MNT_ID);
    is_told.then(|| (rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor), stat.stx_mnt_id))
}

#[cfg(not(target_os = "linux"))]
fn statx_mount(_: impl AsFd, _: impl rustix::path::Arg, _: AtFlags) -> Option<Mount> {
    None
}

/// The mount on an older Linux.
#[cfg(target_os = "linux")]
fn id(fd: &OwnedFd) -> u64 {
    let fdinfo = format!("/proc/self/fdinfo/{}", std::os::fd::AsRawFd::as_raw_fd(fd));
    let text = std::fs::read_to_string(fdinfo).unwrap_or_default();
    text.lines().find_map(|l| l.strip_prefix("mnt_id:")?.trim().parse().ok()).unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
fn id(_: &OwnedFd) -> u64 {
    0
}
