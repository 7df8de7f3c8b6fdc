//! Undoing a spawn: exactly what it made, in reverse. What a killed one left is looked at first, in case somebody
//! has worked there since.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Found, Root};
use shopfloor_core::git::Git;
use shopfloor_core::path::RelPath;

use super::remove;
use crate::facts::place::Place;
use crate::facts::spawn::git_failed;
use crate::identity;
use crate::journal::{Open, Spawn};

/// Files of ours in a new worktree, before its hooks run.
const OURS: [&str; 4] = [".git", ".shopfloor/.gitignore", ".shopfloor/config.local.toml", ".shopfloor/task.md"];

/// What became of a killed spawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovered {
    /// It is undone.
    Undone,
    /// Somebody works there: it counts as made.
    Kept,
    /// The worktree is no more, but for files that were not of its making.
    Left(PathBuf),
}

/// Undoes a spawn of this process, under the repository's lock: what git has registered there was made by it.
pub fn undo(place: &Place, git: &Git, open: Open) -> Result<()> {
    let spawn = open.spawn.clone();
    if admin_entry(place, &spawn)?.is_some() {
        match spawn.makes_dirs.contains(&spawn.path) {
            true => fs::remove_tree(&spawn.path)?,
            // The directory was there, and empty.
            false => empty(&spawn.path)?,
        }
    }
    take_back(place, git, &spawn)?;
    open.close()?;
    remove::release(place, &spawn.path)
}

/// Finishes what a killed spawn began, under the repository's lock.
pub fn recover(place: &Place, git: &Git, open: Open) -> Result<Recovered> {
    let spawn = open.spawn.clone();
    if spawn.makes_branch {
        // A process killed while it made the branch leaves git's lock on that, which nobody else has a use for.
        fs::remove(&place.common_dir.join(format!("refs/heads/{}.lock", spawn.branch)))?;
    }
    let admin = admin_entry(place, &spawn)?;
    // The index is written last: with it all files are there, whoever wrote them to their end.
    let whole = admin.as_ref().filter(|dir| dir.join("index").exists() && !dir.join("index.lock").exists());
    if let Some(dir) = whole
        && is_in_use(git, &spawn, dir)?
    {
        open.close()?;
        return Ok(Recovered::Kept);
    }
    if spawn.path.symlink_metadata().is_ok() {
        match whole {
            // Nothing in it but what git and its hooks made.
            Some(_) => fs::remove_tree(&spawn.path)?,
            None => remove_known(git, place, &spawn)?,
        }
    }
    take_back(place, git, &spawn)?;
    open.close()?;
    remove::release(place, &spawn.path)?;
    Ok(if spawn.path.symlink_metadata().is_ok() && spawn.makes_dirs.contains(&spawn.path) {
        Recovered::Left(spawn.path)
    } else {
        Recovered::Undone
    })
}

/// Whether somebody committed, changed a file, or took a seat.
fn is_in_use(git: &Git, spawn: &Spawn, git_dir: &Path) -> Result<bool> {
    if !fs::list(&identity::seats(git_dir))?.is_empty() {
        return Ok(true);
    }
    let head = git.cmd(&spawn.path).args(["rev-parse", "HEAD"]).capture()?;
    if String::from_utf8_lossy(&head.stdout).trim() != spawn.base_sha {
        return Ok(true);
    }
    let status = git.cmd(&spawn.path).args(["status", "--porcelain", "-z", "--untracked-files=all"]).capture()?;
    Ok(!status.status.success() || !status.stdout.is_empty())
}

/// git's record of the worktree, if it has one.
fn admin_entry(place: &Place, spawn: &Spawn) -> Result<Option<PathBuf>> {
    let admin = place.common_dir.join("worktrees");
    for name in fs::list(&admin)? {
        let dir = admin.join(name);
        let gitdir = fs::read(&dir.join("gitdir")).unwrap_or_default().unwrap_or_default();
        let path = Path::new(OsStr::from_bytes(gitdir.trim_ascii_end()));
        if path.parent().is_some_and(|path| is_same(path, &spawn.path)) {
            return Ok(Some(dir));
        }
    }
    Ok(None)
}

fn is_same(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Everything but the files: git's record, the branch, the directories above.
fn take_back(place: &Place, git: &Git, spawn: &Spawn) -> Result<()> {
    if let Some(dir) = admin_entry(place, spawn)? {
        fs::remove_tree(&dir)?;
        fs::remove_empty_dir(&place.common_dir.join("worktrees"));
    }
    if spawn.makes_branch {
        // Only as it was made: whoever has moved it since keeps it.
        let name = format!("refs/heads/{}", spawn.branch);
        let asked = git.cmd(&place.common_dir).args(["rev-parse", "--verify", "--quiet"]).arg(&name).capture()?;
        if String::from_utf8_lossy(&asked.stdout).trim() == spawn.base_sha {
            let deleted = git.cmd(&place.common_dir).args(["update-ref", "-d", &name, &spawn.base_sha]).capture()?;
            if !deleted.status.success() {
                return Err(git_failed("update-ref", &deleted));
            }
        }
    }
    for dir in spawn.makes_dirs.iter().rev() {
        fs::remove_empty_dir(dir);
    }
    Ok(())
}

/// Removes what git wrote there and nothing else, then the directories that are empty. A file that is not what git
/// would have written, nor the beginning of it, is somebody's by now.
fn remove_known(git: &Git, place: &Place, spawn: &Spawn) -> Result<()> {
    let listed = git.cmd(&place.common_dir).args(["ls-tree", "-r", "-z", &spawn.base_sha]).capture()?;
    if !listed.status.success() {
        return Err(git_failed("ls-tree", &listed));
    }
    let root = Root::open(&spawn.path)?;
    let entries = listed.stdout.split(|b| *b == 0).filter_map(|entry| {
        let tab = entry.iter().position(|b| *b == b'\t')?;
        let sha = entry[..tab].rsplit(|b| *b == b' ').next()?;
        let path = RelPath::parse_os(OsStr::from_bytes(&entry[tab + 1..])).ok()?;
        Some((path, String::from_utf8_lossy(sha).into_owned()))
    });
    let (mut files, mut links) = (Vec::new(), Vec::new());
    for (path, sha) in entries {
        match root.look(&path)? {
            Found::File(_) => files.push((path, sha)),
            Found::Link(target) => links.push((path, sha, target)),
            _ => {}
        }
    }
    let names = files.iter().flat_map(|(path, _)| [path.as_path().as_os_str().as_bytes(), b"\n"].concat()).collect();
    let work_tree = git.cmd(&spawn.path).var("GIT_DIR", &place.common_dir).var("GIT_WORK_TREE", &spawn.path);
    let hashed = work_tree.args(["hash-object", "--stdin-paths"]).input(names).capture()?;
    let hashed = String::from_utf8_lossy(&hashed.stdout).into_owned();
    let mut hashes = hashed.lines();
    let mut dirs = BTreeSet::new();
    let mut gone = |path: &RelPath| -> Result<()> {
        root.unlink(path)?;
        let above = std::iter::successors(path.parent(), RelPath::parent);
        dirs.extend(above.map(|dir| (std::cmp::Reverse(dir.components().count()), dir)));
        Ok(())
    };
    for (path, sha) in &files {
        if hashes.next() == Some(sha.as_str()) || is_beginning(git, place, &root, path, sha)? {
            gone(path)?;
        }
    }
    for (path, sha, target) in &links {
        if blob(git, place, sha)? == target.as_os_str().as_bytes() {
            gone(path)?;
        }
    }
    for name in OURS {
        fs::remove(&spawn.path.join(name))?;
    }
    fs::remove_empty_dir(&spawn.path.join(".shopfloor"));
    for (_, dir) in dirs {
        root.remove_empty_dir(&dir)?;
    }
    Ok(())
}

/// Whether a file is what a killed checkout left of a blob: all of it, or its beginning.
fn is_beginning(git: &Git, place: &Place, root: &Root, path: &RelPath, sha: &str) -> Result<bool> {
    let Some((bytes, _)) = root.read_whole(path)? else { return Ok(false) };
    Ok(blob(git, place, sha)?.starts_with(&bytes))
}

fn blob(git: &Git, place: &Place, sha: &str) -> Result<Vec<u8>> {
    Ok(git.cmd(&place.common_dir).args(["cat-file", "blob", sha]).capture()?.stdout)
}

fn empty(dir: &Path) -> Result<()> {
    for name in fs::list(dir)? {
        let path = dir.join(name);
        match path.symlink_metadata() {
            Ok(meta) if meta.is_dir() => fs::remove_tree(&path)?,
            Ok(_) => fs::remove(&path)?,
            Err(_) => {}
        }
    }
    Ok(())
}

/// A failure that was undone, with what could not be.
pub fn with_leftovers(failure: Failure, undone: Result<()>) -> Failure {
    match undone {
        Ok(()) => failure,
        Err(left) => failure.details([format!("undoing it failed: {left}")]).hint("run `worktree-spawn repair`"),
    }
}
