//! Files, written so that a reader sees the old or the new whole at every instant, and reached so
//! that no link leads outside the directory they are meant for.

mod disk_use;
mod displaced;
mod mount;
mod parts;
mod read;
mod removal;
mod root;
mod root_list;
mod root_write;
mod staging;
mod stat;
mod temporary;
mod writable_by_others;

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, FileType, OFlags, RenameFlags, linkat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

pub use self::disk_use::{DiskUse, disk_use};
pub use self::displaced::{DisplacedFile, Writers, is_displaced};
pub use self::mount::{below as mounts_below, shares_blocks};
pub use self::parts::Parts;
pub(crate) use self::read::read_regular;
pub use self::read::{
    ends_line, last_line, open_plain, read, read_head, read_no_follow, read_own, read_tail, read_text,
};
pub use self::removal::{has_only_dirs, open_up, size_in_words, size_of};
pub use self::root::{Content, Found, Listing, Root};
pub use self::root_list::Bytes;
pub use self::staging::{RESERVED, Staged, Staging};
pub use self::stat::{Stat, is_there, require_writable};
pub use self::temporary::{Temporary, in_memory, new_log, scratch};
pub use self::writable_by_others::open_to_others;
use crate::error::{At, Failure, Result};

/// The mode of everything private: state, stored contents, environment files.
pub const PRIVATE: u32 = 0o600;

/// No file of a user's that we parse is larger; a bigger one is refused before it is read.
pub const PARSE_LIMIT: u64 = 1 << 20;

/// The same for files of our own state.
pub const STATE_LIMIT: u64 = 64 << 20;

/// Creates `dir` and its missing parents, 0700: the umask of our programs takes nothing from the owner.
pub fn create_private_dir(dir: &Path) -> Result<()> {
    if let Ok(meta) = dir.metadata() {
        let mode = meta.permissions().mode();
        if meta.is_dir() && mode & 0o077 != 0 {
            std::fs::set_permissions(dir, std::fs::Permissions::from_mode(mode & 0o700)).at("make private", dir)?;
        }
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir).at("create", dir)
}

/// Opens a file of our own for a lock, creating it 0600; a link in its place is refused.
pub(crate) fn open_private(path: &Path) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(PRIVATE)
        .custom_flags(own_flags())
        .open(path)
        .at("open", path)
}

/// Opens a file of our own that is there for its lock; `None` when there is none.
pub(crate) fn open_existing(path: &Path) -> Result<Option<File>> {
    match OpenOptions::new().read(true).write(true).custom_flags(own_flags()).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e).at("open", path),
    }
}

/// Whether `path` is still a name of this open file.
pub fn is_open_at(file: &File, path: &Path) -> bool {
    let id = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    file.metadata().is_ok_and(|open| path.symlink_metadata().is_ok_and(|named| id(open) == id(named)))
}

/// Tells a directory from a later one at its path: its inode and, where the file system has it, when it was made. A copy
/// is another directory, one that was renamed is not.
pub fn dir_id(path: &Path) -> Option<String> {
    let meta = path.symlink_metadata().ok().filter(std::fs::Metadata::is_dir)?;
    let made = meta.created().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    Some(format!("{}@{}", meta.ino(), made.map_or(0, |made| made.as_nanos())))
}

/// Fails when `path` is a link.
pub fn refuse_link(path: &Path) -> Result<()> {
    if path.is_symlink() { Err(link_refused(path)) } else { Ok(()) }
}

fn link_refused(path: &Path) -> Failure {
    Failure::failed(format!("{} is a symbolic link, which is not followed", path.display()))
        .hint("replace the link by the file itself")
}

/// A temporary file that is older than this is no longer being written.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

/// Removes what killed runs left in a directory of our own, whose lock the caller holds.
pub fn sweep_temporaries(dir: &Path) -> Result<()> {
    sweep(dir, RESERVED)
}

/// Removes what killed runs left in `dir` under names that begin with `prefix`. Displaced files stay.
pub(crate) fn sweep(dir: &Path, prefix: &str) -> Result<()> {
    left_in(dir, prefix)?.iter().for_each(|path| discard(path));
    Ok(())
}

/// The same in a directory that others use without a lock: for what is so old, by the file system's own clock, that
/// nobody uses it any more.
pub fn sweep_old_temporaries(dir: &Path) -> Result<()> {
    let ours = left_in(dir, RESERVED)?;
    if ours.is_empty() {
        return Ok(());
    }
    let now = clock(dir)?;
    for path in ours {
        if changed(&path).is_some_and(|at| now.duration_since(at).unsigned_abs() > LEFT_BEHIND && at < now) {
            discard(&path);
        }
    }
    Ok(())
}

fn left_in(dir: &Path, prefix: &str) -> Result<Vec<PathBuf>> {
    let is_left = |name: &std::ffi::OsString| name.to_string_lossy().starts_with(prefix) && !is_displaced(name);
    Ok(list(dir)?.into_iter().filter(is_left).map(|name| dir.join(name)).collect())
}

/// The time the file system of `dir`, a directory of our own, gives to what is written now.
pub fn clock(dir: &Path) -> Result<jiff::Timestamp> {
    create_private_dir(dir)?;
    let path = dir.join(unique_name());
    let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&path).at("create", &path)?;
    let modified = file.metadata().and_then(|meta| meta.modified());
    let _ = std::fs::remove_file(&path);
    jiff::Timestamp::try_from(modified.at("read", &path)?)
        .map_err(|e| Failure::failed("the file system's clock tells no time").because(e))
}

/// Whether a file can be made in a directory of our own.
pub fn can_write(dir: &Path) -> bool {
    let path = dir.join(unique_name());
    let made = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&path).is_ok();
    made && std::fs::remove_file(&path).is_ok()
}

/// Best effort: a leftover is swept by the next run.
fn discard(path: &Path) {
    if path.is_dir() && !path.is_symlink() {
        let _ = std::fs::remove_dir_all(path);
    } else {
        let _ = std::fs::remove_file(path);
    }
}

/// Replaces a file of git's or our own state: what a killed run left is removed, then temporary file beside it, fsync,
/// rename, fsync of the directory. The mode is `mode` exactly, or with `None` the old file's (0644 less umask for a new
/// one). A link in its place is refused. Of several callers without a lock the last one wins.
pub fn replace(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    sweep(path.parent().unwrap_or(Path::new(".")), &format!("{RESERVED}{name}-"))?;
    replace_in_swept(path, bytes, mode)
}

/// The same in a directory from which the caller has removed what killed runs left.
pub fn replace_in_swept(path: &Path, bytes: &[u8], mode: Option<u32>) -> Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let old = match path.symlink_metadata() {
        Ok(meta) if meta.is_symlink() => return Err(link_refused(path)),
        Ok(meta) => Some(meta.permissions().mode() & 0o7777),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(e).at("read", path),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let write = |temporary: &Path| -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode.unwrap_or(0o644)).open(temporary)?;
        file.write_all(bytes)?;
        if let Some(mode) = mode.or(old) {
            file.set_permissions(std::fs::Permissions::from_mode(mode))?;
        }
        file.sync_all()?;
        std::fs::rename(temporary, path)?;
        File::open(dir)?.sync_all()
    };
    make_as_temporary(dir, &name, write).at("replace", path)
}

/// Makes something under a temporary name in `dir`. Another process that holds no lock either may take it for a killed
/// run's and remove it: then once more.
fn make_as_temporary(dir: &Path, name: &str, make: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    for _ in 0..100 {
        let temporary = dir.join(unique_name_for(name));
        match make(&temporary) {
            Err(e) if e.kind() == io::ErrorKind::NotFound && dir.is_dir() => {}
            made => {
                return made.inspect_err(|_| {
                    let _ = std::fs::remove_file(&temporary);
                });
            }
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Gives `bytes` a name of our own that nothing has, 0600 and on the disk: written in `tmp`, on the same file
/// system, and renamed. `false`, and nothing done, when something has the name.
pub fn publish(tmp: &Path, path: &Path, bytes: &[u8]) -> Result<bool> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let temporary = tmp.join(unique_name());
    let write = || -> io::Result<bool> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        let is_new = place_new(&temporary, path)?;
        File::open(dir)?.sync_all()?;
        Ok(is_new)
    };
    let done = write().at("write", path);
    if !matches!(done, Ok(true)) {
        let _ = std::fs::remove_file(&temporary);
    }
    done
}

fn place_new(from: &Path, to: &Path) -> io::Result<bool> {
    let open = |path: &Path| File::open(path.parent().unwrap_or(Path::new("."))).map(OwnedFd::from);
    let name = |path: &'_ Path| path.file_name().unwrap_or_default().to_owned();
    match rename_new_at(&open(from)?, &name(from), &open(to)?, &name(to)) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// Renames a file of our own to a name that is free, between directories of one file system, and brings the
/// new name to the disk; back, if that fails. `false`, and nothing done, when the name is taken or the file is gone.
pub fn rename_new(from: &Path, to: &Path) -> Result<bool> {
    match place_new(from, to) {
        Ok(true) => {}
        Ok(false) => return Ok(false),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(e).at("rename", from),
    }
    let dir = to.parent().unwrap_or(Path::new("."));
    File::open(dir).and_then(|d| d.sync_all()).at("sync", dir).map(|()| true).inspect_err(|_| {
        let _ = place_new(to, from);
    })
}

/// Removes a directory that is ours with everything in it; links in it are removed, not followed. Nothing
/// there is nothing to do. Fails if something is mounted in it, which would be emptied.
pub fn remove_tree(dir: &Path) -> Result<()> {
    mount::refuse_below(dir)?;
    match std::fs::remove_dir_all(dir) {
        // It holds a descriptor a level, and leaves read-only directories.
        Err(e) if [Errno::MFILE, Errno::ACCESS].iter().any(|n| e.raw_os_error() == Some(n.raw_os_error())) => {
            let top = Root::of(removal::open_dir(CWD, dir.as_os_str()).at("remove", dir)?, dir.to_path_buf());
            // A program can make something in it meanwhile.
            while !removal::names_in(top.fd()).at("remove", dir)?.is_empty() {
                top.remove_contents()?;
            }
            std::fs::remove_dir(dir).at("remove", dir)
        }
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e).at("remove", dir),
        _ => Ok(()),
    }
}

/// Removes a directory if it is empty; `false` when it is not, or is none.
pub fn remove_empty_dir(dir: &Path) -> bool {
    std::fs::remove_dir(dir).is_ok()
}

/// Adds a line to a log of our own in one write, 0600; its end is synced by nobody: a log may lose its
/// last lines, never its form.
pub fn append_line(path: &Path, line: &str) -> Result<()> {
    let open = OpenOptions::new().append(true).create(true).mode(PRIVATE).custom_flags(own_flags()).open(path);
    open.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes())).at("write to", path)
}

/// Brings a file of our own, and its name, to the disk.
pub fn sync(path: &Path) -> Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let file = OpenOptions::new().read(true).custom_flags(own_flags()).open(path);
    file.and_then(|file| file.sync_all()).at("sync", path)?;
    File::open(dir).and_then(|dir| dir.sync_all()).at("sync", dir)
}

/// Removes a file of our own state, if it is there.
pub fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e).at("remove", path),
        _ => Ok(()),
    }
}

/// The names of what lies in a directory of our own; empty when there is none.
pub fn list(dir: &Path) -> Result<Vec<std::ffi::OsString>> {
    let entries = match std::fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.at("read", dir)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.at("read", dir)?.file_name());
    }
    names.sort();
    Ok(names)
}

/// Creates a directory that is not private (git's `info/` or `hooks/`) if it is missing.
pub fn create_dir(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).at("create", dir)
}

/// Creates a directory where nothing is, its parent being there; `false` when something is.
pub fn create_new_dir(dir: &Path) -> Result<bool> {
    match std::fs::create_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        made => made.at("create", dir).map(|()| true),
    }
}

/// Sets a file's time of change to `now`: what is collected by age counts as used.
pub fn touch(path: &Path, now: jiff::Timestamp) -> Result<()> {
    let file = OpenOptions::new().write(true).custom_flags(own_flags()).open(path);
    file.and_then(|file| file.set_modified(now.into())).at("write to", path)
}

/// The time of change of a file; none when there is none. May lie in the future, where somebody set it so.
pub fn changed(path: &Path) -> Option<jiff::Timestamp> {
    let modified = path.symlink_metadata().and_then(|meta| meta.modified()).ok()?;
    jiff::Timestamp::try_from(modified).ok()
}

/// When a file was written or touched last; none when there is none.
pub fn age(path: &Path, now: jiff::Timestamp) -> Option<std::time::Duration> {
    Some(now.duration_since(changed(path)?).try_into().unwrap_or_default())
}

/// Renames within one directory of git's or our own, replacing what is there.
pub fn rename_over(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to).at("rename", from)?;
    let dir = to.parent().unwrap_or(Path::new("."));
    File::open(dir).and_then(|d| d.sync_all()).at("sync", dir)
}

/// Makes a symbolic link of our own, or points it there if it leads elsewhere.
pub fn point(link: &Path, target: &Path) -> Result<()> {
    let leads_there = || std::fs::read_link(link).is_ok_and(|leads| leads == target);
    if leads_there() || std::os::unix::fs::symlink(target, link).is_ok() || leads_there() {
        return Ok(());
    }
    let make = |temporary: &Path| {
        std::os::unix::fs::symlink(target, temporary)?;
        std::fs::rename(temporary, link)
    };
    make_as_temporary(link.parent().unwrap_or(Path::new(".")), "", make).at("replace", link)
}

/// Gives a file a second name; fails when that name is taken.
pub fn link(from: &Path, to: &Path) -> Result<()> {
    std::fs::hard_link(from, to).at("link", from)
}

/// Whether `path` itself, not what a link there leads to, belongs to the user this process runs as.
pub fn is_ours(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.uid() == rustix::process::geteuid().as_raw())
}

/// Whether two names mean one file.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    let id = |p: &Path| p.symlink_metadata().ok().map(|m| (m.dev(), m.ino()));
    id(a).is_some() && id(a) == id(b)
}

/// A name no other process or call of ours uses at the same time.
pub fn unique_name() -> String {
    unique_name_for("")
}

/// The same with the name of what it will replace in it, so that a killed run's leftovers are known.
fn unique_name_for(target: &str) -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    static PROCESS: LazyLock<u32> = LazyLock::new(std::process::id);
    // std seeds its hashers at random: a stale name of an earlier process with our id is not met.
    let random = RandomState::new().build_hasher().finish();
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{RESERVED}{target}-{}-{count}-{random:x}", *PROCESS)
}

/// Renames to a name that is free; `EXIST` when it is not. Where the file system has no
/// RENAME_NOREPLACE a hard link, which refuses an existing name as well, serves for what is no directory.
pub(crate) fn rename_new_at(from: &OwnedFd, old: &OsStr, to: &OwnedFd, new: &OsStr) -> rustix::io::Result<()> {
    let is_dir = || {
        let stat = statat(from, old, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    };
    match renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if !is_dir() => {
            linkat(from, old, to, new, AtFlags::empty())?;
            unlinkat(from, old, AtFlags::empty())
        }
        moved => moved,
    }
}

/// With these a file of our own is opened: no link in its place is followed, and no pipe there is waited for.
fn own_flags() -> i32 {
    i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0)
}

pub(crate) fn is_loop(e: &io::Error) -> bool {
    e.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replace_keeps_the_mode_and_leaves_nothing_beside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, b"new", None).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        replace(&path, b"private", Some(PRIVATE)).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(list(dir.path()).unwrap().len(), 1);
    }

    #[test]
    fn replace_without_a_lock_never_fails() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("f"), dir.path().join("link"));
        std::thread::scope(|scope| {
            let replace_often = |n: usize| {
                for i in 0..100 {
                    replace(&path, n.to_string().as_bytes(), None).unwrap();
                    point(&link, Path::new(&format!("{n}-{i}"))).unwrap();
                    sweep_temporaries(dir.path()).unwrap();
                }
            };
            for n in 0..4 {
                scope.spawn(move || replace_often(n));
            }
        });
        assert_eq!(std::fs::read(&path).unwrap().len(), 1);
        assert_eq!(list(dir.path()).unwrap().len(), 2);
    }

    #[test]
    fn replace_refuses_a_link() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("target"), "safe").unwrap();
        std::os::unix::fs::symlink("target", dir.path().join("f")).unwrap();
        assert!(replace(&dir.path().join("f"), b"x", None).is_err());
        assert_eq!(std::fs::read(dir.path().join("target")).unwrap(), b"safe");
    }

    #[test]
    fn a_fifo_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(read(&fifo).unwrap_err().message.contains("not a regular file"));
    }
}
