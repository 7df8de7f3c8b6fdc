//! Removing a file only if it is what the caller expects, which is moved aside first; and what a removal looks into.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, chmodat, fchmod, fstat, openat, renameat};
use rustix::io::Errno;
use walkdir::WalkDir;

use super::displaced::DisplacedFile;
use super::root::{DIR, content_at, dir_id, sync_dir};
use super::staging::Staged;
use super::{Content, Root, Staging};
use crate::error::{At, Result};
use crate::hash::Digest;
use crate::path::RelPath;

impl Staging {
    /// Removes `target` if its content is exactly `expected`. Otherwise returns `false` and changes nothing. The file
    /// is moved aside first and then compared again, so an edit made in between is not lost.
    pub fn remove(&self, root: &Root, target: &RelPath, expected: &Content) -> Result<bool> {
        self.remove_as(self.name(root, target)?, root, target, expected, false)
    }

    /// The same for a file that some program may hold open: what is removed stays as a [`DisplacedFile`] for as long as
    /// a program can write to it.
    pub fn remove_open(&self, root: &Root, target: &RelPath, expected: &Digest) -> Result<bool> {
        let mut aside = self.name(root, target)?;
        aside.name = DisplacedFile::name(target, expected, &Digest::of(&[])).into();
        self.remove_as(aside, root, target, &Content::File(*expected), true)
    }

    fn remove_as(
        &self,
        mut aside: Staged,
        root: &Root,
        target: &RelPath,
        expected: &Content,
        keeps_open: bool,
    ) -> Result<bool> {
        let dir = root.parent_dir(target)?;
        let path = root.join(target);
        if content_at(&dir, target.name(), &path)?.as_ref() != Some(expected) {
            return Ok(false);
        }
        renameat(&dir, target.name(), &aside.dir, &aside.name).at("remove", &path)?;
        let (is_open, is_expected) = aside.displaced(expected, keeps_open);
        if !is_expected {
            return match super::rename_new_at(&aside.dir, &aside.name, &dir, target.name()) {
                Ok(()) => Ok(false),
                Err(e) => Err(aside.keep(e, &path)),
            };
        }
        aside.stays = is_open;
        sync_dir(dir).at("sync the directory of", &path).map(|()| true)
    }
}

/// The size of all files in a directory that can be looked at, as a person reads it.
pub fn size_of(dir: &Path) -> String {
    let found = WalkDir::new(dir).min_depth(1).into_iter().flatten().filter_map(|entry| entry.metadata().ok());
    size_in_words(found.filter(|meta| !meta.is_dir()).map(|meta| meta.len()).sum())
}

/// A size as a person reads it.
pub fn size_in_words(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// Gives the owner of a directory back what rights they lack to it and to those in it, and follows no link in their place.
/// Another user's stay as they are, and whoever looks into one then says so.
pub fn open_up(dir: &Path) {
    let _ = open_dir(CWD, dir.as_os_str()).and_then(|top| walk(top, |at, name| Ok(open_dir(at, name).ok())));
}

/// Whether nothing but directories lies in one, which may lie deeper than a path can name.
pub fn has_only_dirs(above: &Path, dir: &Path) -> bool {
    let open = |at: &OwnedFd, name: &OsStr| openat(at, name, DIR, Mode::empty());
    let top =
        openat(CWD, above, DIR, Mode::empty()).and_then(|top| dir.iter().try_fold(top, |at, name| open(&at, name)));
    top.and_then(|top| walk(top, |at, name| open(at, name).map(Some))).is_ok()
}

/// Opens what lies below an open directory by `open`, which gets a directory and a name in it. There can be thousands of
/// levels, so only one is held open.
fn walk(
    mut at: OwnedFd,
    open: impl Fn(&OwnedFd, &OsStr) -> rustix::io::Result<Option<OwnedFd>>,
) -> rustix::io::Result<()> {
    let mut levels = vec![(dir_id(&fstat(&at)?), names_in(&at)?)];
    while let Some((_, names)) = levels.last_mut() {
        let Some(name) = names.pop() else {
            levels.pop();
            if let Some((above, _)) = levels.last() {
                at = leave(&at, *above)?;
            }
            continue;
        };
        if let Some(inner) = open(&at, &name)? {
            levels.push((dir_id(&fstat(&inner)?), names_in(&inner)?));
            at = inner;
        }
    }
    Ok(())
}

/// The directory above, if it is the one that this was entered from: it may have been moved meanwhile.
pub(super) fn leave(dir: &OwnedFd, above: (u64, u64)) -> rustix::io::Result<OwnedFd> {
    let found = openat(dir, "..", DIR, Mode::empty())?;
    if dir_id(&fstat(&found)?) == above { Ok(found) } else { Err(Errno::STALE) }
}

/// Opens a directory to remove what is in it, which its owner may have protected, as Go does with its module cache.
pub(super) fn open_dir(at: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let dir = match openat(&at, name, DIR, Mode::empty()) {
        Err(Errno::ACCESS) => {
            make_readable(&at, name)?;
            openat(&at, name, DIR, Mode::empty())?
        }
        dir => dir?,
    };
    let mode = Mode::from_raw_mode(fstat(&dir)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        // Another user's stays as it is, and the removal fails.
        let _ = fchmod(&dir, mode | Mode::RWXU);
    }
    Ok(dir)
}

/// Makes a directory readable that cannot be opened, and nothing that it was exchanged for.
#[cfg(target_os = "linux")]
fn make_readable(at: impl AsFd, name: &OsStr) -> rustix::io::Result<()> {
    let dir = openat(at, name, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    chmodat(CWD, format!("/proc/self/fd/{}", dir.as_raw_fd()), Mode::RWXU, AtFlags::empty())
}

#[cfg(not(target_os = "linux"))]
fn make_readable(at: impl AsFd, name: &OsStr) -> rustix::io::Result<()> {
    chmodat(at, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}

pub(super) fn names_in(dir: &OwnedFd) -> rustix::io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}
