//! Directories of very many small files: listed with what is known of each, and read one by one, with
//! as few system calls as that takes.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, Mode, openat, statat, unlinkat};
use rustix::io::Errno;

use super::root::{DIR, Reach, Root, blocked, open_file};
use super::stat::Stat;
use crate::error::{At, Result};
use crate::path::RelPath;
use crate::proc::map_parallel;

/// What reading a file into a buffer came to. The `Stat` was taken before the file was read.
#[derive(Debug)]
pub enum Bytes {
    /// The buffer has its content.
    All(Stat),
    /// The buffer has the beginning of this file, which is larger than asked for.
    Head(File, Stat),
    /// It is gone.
    Gone,
    /// It is no regular file.
    Other,
}

impl Root {
    /// A directory below, as a root of its own; `None` when nothing is there. A link or a file in its place,
    /// or on the way, is an error.
    pub fn below(&self, rel: &RelPath) -> Result<Option<Root>> {
        let path = self.join(rel);
        let Some(parent) = self.dir_of(rel)? else { return Ok(None) };
        match openat(&parent, rel.name(), DIR, Mode::empty()) {
            Ok(fd) => Ok(Some(Root::of(fd, path))),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(blocked(&path, rel)),
            Err(e) => Err(e).at("open", &path),
        }
    }

    /// What is known of this directory itself: it changes whenever a name in it does.
    pub fn stat(&self) -> Result<Stat> {
        rustix::fs::fstat(self.fd()).map(Stat::of).at("read", self.path())
    }

    /// The names in this directory that `wanted` takes, in no order.
    pub fn names(&self, wanted: impl Fn(&OsStr) -> bool) -> Result<Vec<OsString>> {
        // Some file systems do not tell the type: then it is looked at later.
        self.entries(|kind, name| matches!(kind, FileType::RegularFile | FileType::Unknown) && wanted(name))
    }

    /// The directories in this one, sorted.
    pub fn dirs(&self) -> Result<Vec<OsString>> {
        let mut names = self.entries(|kind, name| kind == FileType::Directory && name != "." && name != "..")?;
        names.sort_unstable();
        Ok(names)
    }

    /// The names of what is no file, without reading it, as far as the file system tells; sorted.
    pub fn others(&self, wanted: impl Fn(&OsStr) -> bool) -> Result<Vec<OsString>> {
        let is_file = |kind| matches!(kind, FileType::RegularFile | FileType::Unknown);
        let mut names = self.entries(|kind, name| !is_file(kind) && wanted(name))?;
        names.sort_unstable();
        Ok(names)
    }

    fn entries(&self, wanted: impl Fn(FileType, &OsStr) -> bool) -> Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(self.fd()).at("read", self.path())? {
            let entry = entry.at("read", self.path())?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if wanted(entry.file_type(), name) {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Moves a file to a name below that is free, its directories created; `false` when it is not free, or
    /// nothing is there to be moved. Neither directory is synced: see [`Root::sync`].
    pub fn move_new(&self, from: &RelPath, to: &RelPath) -> Result<bool> {
        let Reach::There(source) = self.reach(from)? else { return Ok(false) };
        let target = self.parent_dir(to)?;
        match super::rename_new_at(&source, from.name(), &target, to.name()) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST | Errno::NOENT) => Ok(false),
            Err(e) => Err(e).at("rename", &self.join(from)),
        }
    }

    /// Removes a file below; `false` when it is not there.
    pub fn unlink(&self, rel: &RelPath) -> Result<bool> {
        let Reach::There(parent) = self.reach(rel)? else { return Ok(false) };
        match unlinkat(&parent, rel.name(), AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(e) => Err(e).at("remove", &self.join(rel)),
        }
    }

    /// Brings the names in a directory below to the disk.
    pub fn sync(&self, rel: &RelPath) -> Result<()> {
        match self.below(rel)? {
            Some(dir) => rustix::fs::fsync(dir.fd()).at("sync", dir.path()),
            None => Ok(()),
        }
    }

    /// What is known of each of these names in this directory; none where no regular file is.
    pub fn stats_of(&self, names: &[OsString]) -> Result<Vec<Option<Stat>>> {
        let stats = map_parallel(names, |name| match statat(self.fd(), name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                Ok(Some(stat).filter(|s| FileType::from_raw_mode(s.st_mode) == FileType::RegularFile).map(Stat::of))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e),
        });
        stats.into_iter().zip(names).map(|(stat, name)| stat.at_path("read", || self.path().join(name))).collect()
    }

    /// Reads a regular file of this directory, at most `limit` bytes of it, in place of what `bytes` had.
    pub fn load(&self, name: &OsStr, limit: usize, bytes: &mut Vec<u8>) -> Result<Bytes> {
        let path = || self.path().join(name);
        let file = match open_file(self.fd(), name) {
            Err(Errno::NOENT) => return Ok(Bytes::Gone),
            // A link, or a socket.
            Err(Errno::LOOP | Errno::NXIO) => return Ok(Bytes::Other),
            opened => opened.at_path("read", path)?,
        };
        let stat = rustix::fs::fstat(&file).at_path("read", path)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(Bytes::Other);
        }
        let stat = Stat::of(stat);
        let size = usize::try_from(stat.size()).unwrap_or(usize::MAX);
        // One byte more than expected: a first read that leaves it free has met the end.
        let room = size.min(limit) + 1;
        bytes.try_reserve_exact(room.saturating_sub(bytes.len())).map_err(io::Error::other).at_path("read", path)?;
        bytes.resize(room, 0);
        let got = (&file).read(bytes).at_path("read", path)?;
        bytes.truncate(got);
        if got != size {
            (&file).take((limit + 1).saturating_sub(got) as u64).read_to_end(bytes).at_path("read", path)?;
        }
        if bytes.len() > limit {
            bytes.truncate(limit);
            (&file).rewind().at_path("read", path)?;
            return Ok(Bytes::Head(file, stat));
        }
        Ok(Bytes::All(stat))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_reads_regular_files_alone() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("d/sub.md")).unwrap();
        std::fs::write(dir.path().join("d/b.md"), "bb").unwrap();
        std::fs::write(dir.path().join("d/a.md"), "a").unwrap();
        std::os::unix::fs::symlink("a.md", dir.path().join("d/l.md")).unwrap();
        std::os::unix::fs::symlink("d", dir.path().join("link")).unwrap();
        let top = Root::open(dir.path()).unwrap();
        let rel = |path: &str| RelPath::parse(path).unwrap();
        assert!(top.below(&rel("none")).unwrap().is_none());
        assert!(top.below(&rel("link")).is_err() && top.below(&rel("d/a.md")).is_err());
        let d = top.below(&rel("d")).unwrap().unwrap();
        let mut names = d.names(|name| name.to_string_lossy().ends_with(".md")).unwrap();
        names.sort();
        assert_eq!(names, ["a.md", "b.md"]);
        assert!(d.stats_of(&names).unwrap().iter().all(Option::is_some));
        let mut bytes = b"longer than any".to_vec();
        let mut load = |name: &str, limit| {
            let came_to = d.load(OsStr::new(name), limit, &mut bytes).unwrap();
            (came_to, String::from_utf8_lossy(&bytes).into_owned())
        };
        let (b, text) = load("b.md", 10);
        assert!(matches!(b, Bytes::All(stat) if stat.size() == 2) && text == "bb");
        let (b, text) = load("b.md", 1);
        assert!(matches!(b, Bytes::Head(_, stat) if stat.size() == 2) && text == "b");
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("d/s.md")).unwrap();
        for name in ["l.md", "sub.md", "s.md"] {
            assert!(matches!(load(name, 10).0, Bytes::Other), "{name}");
        }
        assert!(matches!(load("no", 10).0, Bytes::Gone));
        assert_eq!(d.dirs().unwrap(), ["sub.md"]);
    }

    #[test]
    fn moves_to_free_names_only() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "a").unwrap();
        std::fs::write(dir.path().join("b"), "b").unwrap();
        let top = Root::open(dir.path()).unwrap();
        let rel = |path: &str| RelPath::parse(path).unwrap();
        assert!(!top.move_new(&rel("a"), &rel("b")).unwrap());
        assert!(top.move_new(&rel("a"), &rel("x/y/a")).unwrap());
        assert!(!top.move_new(&rel("a"), &rel("x/y/c")).unwrap());
        assert_eq!(std::fs::read(dir.path().join("x/y/a")).unwrap(), b"a");
        assert_eq!(std::fs::read(dir.path().join("b")).unwrap(), b"b");
        assert!(top.unlink(&rel("b")).unwrap() && !top.unlink(&rel("b")).unwrap());
    }
}
