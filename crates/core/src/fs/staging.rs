//! Staging areas, where files are written before they are moved into place. A staging area is on the same device as the
//! target, `git add -A` does not see it, and the next run deletes what a killed run left in it. Moving a file into
//! place never overwrites unexpected content.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, fchmod, linkat, openat, readlinkat, renameat, renameat_with, statat, symlinkat,
    unlinkat,
};
use rustix::io::Errno;
use walkdir::WalkDir;

use super::displaced::{self, DisplacedFile, Writers};
use super::mount;
use super::root::{content_at, open_file, sync_dir};
use super::{Content, Root, unique_name};
use crate::error::{At, Failure, Result};
use crate::hash::Digest;
use crate::path::RelPath;
use crate::text::shell_word;

/// The beginning of each of our temporary names; nobody else may use it. It is listed in `info/exclude` if temporary
/// files must be in a worktree.
pub const RESERVED: &str = ".shopfloor-tmp-";

/// The staging area of one worktree; its user holds the worktree's lock.
#[derive(Debug)]
pub struct Staging {
    /// The directory for temporary files, if it is on the target's device.
    private: Option<(PathBuf, Arc<OwnedFd>)>,
    /// Whether other processes write into this directory at the same time.
    is_shared: bool,
    /// Whether placed files must survive a loss of power.
    is_durable: bool,
}

/// A file, link or directory that is whole and waits to be moved into place.
#[derive(Debug)]
pub struct Staged {
    /// The directory that it is in, and its name there. Paths are long, and the system walks them each time.
    pub(super) dir: Arc<OwnedFd>,
    dir_path: PathBuf,
    pub(super) name: OsString,
    is_durable: bool,
    /// What was written, if that is a file of ours.
    ours: Option<Content>,
    /// Whether what has the temporary name is not ours to remove, or nothing has it any more.
    pub(super) stays: bool,
}

impl Staging {
    /// Opens the staging area `private` (in a git dir) for targets below `root`, and removes what a
    /// killed run left there. If `private` is on another device, temporary files are created in the directories of
    /// their targets.
    pub fn open(private: &Path, root: &Root) -> Result<Staging> {
        Staging::new(private, root, false)
    }

    /// Like [`open`](Self::open), for writers that hold no lock. Files that other processes are writing stay; only
    /// files that are older than an hour count as left by a killed run.
    pub fn shared(private: &Path, root: &Root) -> Result<Staging> {
        Staging::new(private, root, true)
    }

    fn new(private: &Path, root: &Root, is_shared: bool) -> Result<Staging> {
        super::create_private_dir(private)?;
        sweep(private, is_shared)?;
        let dir = Root::open(private)?;
        let is_same = dir.mount()? == root.mount()?;
        let private = is_same.then(|| (private.to_path_buf(), dir.shared_fd()));
        Ok(Staging { private, is_shared, is_durable: true })
    }

    /// A staging area without a directory of its own, for a caller that may write beside its targets alone.
    pub fn beside() -> Staging {
        Staging { private: None, is_shared: true, is_durable: true }
    }

    /// The same staging area for targets that the next run can create again: nothing is synced to the disk.
    pub fn reproducible(self) -> Staging {
        Staging { is_durable: false, ..self }
    }

    /// Removes the temporary files that a killed run left beside these targets, if this staging area creates them
    /// there.
    pub fn sweep_beside<'a>(&self, root: &Root, targets: impl Iterator<Item = &'a RelPath>) -> Result<()> {
        if self.private.is_some() {
            return Ok(());
        }
        let dirs: BTreeSet<PathBuf> = targets.filter_map(|t| Some(root.join(t).parent()?.to_path_buf())).collect();
        dirs.iter().filter(|dir| dir.is_dir()).try_for_each(|dir| sweep(dir, self.is_shared))
    }

    /// Whether temporary files are beside their targets.
    pub fn lies_beside(&self) -> bool {
        self.private.is_none()
    }

    /// Whether temporary files would have to be beside their targets in the worktree, so that
    /// [`RESERVED`] must be excluded before anything is staged.
    pub fn is_beside(private: &Path, root: &Root) -> Result<bool> {
        let living = private.ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new("/"));
        Ok(mount::at(living).at("read", living)? != root.mount()?)
    }

    /// Writes a file (mode exactly `mode`, or 0644 less umask) and syncs it.
    pub fn file(&self, root: &Root, target: &RelPath, bytes: &[u8], mode: Option<u32>) -> Result<Staged> {
        self.file_like(root, target, bytes, mode, None)
    }

    /// The same; `like` is a file that probably has these bytes. If the file system supports that, the two then share
    /// their blocks.
    pub fn file_like(
        &self,
        root: &Root,
        target: &RelPath,
        bytes: &[u8],
        mode: Option<u32>,
        like: Option<&File>,
    ) -> Result<Staged> {
        let mut staged = self.name(root, target)?;
        let digest = Digest::of(bytes);
        staged.ours = Some(Content::File(digest));
        let write = || -> io::Result<()> {
            let mut file = staged.create(mode)?;
            match like {
                Some(like) if staged.is_clone(&file, like, &digest) => {}
                Some(_) => file.set_len(0).and_then(|()| file.write_all(bytes))?,
                None => file.write_all(bytes)?,
            }
            if self.is_durable { file.sync_all() } else { Ok(()) }
        };
        write().at("write", &root.join(target))?;
        Ok(staged)
    }

    /// Like [`file`](Staging::file) with all that `source` has, so that it need not be in memory.
    pub fn file_from(&self, root: &Root, target: &RelPath, source: &mut impl io::Read) -> Result<Staged> {
        let mut staged = self.name(root, target)?;
        let mut write_and_sync = || -> io::Result<Digest> {
            let mut file = staged.create(None)?;
            io::copy(source, &mut file)?;
            if self.is_durable {
                file.sync_all()?;
            }
            Digest::of_stream(&mut open_file(&staged.dir, &staged.name)?)
        };
        let digest = write_and_sync().at("write", &root.join(target))?;
        staged.ours = Some(Content::File(digest));
        Ok(staged)
    }

    /// Makes a link.
    pub fn link(&self, root: &Root, target: &RelPath, points_to: &Path) -> Result<Staged> {
        let staged = self.name(root, target)?;
        symlinkat(points_to, &staged.dir, &staged.name).at("create", &root.join(target))?;
        Ok(staged)
    }

    /// Copies a file or directory. Modes are kept, and links inside a directory are copied as links. Files are copied
    /// as reflinks if the file system supports that (std uses `copy_file_range`). Each file is synced to the disk.
    pub fn copy(&self, root: &Root, target: &RelPath, from: &Path) -> Result<Staged> {
        let staged = self.name(root, target)?;
        // A link that the user named is followed. A link inside a directory is not followed.
        let walk = WalkDir::new(from).follow_root_links(true);
        for entry in walk {
            let entry = entry.map_err(|e| Failure::failed(format!("cannot read {}", from.display())).because(e))?;
            let below = entry.path().strip_prefix(from).unwrap_or(Path::new(""));
            let to = if below.as_os_str().is_empty() { staged.path() } else { staged.path().join(below) };
            copy_one(entry.path(), &to, entry.depth() > 0).at("copy", entry.path())?;
        }
        Ok(staged)
    }

    /// Makes something in another way, at a temporary path.
    pub fn make(&self, root: &Root, target: &RelPath, make: impl FnOnce(&Path) -> Result<()>) -> Result<Staged> {
        let staged = self.name(root, target)?;
        make(&staged.path())?;
        Ok(staged)
    }

    pub(super) fn name(&self, root: &Root, target: &RelPath) -> Result<Staged> {
        let (dir_path, dir) = match &self.private {
            Some((path, dir)) => (path.clone(), dir.clone()),
            None => {
                let dir = root.parent_dir(target)?;
                let path = root.join(target);
                (path.parent().unwrap_or(root.path()).to_path_buf(), dir)
            }
        };
        Ok(Staged { dir, dir_path, name: unique_name().into(), is_durable: self.is_durable, ours: None, stays: false })
    }
}

fn sweep(dir: &Path, is_shared: bool) -> Result<()> {
    if is_shared { super::sweep_old_temporaries(dir) } else { super::sweep(dir, RESERVED) }
}

pub(super) fn create(path: &Path, mode: Option<u32>) -> io::Result<File> {
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode.unwrap_or(0o644)).open(path)?;
    if let Some(mode) = mode {
        file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    Ok(file)
}

fn copy_one(from: &Path, to: &Path, is_inside: bool) -> io::Result<()> {
    let meta = if is_inside { from.symlink_metadata()? } else { from.metadata()? };
    if meta.is_symlink() {
        std::os::unix::fs::symlink(from.read_link()?, to)
    } else if meta.is_dir() {
        let mode = meta.permissions().mode() & 0o777 | 0o700;
        std::fs::DirBuilder::new().mode(mode).create(to)
    } else if meta.is_file() {
        let mut target = create(to, Some(meta.permissions().mode() & 0o777))?;
        io::copy(&mut File::open(from)?, &mut target)?;
        target.sync_all()
    } else {
        Err(io::Error::other("not a file, directory or link"))
    }
}

impl Staged {
    fn path(&self) -> PathBuf {
        self.dir_path.join(&self.name)
    }

    fn create(&self, mode: Option<u32>) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let raw = |mode: u32| Mode::from_raw_mode(mode as rustix::fs::RawMode);
        let file = File::from(openat(&self.dir, &self.name, flags, raw(mode.unwrap_or(0o644)))?);
        if let Some(mode) = mode {
            fchmod(&file, raw(mode))?;
        }
        Ok(file)
    }

    /// Makes a new file a reflink of another one. Whether that worked, and the file has these bytes.
    #[cfg(target_os = "linux")]
    fn is_clone(&self, new: &File, other: &File, digest: &Digest) -> bool {
        let has_bytes = |mut file: File| Digest::of_stream(&mut file).is_ok_and(|found| found == *digest);
        rustix::fs::ioctl_ficlone(new, other).is_ok() && open_file(&self.dir, &self.name).is_ok_and(has_bytes)
    }

    /// Only Linux has this call.
    #[cfg(not(target_os = "linux"))]
    fn is_clone(&self, _: &File, _: &File, _: &Digest) -> bool {
        false
    }

    /// Moves the staged file to a path where nothing exists. Returns `false`, and does nothing, if something exists
    /// there.
    pub fn place(self, root: &Root, target: &RelPath) -> Result<bool> {
        Ok(self.place_first(root, [target.clone()])?.is_some())
    }

    /// The same at the first of several names in one directory that is free, and returns which one it is, from 0.
    pub fn place_first(mut self, root: &Root, targets: impl IntoIterator<Item = RelPath>) -> Result<Option<usize>> {
        for (number, target) in targets.into_iter().enumerate() {
            if self.place_at(root, &target)? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    fn place_at(&mut self, root: &Root, target: &RelPath) -> Result<bool> {
        let dir = root.parent_dir(target)?;
        match super::rename_new_at(&self.dir, &self.name, &dir, target.name()) {
            Ok(()) => {
                self.stays = true;
                self.sync(dir, &root.join(target))
            }
            Err(Errno::EXIST | Errno::NOTEMPTY) => Ok(false),
            Err(e) => Err(e).at("create", &root.join(target)),
        }
    }

    /// Places the file where nothing exists, or in place of exactly this content. Otherwise returns `false` and changes
    /// nothing.
    pub fn place_over(self, root: &Root, target: &RelPath, expected: Option<&Content>) -> Result<bool> {
        match expected {
            None => self.place(root, target),
            Some(expected) => self.swap(root, target, expected),
        }
    }

    /// Compare-and-swap: replaces the target only if its content is exactly `expected`. Otherwise returns `false` and
    /// changes nothing.
    pub fn swap(mut self, root: &Root, target: &RelPath, expected: &Content) -> Result<bool> {
        self.exchange(root, target, expected, false)
    }

    /// The same for a file that some program may hold open. What is displaced stays as a [`DisplacedFile`] for as long
    /// as a program can write to it, and if one has.
    pub fn swap_open(mut self, root: &Root, target: &RelPath, expected: &Digest) -> Result<bool> {
        let ours = match &self.ours {
            Some(Content::File(digest)) => *digest,
            _ => Digest::of(&[]),
        };
        let named = OsString::from(DisplacedFile::name(target, expected, &ours));
        renameat(&self.dir, &self.name, &self.dir, &named).at("rename", &self.path())?;
        self.name = named;
        self.exchange(root, target, &Content::File(*expected), true)
    }

    /// Exchanges the staged file and the target if the target's content is exactly `expected`. What was displaced then
    /// has the temporary name.
    fn exchange(&mut self, root: &Root, target: &RelPath, expected: &Content, keeps_open: bool) -> Result<bool> {
        let dir = root.parent_dir(target)?;
        let path = root.join(target);
        if content_at(&dir, target.name(), &path)?.as_ref() != Some(expected) {
            return Ok(false);
        }
        let ours = if self.ours.is_some() { self.ours.clone() } else { self.content()? };
        match self.exchange_with(&dir, target) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(false),
            Err(e) => return Err(e).at("replace", &path),
        }
        let (is_open, is_expected) = self.displaced(expected, keeps_open);
        if is_expected {
            self.stays = is_open;
            return self.sync(&dir, &path);
        }
        match self.exchange_with(&dir, target) {
            // Somebody wrote to the target once more in between, so the second exchange brought out their text and not
            // ours.
            Ok(()) if !self.content().is_ok_and(|now| now == ours) => Err(self.keep(Errno::BUSY, &path)),
            Ok(()) => Ok(false),
            Err(e) => Err(self.keep(e, &path)),
        }
    }

    /// Exchanges the two names. Where the file system cannot do that, a hard link keeps what the rename displaces, under
    /// a name that says the same as the temporary one. Where there are no hard links either, this is a copy, made when
    /// the rename is done; a target that some program can write to stays then, because the copy would not get that.
    /// `NOENT`: there is no target, or another one, or it stays.
    fn exchange_with(&mut self, dir: &OwnedFd, target: &RelPath) -> rustix::io::Result<()> {
        match renameat_with(&self.dir, &self.name, dir, target.name(), RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            exchanged => return exchanged,
        }
        let mut aside = self.name.clone();
        aside.push("-aside");
        match linkat(dir, target.name(), &self.dir, &aside, AtFlags::empty()) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(Errno::NOENT),
            Err(_) => {
                let link = readlinkat(dir, target.name(), Vec::new());
                if let Ok(points_to) = link {
                    renameat(&self.dir, &self.name, dir, target.name())?;
                    return symlinkat(points_to, &self.dir, &self.name);
                }
                let mut old = open_file(dir, target.name())?;
                if displaced::is_displaced(&self.name) && Writers::of(&old) == Writers::Some {
                    return Err(Errno::NOENT);
                }
                let ours = std::mem::replace(&mut self.name, aside);
                let mode = old.metadata().map_or(super::PRIVATE, |meta| meta.permissions().mode() & 0o777);
                let rename = || Ok(renameat(&self.dir, &ours, dir, target.name())?);
                let copied = self.create(Some(mode)).and_then(|copy| displaced::copy(&mut old, copy, rename));
                if copied.is_err() {
                    let _ = unlinkat(&self.dir, std::mem::replace(&mut self.name, ours), AtFlags::empty());
                }
                return copied.map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO));
            }
        }
        let inode = |dir: &OwnedFd, name: &OsStr| statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| stat.st_ino);
        // The link must keep what the rename is about to displace.
        let is_same = inode(dir, target.name()) == inode(&self.dir, &aside);
        let renamed = match is_same {
            true => renameat(&self.dir, &self.name, dir, target.name()),
            false => Err(Errno::NOENT),
        };
        if let Err(e) = renamed {
            unlinkat(&self.dir, &aside, AtFlags::empty())?;
            return Err(e);
        }
        self.name = aside;
        Ok(())
    }

    /// Syncs the directory of a file that was moved into place, if the file must survive a loss of power.
    fn sync(&self, dir: impl AsFd, path: &Path) -> Result<bool> {
        if self.is_durable {
            let synced = sync_dir(dir).at("sync the directory of", path);
            synced.map_err(|failure| failure.hint("it is written all the same; `sync` brings it to the disk"))?;
        }
        Ok(true)
    }

    /// The temporary file is now somebody else's content that could not be put back. This renames it so that no sweep
    /// deletes it; the error says where it is.
    pub(super) fn keep(&mut self, why: Errno, target: &Path) -> Failure {
        let kept = self.dir_path.join(super::unique_name().replacen(RESERVED, "displaced-", 1));
        let place = if std::fs::rename(self.path(), &kept).is_ok() { kept } else { self.path() };
        self.stays = true;
        Failure::failed(format!("cannot put {} back; it was kept as {}", target.display(), place.display()))
            .because(io::Error::from(why))
            .hint(format!("move it back: `mv {} {}`", shell_word(&place), shell_word(target)))
    }

    /// Whether a program may still write to what was displaced, and whether that is what was expected.
    pub(super) fn displaced(&self, expected: &Content, keeps_open: bool) -> (bool, bool) {
        let Content::File(digest) = expected else {
            return (false, self.content().is_ok_and(|now| now.as_ref() == Some(expected)));
        };
        let Ok(mut file) = open_file(&self.dir, &self.name) else { return (false, false) };
        // Nobody can open it under its new name. So when nobody has it open for writing, its content is the last.
        let is_open = keeps_open && Writers::of(&file) != Writers::None;
        let is_file = file.metadata().is_ok_and(|meta| meta.is_file());
        (is_open, is_file && Digest::of_stream(&mut file).is_ok_and(|now| now == *digest))
    }

    /// What was written, if it is a file.
    pub fn written(&self) -> Option<&Content> {
        self.ours.as_ref()
    }

    fn content(&self) -> Result<Option<Content>> {
        content_at(&self.dir, &self.name, &self.path())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.stays && unlinkat(&self.dir, &self.name, AtFlags::empty()).is_err() {
            super::discard(&self.path());
        }
    }
}

#[cfg(test)]
#[path = "staging_tests.rs"]
mod tests;
