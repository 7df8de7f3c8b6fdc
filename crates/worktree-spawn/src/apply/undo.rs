//! Undoing a spawn: exactly what it made, in reverse. Before a killed spawn is undone, its worktree is checked for work
//! done since. Nothing is touched that the spawn did not provably make.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Found, Root};
use shopfloor_core::git::{self, Git, leads_back, recorded_path};
use shopfloor_core::path::RelPath;

use super::records::release_excludes;
use crate::agent_run;
use crate::facts::repository;
use crate::identity::{Agent, new_uid};
use crate::journal::{OpenJournal, SpawnJournal};
use crate::known_agent::{IGNORE_FILE, MCP_FILE, OWN_MCP_FILE, ROLE_FILE, TASK_FILE};
use crate::layout;
use crate::place::Place;

/// The files that git and this tool write into a new worktree.
const OURS: [&str; 6] = [".git", MCP_FILE, IGNORE_FILE, ROLE_FILE, TASK_FILE, OWN_MCP_FILE];

/// What became of a killed spawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecoveredSpawn {
    /// It is undone.
    Undone,
    /// It counts as made, because somebody works there.
    Kept(PathBuf),
    /// It is undone. Its files were moved here, because some were ignored by git.
    Moved(PathBuf),
    /// It is undone, except for files that it did not make.
    Left(PathBuf),
    /// Its worktree is not where it was, so the journal stays.
    Astray(PathBuf),
}

/// What to do about a killed spawn whose worktree is not where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostWorktrees {
    /// Leave it to `repair`, which looks for moved worktrees first.
    Leave,
    /// Undo it, because `repair` did not find the worktree.
    Undo,
}

/// git's record of a spawn's worktree.
struct WorktreeRecord {
    /// The private git directory.
    dir: PathBuf,
    /// The worktree's path by the record.
    path: PathBuf,
    /// Whether the worktree at that path leads back to the record.
    is_linked: bool,
}

/// Finds the record that the spawn made: it is on the spawn's branch and has the spawn's agent. A spawn that was killed
/// before it wrote its agent left a worktree without files.
fn record_of(place: &Place, spawn: &SpawnJournal) -> Result<Option<WorktreeRecord>> {
    let admin = place.common_dir.join("worktrees");
    let head = format!("ref: refs/heads/{}", spawn.id);
    for name in fs::list(&admin)? {
        let dir = admin.join(name);
        let text = fs::read_no_follow(&dir.join("HEAD")).unwrap_or_default().unwrap_or_default();
        let on_branch = String::from_utf8_lossy(&text).trim() == head || place.has_ref_storage;
        let Some(path) = recorded_path(&dir).ok().flatten().filter(|_| on_branch) else { continue };
        let is_linked = leads_back(&path, &dir);
        let is_bare = || fs::list(&path).is_ok_and(|names| names.iter().all(|name| name == ".git"));
        let is_its = match Agent::load(&layout::identity_file(&dir)) {
            Ok(Some(agent)) => agent.id == spawn.id,
            Ok(None) => is_same(&path, &spawn.path) || (is_linked && is_bare()),
            Err(_) => false,
        };
        if is_its {
            return Ok(Some(WorktreeRecord { dir, path, is_linked }));
        }
    }
    Ok(None)
}

/// Undoes a spawn of this process. The caller holds the repository's lock. The record that git has for the spawn is its
/// own.
pub fn undo(place: &Place, git: &Git, open: OpenJournal<SpawnJournal>) -> Result<()> {
    let spawn = open.entry.clone();
    let entry = record_of(place, &spawn)?;
    if let Some(entry) = entry.as_ref().filter(|entry| entry.is_linked && is_same(&entry.path, &spawn.path)) {
        match spawn.makes_dirs.contains(&spawn.path) {
            true => fs::remove_tree(&entry.path)?,
            // The directory was there before, and empty.
            false => empty(&entry.path)?,
        }
    }
    take_back(place, git, &spawn, entry.as_ref())?;
    open.close()?;
    release_excludes(place, &spawn.path)
}

/// Undoes or keeps a killed spawn. The caller holds the repository's lock.
pub fn recover(
    place: &Place,
    git: &Git,
    open: OpenJournal<SpawnJournal>,
    lost: LostWorktrees,
) -> Result<RecoveredSpawn> {
    let spawn = open.entry.clone();
    let entry = record_of(place, &spawn)?;
    let mut recovered = RecoveredSpawn::Undone;
    match &entry {
        Some(entry) if !entry.is_linked && (lost == LostWorktrees::Leave || has_staged(place, git, &spawn, entry)?) => {
            return Ok(RecoveredSpawn::Astray(entry.path.clone()));
        }
        Some(entry) if entry.is_linked => {
            if is_in_use(place, git, &spawn, entry)? {
                open.close()?;
                return Ok(RecoveredSpawn::Kept(entry.path.clone()));
            }
            // The index is written last, so if it is there all files are.
            let is_whole = entry.dir.join("index").exists() && !entry.dir.join("index.lock").exists();
            // The task is a person's text.
            let has_task = entry.path.join(TASK_FILE).symlink_metadata().is_ok();
            match is_whole && !has_task && !has_ignored(git, &entry.path)? {
                // It holds only what git and this tool made.
                true => fs::remove_tree(&entry.path)?,
                false if is_whole => {
                    let undone = layout::undone_dir(&place.shared());
                    let aside = undone.join(new_uid());
                    fs::create_private_dir(&undone)?;
                    fs::rename_over(&entry.path, &aside)?;
                    recovered = RecoveredSpawn::Moved(aside);
                }
                false => {
                    remove_known(git, place, &spawn, &entry.path)?;
                    if entry.path.symlink_metadata().is_ok() && !fs::remove_empty_dir(&entry.path) {
                        recovered = RecoveredSpawn::Left(entry.path.clone());
                    }
                }
            }
        }
        // What is at the path is not the spawn's.
        _ => {}
    }
    if spawn.makes_branch {
        // A git that was killed while it made the branch leaves its lock, which no other process uses.
        let heads = place.common_dir.join("refs/heads");
        if heads.canonicalize().is_ok_and(|real| real == heads) && !spawn.id.contains('/') {
            fs::remove(&heads.join(format!("{}.lock", spawn.id)))?;
        }
    }
    take_back(place, git, &spawn, entry.as_ref())?;
    open.close()?;
    if let Some(entry) = &entry {
        // What is empty now was made for the worktree.
        let above = entry.path.parent().filter(|above| above.ends_with(".shopfloor/worktrees"));
        above.map(fs::remove_empty_dir);
        release_excludes(place, &entry.path)?;
    }
    Ok(recovered)
}

/// Whether somebody is in the worktree, moved it, committed, changed a file, took a seat, or made a worktree inside.
fn is_in_use(place: &Place, git: &Git, spawn: &SpawnJournal, entry: &WorktreeRecord) -> Result<bool> {
    let shared = place.shared();
    let is_here = place.here.as_ref().is_some_and(|here| here.path.starts_with(&entry.path));
    let is_nested = repository::worktrees(place)?
        .iter()
        .any(|worktree| worktree.path != entry.path && worktree.path.starts_with(&entry.path));
    let has_seats = !fs::list(&layout::seats_dir(&entry.dir))?.is_empty();
    let runs = agent_run::load(&shared, &spawn.id)?.is_some_and(|run| run.ended.is_none());
    let is_moved = !spawn.name.is_empty() && entry.path.file_name() != Some(OsStr::new(&spawn.name));
    // A journal may be forged: what anybody has used stays.
    let is_used = agent_run::load(&shared, &spawn.id)?.is_some()
        || entry.dir.join("locked").exists()
        || !fs::mounts_below(&entry.path).is_empty();
    if is_here || is_nested || has_seats || runs || is_moved || is_used {
        return Ok(true);
    }
    if !entry.dir.join("index").exists() || entry.dir.join("index.lock").exists() {
        // The files are then checked one by one.
        return Ok(false);
    }
    let git = &git.guarded(&place.common_dir, &entry.path)?;
    let head = git.cmd_alone(&entry.path).args(["rev-parse", "HEAD"]).capture()?;
    if String::from_utf8_lossy(&head.stdout).trim() != spawn.base_sha {
        return Ok(true);
    }
    let how = ["status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=dirty"];
    let status = git.cmd_alone(&entry.path).args(how).capture()?;
    if git.inner_losses(&entry.path)?.is_some() || !git.hidden_changes(&entry.path, &entry.dir)?.is_empty() {
        return Ok(true);
    }
    Ok(!status.status.success() || !status.stdout.is_empty())
}

/// Whether something is staged in a worktree that is not at its path.
fn has_staged(place: &Place, git: &Git, spawn: &SpawnJournal, entry: &WorktreeRecord) -> Result<bool> {
    let index = entry.dir.join("index");
    if !index.exists() {
        return Ok(false);
    }
    let cmd = git.cmd(&place.common_dir).var("GIT_INDEX_FILE", &index);
    Ok(!cmd.args(["diff-index", "--cached", "--quiet", &spawn.base_sha, "--"]).capture()?.status.success())
}

/// Whether there are ignored files that this tool did not write.
fn has_ignored(git: &Git, worktree: &Path) -> Result<bool> {
    let cmd = git.cmd(worktree).args(["ls-files", "-z", "--others", "--ignored", "--exclude-standard"]);
    let listed = cmd.capture()?;
    let mut names = listed.stdout.split(|b| *b == 0).filter(|name| !name.is_empty());
    Ok(!listed.status.success() || names.any(|name| OURS.iter().all(|ours| ours.as_bytes() != name)))
}

fn is_same(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Removes everything except files: git's record, the branch unless it is checked out, and the directories above.
fn take_back(place: &Place, git: &Git, spawn: &SpawnJournal, entry: Option<&WorktreeRecord>) -> Result<()> {
    if let Some(entry) = entry {
        fs::remove_tree(&entry.dir)?;
        fs::remove_empty_dir(&place.common_dir.join("worktrees"));
    }
    if spawn.makes_branch {
        let decided = if spawn.path.as_os_str().is_empty() { Decided::ByJournal } else { Decided::Here };
        delete_branch(place, git, &spawn.id, &spawn.base_sha, decided)?;
    }
    for dir in spawn.makes_dirs.iter().rev() {
        fs::remove_empty_dir(dir);
    }
    Ok(())
}

/// Who says that a branch is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// This process, which has looked.
    Here,
    /// A journal, which anybody may have written: the branch goes only if another ref has its commit.
    ByJournal,
}

/// Deletes an agent's branch if it is still at this commit and no worktree has it. Says whether it is gone.
pub fn delete_branch(place: &Place, git: &Git, id: &str, tip: &str, decided: Decided) -> Result<bool> {
    let name = format!("refs/heads/{id}");
    if repository::worktrees(place)?.iter().any(|worktree| worktree.branch.as_deref() == Some(id)) {
        return Ok(false);
    }
    let ask = |args: &[&str]| git.cmd(&place.common_dir).args(args.iter().copied()).capture();
    let found = ask(&["rev-parse", "--verify", "--quiet", &name])?;
    if !found.status.success() {
        return Ok(true);
    }
    let is_elsewhere = || -> Result<bool> {
        let refs = ask(&["for-each-ref", "--count=2", "--format=%(refname)", "--contains", tip])?;
        Ok(String::from_utf8_lossy(&refs.stdout).lines().any(|other| other != name))
    };
    Ok((decided == Decided::Here || is_elsewhere()?) && ask(&["update-ref", "-d", &name, tip])?.status.success())
}

/// Removes what git wrote and nothing else, then the directories that are empty. A file stays if it is neither what git
/// writes nor the beginning of that, because then somebody else wrote it.
fn remove_known(git: &Git, place: &Place, spawn: &SpawnJournal, path: &Path) -> Result<()> {
    let listed = git.cmd(&place.common_dir).args(["ls-tree", "-r", "-z", &spawn.base_sha]).capture()?;
    if !listed.status.success() {
        return Err(git::failed("ls-tree", &listed));
    }
    let root = Root::open(path)?;
    let entries = listed.stdout.split(|b| *b == 0).filter_map(|entry| {
        let tab = entry.iter().position(|b| *b == b'\t')?;
        let sha = entry[..tab].rsplit(|b| *b == b' ').next()?;
        let path = RelPath::parse_os(OsStr::from_bytes(&entry[tab + 1..])).ok()?;
        Some((path, String::from_utf8_lossy(sha).into_owned()))
    });
    let (mut files, mut links) = (Vec::new(), Vec::new());
    // Every directory that git would have made, even if it wrote no file there: an empty one would prevent the name
    // from being spawned again.
    let mut dirs = BTreeSet::new();
    for (path, sha) in entries {
        let above = std::iter::successors(path.parent(), RelPath::parent);
        dirs.extend(above.map(|dir| (std::cmp::Reverse(dir.components().count()), dir)));
        match root.look(&path)? {
            Found::File(_) => files.push((path, sha)),
            Found::Link(target) => links.push((path, sha, target)),
            // A submodule's directory is empty, too.
            _ => drop(dirs.insert((std::cmp::Reverse(path.components().count()), path))),
        }
    }
    let names = files.iter().flat_map(|(path, _)| [path.as_path().as_os_str().as_bytes(), b"\n"].concat()).collect();
    let work_tree = git.cmd(path).var("GIT_DIR", &place.common_dir).var("GIT_WORK_TREE", path);
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
        fs::remove(&path.join(name))?;
    }
    fs::remove_empty_dir(&path.join(".shopfloor"));
    for (_, dir) in dirs {
        root.remove_empty_dir(&dir)?;
    }
    Ok(())
}

/// Whether a file holds a blob or its beginning, as a killed checkout leaves it.
fn is_beginning(git: &Git, place: &Place, root: &Root, path: &RelPath, sha: &str) -> Result<bool> {
    let Some((bytes, _)) = root.read_whole(path)? else { return Ok(false) };
    Ok(blob(git, place, sha)?.starts_with(&bytes))
}

fn blob(git: &Git, place: &Place, sha: &str) -> Result<Vec<u8>> {
    Ok(git.cmd(&place.common_dir).args(["cat-file", "blob", sha]).capture()?.stdout)
}

/// Deletes everything in a directory.
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

/// A failure whose effects were undone, with what could not be undone.
pub fn with_leftovers(failure: Failure, undone: Result<()>) -> Failure {
    match undone {
        Ok(()) => failure,
        Err(left) => failure.details([format!("undoing the spawn failed: {left}")]).hint("run `worktree-spawn repair`"),
    }
}
