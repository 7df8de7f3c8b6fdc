//! Undoing a spawn: exactly what it made, in reverse. What a killed one left is looked at first, in case somebody
//! has worked there since; and nothing is touched that is not provably its own.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Found, Root};
use shopfloor_core::git::{Git, private_dir};
use shopfloor_core::path::RelPath;

use super::remove;
use crate::facts::place::Place;
use crate::facts::spawn::git_failed;
use crate::identity;
use crate::journal::{Open, Spawn};
use crate::life;

/// Files of ours in a new worktree.
const OURS: [&str; 6] = [
    ".git",
    ".mcp.json",
    ".shopfloor/.gitignore",
    ".shopfloor/config.local.toml",
    ".shopfloor/task.md",
    ".shopfloor/mcp.json",
];

/// What became of a killed spawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovered {
    /// It is undone.
    Undone,
    /// Somebody works there: it counts as made.
    Kept(PathBuf),
    /// It is undone, and what was in its worktree is here: there were ignored files.
    Moved(PathBuf),
    /// It is undone, but for files that were not of its making.
    Left(PathBuf),
    /// Its worktree is not where it was; the journal stays.
    Astray(PathBuf),
}

/// git's record of a spawn's worktree.
struct Entry {
    /// The private git directory.
    dir: PathBuf,
    /// Where git has the worktree by now.
    path: PathBuf,
    /// The worktree there leads back to the record.
    is_linked: bool,
}

/// The record that is the spawn's: on its branch, and written down as its agent's or at its place.
fn entry_of(place: &Place, spawn: &Spawn) -> Result<Option<Entry>> {
    let admin = place.common_dir.join("worktrees");
    let head = format!("ref: refs/heads/{}", spawn.branch);
    for name in fs::list(&admin)? {
        let dir = admin.join(name);
        let text = |file: &str| fs::read(&dir.join(file)).unwrap_or_default().unwrap_or_default();
        let on_branch = String::from_utf8_lossy(&text("HEAD")).trim() == head || place.has_ref_storage;
        let gitdir = text("gitdir");
        let dot_git = dir.join(OsStr::from_bytes(gitdir.trim_ascii_end()));
        let Some(path) = dot_git.parent().map(Path::to_path_buf).filter(|_| on_branch) else { continue };
        let agent = identity::Agent::load(&identity::record(&dir)).ok().flatten();
        let is_its = agent.map_or_else(|| is_same(&path, &spawn.path), |agent| agent.id == spawn.id);
        if is_its {
            let is_linked = private_dir(&path).is_some_and(|private| is_same(&private, &dir));
            return Ok(Some(Entry { dir, path, is_linked }));
        }
    }
    Ok(None)
}

/// Undoes a spawn of this process, under the repository's lock: what git has registered there for it was made by it.
pub fn undo(place: &Place, git: &Git, open: Open<Spawn>) -> Result<()> {
    let spawn = open.work.clone();
    let entry = entry_of(place, &spawn)?;
    if let Some(entry) = entry.as_ref().filter(|entry| entry.is_linked && is_same(&entry.path, &spawn.path)) {
        match spawn.makes_dirs.contains(&spawn.path) {
            true => fs::remove_tree(&entry.path)?,
            // The directory was there, and empty.
            false => empty(&entry.path)?,
        }
    }
    take_back(place, git, &spawn, entry.as_ref())?;
    open.close()?;
    remove::release(place, &spawn.path)
}

/// Finishes what a killed spawn began, under the repository's lock. What is not where it was is for `repair`, which
/// looks for it first: with `is_last` nothing more is looked for.
pub fn recover(place: &Place, git: &Git, open: Open<Spawn>, is_last: bool) -> Result<Recovered> {
    let spawn = open.work.clone();
    let entry = entry_of(place, &spawn)?;
    let mut recovered = Recovered::Undone;
    match &entry {
        Some(entry) if !entry.is_linked && !is_last => return Ok(Recovered::Astray(entry.path.clone())),
        Some(entry) if entry.is_linked => {
            if is_in_use(place, git, &spawn, entry)? {
                open.close()?;
                return Ok(Recovered::Kept(entry.path.clone()));
            }
            // The index is written last: with it all files are there.
            let is_whole = entry.dir.join("index").exists() && !entry.dir.join("index.lock").exists();
            match is_whole && !has_ignored(git, &entry.path)? {
                // Nothing in it but what git and we made.
                true => fs::remove_tree(&entry.path)?,
                false if is_whole => {
                    let aside = place.shared().join("undone").join(identity::new_uid());
                    fs::create_private_dir(&place.shared().join("undone"))?;
                    fs::rename_over(&entry.path, &aside)?;
                    recovered = Recovered::Moved(aside);
                }
                false => {
                    remove_known(git, place, &spawn)?;
                    if entry.path.symlink_metadata().is_ok() && !fs::remove_empty_dir(&entry.path) {
                        recovered = Recovered::Left(entry.path.clone());
                    }
                }
            }
        }
        // Whatever lies there is not the spawn's.
        _ => {}
    }
    if spawn.makes_branch && entry.as_ref().is_none_or(|entry| is_same(&entry.path, &spawn.path) || !entry.is_linked) {
        // A process killed while it made the branch leaves git's lock on that, which nobody else has a use for.
        fs::remove(&place.common_dir.join(format!("refs/heads/{}.lock", spawn.branch)))?;
    }
    take_back(place, git, &spawn, entry.as_ref())?;
    open.close()?;
    remove::release(place, &spawn.path)?;
    Ok(recovered)
}

/// Whether somebody is there, moved it, committed, changed a file, took a seat, or made a worktree inside.
fn is_in_use(place: &Place, git: &Git, spawn: &Spawn, entry: &Entry) -> Result<bool> {
    let shared = place.shared();
    let is_here = place.here.as_ref().is_some_and(|here| here.path.starts_with(&entry.path));
    let is_nested = place.trees()?.iter().any(|tree| tree.path != entry.path && tree.path.starts_with(&entry.path));
    let has_seats = !fs::list(&identity::seats(&entry.dir))?.is_empty();
    let lives = life::load(&shared, &spawn.id)?.is_some_and(|life| life.ended.is_none());
    if is_here || is_nested || has_seats || lives || !is_same(&entry.path, &spawn.path) {
        return Ok(true);
    }
    if !entry.dir.join("index").exists() || entry.dir.join("index.lock").exists() {
        // Files are looked at one by one.
        return Ok(false);
    }
    let git = &git.guarded(&place.common_dir, &entry.path)?;
    let head = git.cmd_alone(&entry.path).args(["rev-parse", "HEAD"]).capture()?;
    if String::from_utf8_lossy(&head.stdout).trim() != spawn.base_sha {
        return Ok(true);
    }
    let how = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=dirty"];
    let status = git.cmd_alone(&entry.path).args(how).capture()?;
    if git.inner_losses(&entry.path)?.is_some() {
        return Ok(true);
    }
    Ok(!status.status.success() || !status.stdout.is_empty())
}

/// Whether there are ignored files that are not ours: a hook's, or somebody's.
fn has_ignored(git: &Git, tree: &Path) -> Result<bool> {
    let cmd = git.cmd(tree).args(["ls-files", "-z", "--others", "--ignored", "--exclude-standard"]);
    let listed = cmd.capture()?;
    let mut names = listed.stdout.split(|b| *b == 0).filter(|name| !name.is_empty());
    Ok(!listed.status.success() || names.any(|name| OURS.iter().all(|ours| ours.as_bytes() != name)))
}

fn is_same(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Everything but the files: git's record, the branch where nobody has it, the directories above.
fn take_back(place: &Place, git: &Git, spawn: &Spawn, entry: Option<&Entry>) -> Result<()> {
    if let Some(entry) = entry {
        fs::remove_tree(&entry.dir)?;
        fs::remove_empty_dir(&place.common_dir.join("worktrees"));
    }
    let has_it = place.trees()?.iter().any(|tree| tree.branch.as_deref() == Some(&spawn.branch));
    if spawn.makes_branch && !has_it {
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
    // Every directory git would have made, whether it got as far as a file in it or not: an empty one would keep the name
    // from ever being spawned again.
    let mut dirs = BTreeSet::new();
    for (path, sha) in entries {
        let above = std::iter::successors(path.parent(), RelPath::parent);
        dirs.extend(above.map(|dir| (std::cmp::Reverse(dir.components().count()), dir)));
        match root.look(&path)? {
            Found::File(_) => files.push((path, sha)),
            Found::Link(target) => links.push((path, sha, target)),
            // A submodule's place is an empty directory too.
            _ => drop(dirs.insert((std::cmp::Reverse(path.components().count()), path))),
        }
    }
    let names = files.iter().flat_map(|(path, _)| [path.as_path().as_os_str().as_bytes(), b"\n"].concat()).collect();
    let work_tree = git.cmd(&spawn.path).var("GIT_DIR", &place.common_dir).var("GIT_WORK_TREE", &spawn.path);
    let hashed = work_tree.args(["hash-object", "--stdin-paths"]).input(names).capture()?;
    let hashed = String::from_utf8_lossy(&hashed.stdout).into_owned();
    let mut hashes = hashed.lines();
    for (path, sha) in &files {
        if hashes.next() == Some(sha.as_str()) || is_beginning(git, place, &root, path, sha)? {
            root.unlink(path)?;
        }
    }
    for (path, sha, target) in &links {
        if blob(git, place, sha)? == target.as_os_str().as_bytes() {
            root.unlink(path)?;
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
