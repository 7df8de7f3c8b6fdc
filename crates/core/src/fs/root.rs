//! A directory opened once; what lies below it is reached component by component, and no link on
//! the way or at the end is ever followed.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, readlinkat, statat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use walkdir::WalkDir;

use super::mount::{self, Mount};
use super::stat::Stat;
use crate::error::{At, Failure, Result};
use crate::hash::Digest;
use crate::path::RelPath;
use crate::text::shell_word;

pub(super) const DIR: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An open directory below which files are placed, read and removed.
#[derive(Debug)]
pub struct Root {
    fd: Arc<OwnedFd>,
    path: PathBuf,
    /// The directory that was opened last for what lies in it, since most files lie in a few directories.
    last: Mutex<Option<OpenDir>>,
}

/// An open directory below a root, with its path from there.
#[derive(Clone, Debug)]
struct OpenDir {
    path: PathBuf,
    fd: Arc<OwnedFd>,
    id: (u64, u64),
}

/// What lies at a path, as far as `lstat` tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Found {
    /// Nothing, or a parent is missing.
    #[default]
    Missing,
    /// A parent is a link or no directory, so nothing is reached; says which.
    Blocked(RelPath),
    /// A symbolic link and its target.
    Link(PathBuf),
    /// A regular file and its permission bits.
    File(u32),
    /// A directory.
    Dir,
    /// A socket, FIFO or device.
    Special,
}

/// The files below a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Regular files, sorted.
    pub files: Vec<RelPath>,
    /// Directories, relative.
    pub dirs: Vec<PathBuf>,
    /// What is none of ours to handle, and why.
    pub odd: Vec<(PathBuf, String)>,
}

/// What lies at a path, whole: two equal values hold the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// A symbolic link with this target.
    Link(PathBuf),
    /// A file with these bytes.
    File(Digest),
    /// A directory: names, kinds, link targets and bytes of everything in it.
    Tree(Digest),
}

pub(super) enum Reach {
    There(Arc<OwnedFd>),
    Missing,
    Blocked(RelPath),
}

impl Root {
    /// Opens a directory that its user named; links in its own path are theirs and followed.
    pub fn open(path: &Path) -> Result<Root> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty()).at("open", path)?;
        Ok(Root::of(fd, path.to_path_buf()))
    }

    pub(super) fn of(fd: OwnedFd, path: PathBuf) -> Root {
        Root { last: Mutex::default(), fd: Arc::new(fd), path }
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of something below it, for messages.
    pub fn join(&self, rel: &RelPath) -> PathBuf {
        self.path.join(rel.as_path())
    }

    /// What a rename cannot leave.
    pub(super) fn mount(&self) -> Result<Mount> {
        mount::of(&self.fd).at("read", &self.path)
    }

    /// What lies there, without reading it.
    pub fn look(&self, rel: &RelPath) -> Result<Found> {
        match self.reach(rel)? {
            Reach::There(parent) => look_at(&parent, rel.name()).at("read", &self.join(rel)),
            Reach::Missing => Ok(Found::Missing),
            Reach::Blocked(at) => Ok(Found::Blocked(at)),
        }
    }

    /// What lies there, whole; `None` when nothing does, or nothing that has content.
    pub fn content(&self, rel: &RelPath) -> Result<Option<Content>> {
        match self.reach(rel)? {
            Reach::There(parent) => content_at(&parent, rel.name(), &self.join(rel)),
            _ => Ok(None),
        }
    }

    /// The bytes of a regular file of at most 1 MiB; `None` when nothing is there. Anything else in
    /// its place is an error.
    pub fn read(&self, rel: &RelPath) -> Result<Option<Vec<u8>>> {
        let path = self.join(rel);
        let Some(parent) = self.dir_of(rel)? else { return Ok(None) };
        match open_file(&parent, rel.name()) {
            Ok(file) => super::read_regular(file, &path, super::PARSE_LIMIT).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP) => Err(super::link_refused(&path)),
            Err(e) => Err(e).at("read", &path),
        }
    }

    /// The directories above `rel` that are not there yet, outermost first.
    pub fn missing_parents(&self, rel: &RelPath) -> Result<Vec<RelPath>> {
        let mut missing = Vec::new();
        let mut above = rel.parent();
        while let Some(dir) = above.take() {
            if self.look(&dir)? != Found::Missing {
                break;
            }
            above = dir.parent();
            missing.insert(0, dir);
        }
        Ok(missing)
    }

    /// The bytes of a regular file, whatever its size, and its mode; `None` when none is there.
    pub fn read_whole(&self, rel: &RelPath) -> Result<Option<(Vec<u8>, u32)>> {
        let Some((file, meta)) = self.open_regular(rel)? else { return Ok(None) };
        let bytes = super::read::read_to_end(&file, meta.len(), u64::MAX).at("read", &self.join(rel))?;
        Ok(Some((bytes, std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o777)))
    }

    /// A regular file, opened for reading; `None` when none is there.
    pub fn open_regular(&self, rel: &RelPath) -> Result<Option<(File, Metadata)>> {
        let Reach::There(parent) = self.reach(rel)? else { return Ok(None) };
        let path = self.join(rel);
        let file = match open_file(&parent, rel.name()) {
            Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
            opened => opened.at("read", &path)?,
        };
        let meta = file.metadata().at("read", &path)?;
        Ok(meta.is_file().then_some((file, meta)))
    }

    /// A file, opened; `None` if it cannot be.
    pub fn file(&self, rel: &RelPath) -> Option<File> {
        let dir = self.dir_of(rel).ok()??;
        open_file(&dir, rel.name()).ok()
    }

    /// What is known of regular files without opening them; none where there is none. Neighbours in
    /// `paths` that share a directory cost one system call each.
    pub fn stats<'p>(&self, paths: impl Iterator<Item = &'p RelPath>) -> Result<Vec<Option<Stat>>> {
        let mut open: Option<(Option<&Path>, Option<Arc<OwnedFd>>)> = None;
        let mut stats = Vec::new();
        for path in paths {
            let parent = path.dir();
            if open.as_ref().is_none_or(|(at, _)| at.map(Path::as_os_str) != parent.map(Path::as_os_str)) {
                let fd = match self.reach(path)? {
                    Reach::There(fd) => Some(fd),
                    Reach::Missing | Reach::Blocked(_) => None,
                };
                open = Some((parent, fd));
            }
            let dir = open.as_ref().and_then(|(_, fd)| fd.as_ref());
            let stat = dir.and_then(|dir| statat(dir, path.name(), AtFlags::SYMLINK_NOFOLLOW).ok());
            stats.push(stat.filter(|s| FileType::from_raw_mode(s.st_mode) == FileType::RegularFile).map(Stat::of));
        }
        Ok(stats)
    }

    /// Every regular file below, sorted; what is not one (a link, a socket) or has a name we refuse is
    /// given with the reason. `skip` are names at the top to pass over.
    pub fn files(&self, skip: &[&str]) -> Result<Listing> {
        let is_skipped =
            |path: &Path| path.parent() == Some(&self.path) && skip.iter().any(|name| path.ends_with(name));
        self.walk(&|path| !is_skipped(path))
    }

    /// The same of the directories, this one among them, that `is_entered` says are to be looked into.
    pub fn files_in(&self, is_entered: &dyn Fn(&Path) -> bool) -> Result<Listing> {
        if !is_entered(&self.path) {
            return Ok(Listing::default());
        }
        self.walk(&|path| !path.is_dir() || is_entered(path))
    }

    fn walk(&self, is_wanted: &dyn Fn(&Path) -> bool) -> Result<Listing> {
        let mut listing = Listing::default();
        let walk = WalkDir::new(&self.path).min_depth(1).sort_by_file_name().into_iter();
        for entry in walk.filter_entry(|entry| entry.depth() == 0 || is_wanted(entry.path())) {
            let entry =
                entry.map_err(|e| Failure::failed(format!("cannot read {}", self.path.display())).because(e))?;
            let below = entry.path().strip_prefix(&self.path).unwrap_or(entry.path());
            match RelPath::parse_os(below.as_os_str()) {
                _ if entry.file_type().is_dir() => listing.dirs.push(below.to_path_buf()),
                Ok(rel) if entry.file_type().is_file() => listing.files.push(rel),
                Ok(_) => listing.odd.push((below.to_path_buf(), "it is a link or no regular file".to_owned())),
                Err(why) => listing.odd.push((below.to_path_buf(), why.to_string())),
            }
        }
        Ok(listing)
    }

    /// Creates a link where nothing is; `false` when something is there already.
    pub fn symlink(&self, rel: &RelPath, target: &Path) -> Result<bool> {
        let parent = self.parent_dir(rel)?;
        match rustix::fs::symlinkat(target, &parent, rel.name()) {
            Ok(()) => sync_dir(parent).at("sync the directory of", &self.join(rel)).map(|()| true),
            Err(Errno::EXIST) => Ok(false),
            Err(e) => Err(e).at("create", &self.join(rel)),
        }
    }

    /// Removes a directory when it is empty; `false` when it is not or is no directory.
    pub fn remove_empty_dir(&self, rel: &RelPath) -> Result<bool> {
        match self.reach(rel)? {
            Reach::There(parent) => match unlinkat(&parent, rel.name(), AtFlags::REMOVEDIR) {
                Ok(()) => Ok(true),
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::NOENT) => Ok(false),
                Err(e) => Err(e).at("remove", &self.join(rel)),
            },
            _ => Ok(false),
        }
    }

    /// Opens the directory `rel` lies in, creating what is missing (0777 less umask).
    pub(super) fn parent_dir(&self, rel: &RelPath) -> Result<Arc<OwnedFd>> {
        let Some(parent) = rel.dir() else { return Ok(self.shared_fd()) };
        if let Some(dir) = self.known_dir(parent) {
            return Ok(dir);
        }
        let fd = self.open_dir(rel, parent)?;
        if let (Ok(mut last), Ok(stat)) = (self.last.lock(), rustix::fs::fstat(&fd)) {
            *last = Some(OpenDir { path: parent.to_path_buf(), fd: fd.clone(), id: dir_id(&stat) });
        }
        Ok(fd)
    }

    /// The same directory once more, for those who keep it.
    pub(super) fn shared_fd(&self) -> Arc<OwnedFd> {
        self.fd.clone()
    }

    /// The directory that was opened last, if it is this one and still is at its path.
    fn known_dir(&self, path: &Path) -> Option<Arc<OwnedFd>> {
        let last = self.last.lock().ok()?.clone().filter(|last| last.path == path)?;
        let stat = statat(&self.fd, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        (dir_id(&stat) == last.id).then_some(last.fd)
    }

    fn open_dir(&self, rel: &RelPath, parent: &Path) -> Result<Arc<OwnedFd>> {
        let mut current = self.shared_fd();
        let mut so_far = PathBuf::new();
        for component in parent {
            so_far.push(component);
            let at = RelPath::parse_os(so_far.as_os_str()).map_err(|e| Failure::failed(e.0))?;
            let mut opened = openat(&current, component, DIR, Mode::empty());
            if opened.as_ref().is_err_and(|e| *e == Errno::NOENT) {
                match mkdirat(&current, component, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(e) => return Err(e).at("create", &self.join(&at)),
                }
                opened = openat(&current, component, DIR, Mode::empty());
            }
            current = match opened {
                Ok(next) => Arc::new(next),
                Err(Errno::NOTDIR | Errno::LOOP) => return Err(blocked(&self.join(rel), &at)),
                Err(e) => return Err(e).at("open", &self.join(&at)),
            };
        }
        Ok(current)
    }

    /// The directory `rel` lies in; `None` when it is missing. A link or a file on the way is an error.
    pub(super) fn dir_of(&self, rel: &RelPath) -> Result<Option<Arc<OwnedFd>>> {
        match self.reach(rel)? {
            Reach::There(dir) => Ok(Some(dir)),
            Reach::Missing => Ok(None),
            Reach::Blocked(at) => Err(blocked(&self.join(rel), &at)),
        }
    }

    pub(super) fn reach(&self, rel: &RelPath) -> Result<Reach> {
        let mut current = self.shared_fd();
        let Some(parent) = rel.parent() else { return Ok(Reach::There(current)) };
        let mut so_far = PathBuf::new();
        for component in parent.components() {
            so_far.push(component);
            current = match openat(&current, component, DIR, Mode::empty()) {
                Ok(next) => Arc::new(next),
                Err(Errno::NOENT) => return Ok(Reach::Missing),
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    let at = RelPath::parse_os(so_far.as_os_str()).map_err(|e| Failure::failed(e.0))?;
                    return Ok(Reach::Blocked(at));
                }
                Err(e) => return Err(e).at("open", &self.path.join(&so_far)),
            };
        }
        Ok(Reach::There(current))
    }
}

pub(super) fn blocked(path: &Path, at: &RelPath) -> Failure {
    Failure::failed(format!("cannot reach {}: {at} is a link or no directory", path.display()))
        .hint(format!("put a directory in the place of {at}"))
}

fn look_at(dir: &OwnedFd, name: &OsStr) -> io::Result<Found> {
    let stat = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(Found::Missing),
        stat => stat?,
    };
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => Found::Link(link_at(dir, name)?),
        FileType::RegularFile => Found::File(stat.st_mode & 0o7777),
        FileType::Directory => Found::Dir,
        _ => Found::Special,
    })
}

fn link_at(dir: &OwnedFd, name: &OsStr) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let target = readlinkat(dir, name, Vec::new())?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(target.into_bytes())))
}

pub(super) fn open_file(dir: &OwnedFd, name: &OsStr) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    openat(dir, name, flags, Mode::empty()).map(File::from)
}

/// What lies at `name` in an open directory; `path` is where that is, for messages and for walking.
pub(super) fn content_at(dir: &OwnedFd, name: &OsStr, path: &Path) -> Result<Option<Content>> {
    Ok(match look_at(dir, name).at("read", path)? {
        Found::Link(target) => Some(Content::Link(target)),
        Found::File(_) => {
            let file = open_file(dir, name).at("read", path)?;
            Some(Content::File(digest(file, path)?))
        }
        Found::Dir => Some(Content::Tree(tree(path, &|_| true)?)),
        Found::Missing | Found::Blocked(_) | Found::Special => None,
    })
}

/// The digest of a file's bytes. One that is all holes takes no space on the disk, and hours to read.
fn digest(mut file: File, path: &Path) -> Result<Digest> {
    let meta = file.metadata().at("read", path)?;
    let holes = meta.len().saturating_sub(meta.blocks() * 512) >> 30;
    if holes >= 8 {
        let why = format!("{} is not read: it has holes of {holes} GiB", path.display());
        return Err(Failure::failed(why)
            .hint(format!("if nobody needs it: `rm {}`, then run the same command again", shell_word(path))));
    }
    Digest::of_stream(&mut file).at("read", path)
}

/// The digest of a directory's content, of what `is_in` says is a part of it.
pub(super) fn tree(path: &Path, is_in: &dyn Fn(&Path) -> bool) -> Result<Digest> {
    let mut listing = Vec::new();
    let walk = WalkDir::new(path).min_depth(1).sort_by_file_name().into_iter();
    for entry in walk.filter_entry(|entry| entry.depth() == 0 || is_in(entry.path())) {
        let entry = entry.map_err(|e| Failure::failed(format!("cannot read {}", path.display())).because(e))?;
        let name = entry.path().strip_prefix(path).unwrap_or(entry.path());
        let what = if entry.path_is_symlink() {
            format!("link {:?}", std::fs::read_link(entry.path()).at("read", entry.path())?)
        } else if entry.file_type().is_file() {
            format!("file {}", digest(File::open(entry.path()).at("read", entry.path())?, entry.path())?)
        } else {
            "dir".into()
        };
        listing.push(format!("{name:?} {what}"));
    }
    Ok(Digest::of(listing.join("\n").as_bytes()))
}

/// What tells two directories apart.
#[expect(clippy::unnecessary_cast, reason = "the fields' types differ between systems")]
pub(super) fn dir_id(stat: &rustix::fs::Stat) -> (u64, u64) {
    (stat.st_dev as u64, stat.st_ino as u64)
}

pub(super) fn sync_dir(dir: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::fsync(dir)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn rel(path: &str) -> RelPath {
        RelPath::parse(path).unwrap()
    }

    #[test]
    fn nothing_is_reached_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("inside");
        std::fs::create_dir_all(dir.path().join("outside")).unwrap();
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(dir.path().join("outside/secret"), "s").unwrap();
        symlink("../outside", inside.join("door")).unwrap();
        let root = Root::open(&inside).unwrap();
        assert_eq!(root.look(&rel("door/secret")).unwrap(), Found::Blocked(rel("door")));
        assert!(root.read(&rel("door/secret")).is_err());
        assert!(!matches!(root.symlink(&rel("door/new"), Path::new("/x")), Ok(true)));
        assert!(root.symlink(&rel("door/a/b"), Path::new("/x")).is_err());
        assert!(!dir.path().join("outside/a").exists() && !dir.path().join("outside/new").exists());
    }

    #[test]
    fn a_dangling_link_is_there() {
        let dir = tempfile::tempdir().unwrap();
        symlink("nowhere", dir.path().join("l")).unwrap();
        let root = Root::open(dir.path()).unwrap();
        assert_eq!(root.look(&rel("l")).unwrap(), Found::Link("nowhere".into()));
        assert!(!root.symlink(&rel("l"), Path::new("/x")).unwrap());
        assert!(root.read(&rel("l")).is_err());
    }

    #[test]
    fn trees_differ_by_any_byte_in_them() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("t/sub")).unwrap();
        std::fs::write(dir.path().join("t/sub/f"), "1").unwrap();
        let root = Root::open(dir.path()).unwrap();
        let before = root.content(&rel("t")).unwrap();
        assert_eq!(root.content(&rel("t")).unwrap(), before);
        std::fs::write(dir.path().join("t/sub/f"), "2").unwrap();
        assert_ne!(root.content(&rel("t")).unwrap(), before);
    }
}
