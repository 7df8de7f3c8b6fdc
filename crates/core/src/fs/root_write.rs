//! Writing and removing through open directories: what somebody exchanges for a link on the way meanwhile is not
//! reached.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, fstat, openat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::mount::{self, Mount};
use super::removal::{leave, names_in, open_dir};
use super::root::{DIR, Reach, Root, dir_id, open_file, sync_dir};
use super::{rename_new_at, unique_name};
use crate::error::{At, Result};
use crate::path::RelPath;

const DOT_GIT: &str = ".git";

impl Root {
    /// Removes what lies below, a directory with everything in it. Links are removed, not followed. Nothing there is
    /// nothing to do. Fails if something is mounted in it, which would be emptied.
    pub fn remove_tree(&self, rel: &RelPath) -> Result<()> {
        let Some(parent) = self.dir_of(rel)? else { return Ok(()) };
        let path = self.join(rel);
        let flags = match openat(&parent, rel.name(), DIR, Mode::empty()) {
            Ok(dir) => {
                Root::of(dir, path.clone()).remove_contents()?;
                AtFlags::REMOVEDIR
            }
            Err(Errno::LOOP | Errno::NOTDIR) => AtFlags::empty(),
            Err(Errno::NOENT) => return Ok(()),
            Err(e) => return Err(e).at("open", &path),
        };
        match unlinkat(&parent, rel.name(), flags) {
            Err(e) if e != Errno::NOENT => Err(e).at("remove", &path),
            _ => Ok(()),
        }
    }

    /// Removes everything in this directory, wherever it is by now. Fails if something is mounted in it.
    pub fn remove_contents(&self) -> Result<()> {
        mount::refuse_below(self.path())?;
        clear(self.fd(), self.mount()?).at("remove", self.path())
    }

    /// As [`move_new`](Self::move_new), and brings the new name to the disk; back, if that fails.
    pub fn rename_new(&self, from: &RelPath, to: &RelPath) -> Result<bool> {
        let is_moved = self.move_new(from, to)?;
        if let (true, Reach::There(dir)) = (is_moved, self.reach(to)?) {
            sync_dir(&dir).at("sync the directory of", &self.join(to)).inspect_err(|_| {
                let _ = self.move_new(to, from);
            })?;
        }
        Ok(is_moved)
    }

    /// Replaces a file of git's or our own below, whose directory is there. A link in its place is replaced, too.
    pub fn replace(&self, rel: &RelPath, bytes: &[u8]) -> Result<()> {
        let path = self.join(rel);
        let Some(parent) = self.dir_of(rel)? else { return Err(Errno::NOENT).at("replace", &path) };
        let put = |temporary: &OsStr| renameat(&parent, temporary, &parent, rel.name()).map(|()| true);
        write_and(&parent, bytes, put).at("replace", &path).map(drop)
    }

    /// What the file `.git` in this directory says; `None` if there is no such plain file.
    pub fn read_dot_git(&self) -> Option<Vec<u8>> {
        let file = open_file(self.fd(), OsStr::new(DOT_GIT)).ok()?;
        super::read_regular(file, &self.path().join(DOT_GIT), super::PARSE_LIMIT).ok()
    }

    /// Writes it where there is nothing of that name; otherwise `false`, and nothing is changed.
    pub fn create_dot_git(&self, bytes: &[u8]) -> Result<bool> {
        let dir = self.fd();
        let put = |temporary: &OsStr| match rename_new_at(dir, temporary, dir, OsStr::new(DOT_GIT)) {
            Err(Errno::EXIST) => Ok(false),
            put => put.map(|()| true),
        };
        write_and(dir, bytes, put).at("write", &self.path().join(DOT_GIT))
    }

    /// Replaces it if it still says what is expected; otherwise `false`, and nothing is changed.
    pub fn swap_dot_git(&self, expected: &[u8], bytes: &[u8]) -> Result<bool> {
        let dir = self.fd();
        let put = |temporary: &OsStr| {
            let is_expected = || self.read_dot_git().as_deref() == Some(expected);
            if !is_expected() {
                return Ok(false);
            }
            match renameat_with(dir, temporary, dir, DOT_GIT, RenameFlags::EXCHANGE) {
                Ok(()) => {}
                // A file system without that.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    return renameat(dir, temporary, dir, DOT_GIT).map(|()| true);
                }
                Err(e) => return Err(e),
            }
            let mut was = Vec::new();
            let read = open_file(dir, temporary).map(|file| file.take(super::PARSE_LIMIT).read_to_end(&mut was));
            if !read.is_ok_and(|read| read.is_ok()) || was != expected {
                return renameat_with(dir, temporary, dir, DOT_GIT, RenameFlags::EXCHANGE).map(|()| false);
            }
            unlinkat(dir, temporary, AtFlags::empty()).map(|()| true)
        };
        write_and(dir, bytes, put).at("replace", &self.path().join(DOT_GIT))
    }

    /// Whether both are one directory.
    pub(crate) fn is_same(&self, other: &Root) -> bool {
        let id = |root: &Root| rustix::fs::fstat(root.fd()).ok().map(|stat| (stat.st_dev, stat.st_ino));
        id(self).is_some() && id(self) == id(other)
    }
}

/// Writes a temporary file and gives it to `put`, which says whether it has moved it into its place.
fn write_and(dir: &OwnedFd, bytes: &[u8], put: impl FnOnce(&OsStr) -> rustix::io::Result<bool>) -> io::Result<bool> {
    let temporary = OsString::from(unique_name());
    let write = || -> io::Result<bool> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file = File::from(openat(dir, &temporary, flags, Mode::from_raw_mode(0o644))?);
        file.write_all(bytes)?;
        file.sync_all()?;
        let is_done = put(&temporary)?;
        sync_dir(dir)?;
        Ok(is_done)
    };
    let done = write();
    if !matches!(done, Ok(true)) {
        let _ = unlinkat(dir, &temporary, AtFlags::empty());
    }
    done
}

/// Removes everything in an open directory that is on its mount, and what leads from a worktree to its record only if
/// nothing else is left. An error does not keep the rest. There can be thousands of levels, so only one is held open.
fn clear(top: &OwnedFd, on: Mount) -> io::Result<()> {
    let mut at = open_dir(top, OsStr::new("."))?;
    let mut names = names_in(&at)?;
    names.sort_by_key(|name| name != DOT_GIT);
    let mut levels = vec![(dir_id(&fstat(&at)?), OsString::new(), names)];
    let mut first = Ok(());
    loop {
        let depth = levels.len();
        let Some((_, _, names_left)) = levels.last_mut() else { return first };
        let step = match names_left.pop() {
            Some(name) if name == DOT_GIT && depth == 1 && first.is_err() => return first,
            Some(name) => match unlink_or_open(&at, &name, on) {
                Ok(Some((inner, names))) => {
                    levels.push((dir_id(&fstat(&inner)?), name, names));
                    at = inner;
                    Ok(())
                }
                Ok(None) => Ok(()),
                Err(e) => Err(e),
            },
            None => {
                let name = levels.pop().map(|(_, name, _)| name).unwrap_or_default();
                let Some((above, ..)) = levels.last() else { return first };
                at = leave(&at, *above)?;
                unlinkat(&at, &name, AtFlags::REMOVEDIR).map_err(io::Error::from)
            }
        };
        first = first.and(step);
    }
}

/// Removes what is no directory, and opens what is one.
fn unlink_or_open(dir: &OwnedFd, name: &OsStr, on: Mount) -> io::Result<Option<(OwnedFd, Vec<OsString>)>> {
    match unlinkat(dir, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(None),
        // How systems say that it is a directory.
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(e) => return Err(e.into()),
    }
    let inner = open_dir(dir, name)?;
    match mount::of(&inner)? == on {
        true => Ok(Some(names_in(&inner).map(|names| (inner, names))?)),
        false => Err(io::Error::other("something is mounted in it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn rel(path: &str) -> RelPath {
        RelPath::parse(path).unwrap()
    }

    #[test]
    fn a_tree_goes_whole_and_links_in_it_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(path("in/t/deep/er")).unwrap();
        std::fs::create_dir_all(path("out")).unwrap();
        std::fs::write(path("out/diary"), "d").unwrap();
        std::fs::write(path("in/t/deep/er/f"), "f").unwrap();
        symlink("../../../out", path("in/t/deep/link")).unwrap();
        symlink("../out", path("in/l")).unwrap();
        let root = Root::open(&path("in")).unwrap();
        assert!(root.remove_tree(&rel("l/diary")).is_err());
        for name in ["t", "l", "none", "none/below"] {
            root.remove_tree(&rel(name)).unwrap();
        }
        assert!(std::fs::read_dir(path("in")).unwrap().next().is_none() && path("out/diary").exists());
    }

    #[test]
    fn what_is_exchanged_for_a_link_meanwhile_is_not_reached() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["sub/t", "out/t"] {
            std::fs::create_dir_all(path(name)).unwrap();
            std::fs::write(path(name).join("f"), "f").unwrap();
        }
        let root = Root::open(&path("sub")).unwrap();
        let tree = Root::open(&path("sub/t")).unwrap();
        std::fs::rename(path("sub"), path("was")).unwrap();
        symlink("out", path("sub")).unwrap();
        tree.remove_contents().unwrap();
        root.replace(&rel("g"), b"new").unwrap();
        root.remove_tree(&rel("t")).unwrap();
        assert!(
            path("out/t/f").exists() && !path("out/g").exists() && path("was/g").exists() && !path("was/t").exists()
        );
    }
}
