//! Undoing a spawn that failed or was killed: exactly what it made, in reverse. Its worktree is looked at first. If
//! there is more in it than a spawn writes, it stays and counts as made.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use shopfloor_core::agents::GEMINI_PROJECT;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{self, Git, WorktreeDir, has_no_files, recorded_path};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::shell_word;
use shopfloor_core::written_files::Listed;

use super::lock_and_excludes::release_excludes;
use crate::agent_in_worktree::{IGNORE_FILE, MCP_FILE, OWN_MCP_FILE, ROLE_FILE, SETTINGS_FILE, TASK_FILE};
use crate::agent_run;
use crate::facts::repository;
use crate::identity::{Agent, new_uid};
use crate::journal::{OpenJournal, SpawnJournal};
use crate::layout;
use crate::repository_view::{Place, Worktree, is_same};

/// The files that git and this tool write into a new worktree.
const OURS: [&str; 8] =
    [".git", MCP_FILE, IGNORE_FILE, ROLE_FILE, TASK_FILE, OWN_MCP_FILE, SETTINGS_FILE, GEMINI_PROJECT.file];

/// What became of a spawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoneSpawn {
    /// It is undone. What is left of it, as the end of a message.
    Undone(String),
    /// It counts as made, because there is more than a spawn makes.
    Kept(PathBuf),
    /// It counts as made, because its set-up could not be taken back, and why.
    StillSetUp(PathBuf, String),
    /// Its worktree is not where it was, so the journal stays.
    Astray(PathBuf),
}

impl UndoneSpawn {
    /// What became of the spawn of this agent.
    pub fn describe(&self, id: &str) -> String {
        match self {
            UndoneSpawn::Undone(left) => format!("undid the spawn of {id}{left}"),
            UndoneSpawn::Kept(path) => format!(
                "kept {}, because there is more than a spawn makes; `worktree-spawn remove {id}` removes it, or says what \
                 would be lost",
                path.display()
            ),
            UndoneSpawn::StillSetUp(path, why) => format!(
                "kept {}, because its set-up could not be taken back: {why}; `worktree-spawn remove {id}` tries again and \
                 removes it",
                path.display()
            ),
            UndoneSpawn::Astray(path) => format!("{} is not there; run `worktree-spawn repair`", path.display()),
        }
    }
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
    /// The worktree at that path, if it leads back to the record.
    found: Option<WorktreeDir>,
    /// Whether its agent is the spawn's by a record that is ours, or it has none yet.
    is_ours: bool,
    /// Whether git was killed before it wrote the head, which is the last that it writes.
    is_unmade: bool,
}

fn branch_of<'j>(id: &'j str, spawn: &'j SpawnJournal) -> &'j str {
    spawn.branch.as_deref().unwrap_or(id)
}

/// Finds the record that the spawn made: it is on the spawn's branch and has the spawn's agent. A spawn that was killed
/// before it wrote its agent left a worktree without files.
fn record_of(place: &Place, git: &Git, id: &str, spawn: &SpawnJournal) -> Result<Option<WorktreeRecord>> {
    let (admin, listed) = (place.common_dir.join("worktrees"), Listed::read(&place.env));
    let head = format!("ref: refs/heads/{}", branch_of(id, spawn));
    for name in fs::list(&admin)? {
        let dir = admin.join(name);
        let text = fs::read_no_follow(&dir.join("HEAD")).unwrap_or_default().unwrap_or_default();
        let on_branch = String::from_utf8_lossy(&text).trim() == head || place.has_ref_storage;
        let Some(path) = recorded_path(&dir).ok().flatten() else { continue };
        // Earlier versions of git write a commit of zeros first. All write the index after the head.
        let has_no_head = !place.has_ref_storage && text.trim_ascii().iter().all(|byte| *byte == b'0');
        let is_named = path.file_name() == Some(OsStr::new(&spawn.name));
        let is_unmade = has_no_head && is_named && has_no_files(&path) && !dir.join("index").exists();
        if !on_branch && !is_unmade {
            continue;
        }
        let found = WorktreeDir::open(&path, &dir)?;
        let file = layout::identity_file(&dir);
        let is_mine = is_same(&path, &spawn.path);
        let is_ours = match fs::read_no_follow(&file) {
            Ok(Some(bytes)) => {
                let agent = Agent::parse(&file, &bytes).ok().filter(|agent| agent.id == id);
                agent.map(|agent| is_mine || agent.is_ours((&file, &bytes), &path, &listed))
            }
            Ok(None) if is_mine || is_unmade || found.is_some() && has_no_files(&path) => Some(true),
            // An undo that was killed after it had removed our part of the record.
            Ok(None) => is_left_over(place, git, (id, spawn), &path)?.then_some(true),
            Err(_) => None,
        };
        if let Some(is_ours) = is_ours {
            return Ok(Some(WorktreeRecord { dir, path, found, is_ours, is_unmade }));
        }
    }
    Ok(None)
}

/// Whether nothing is left of a spawn's worktree but git's record, in a directory that is there, and its branch is where
/// the spawn has made it.
fn is_left_over(place: &Place, git: &Git, (id, spawn): (&str, &SpawnJournal), path: &Path) -> Result<bool> {
    let is_gone = path.symlink_metadata().is_err_and(|e| e.kind() == ErrorKind::NotFound);
    let is_there = path.parent().is_some_and(Path::is_dir) && path.file_name() == Some(OsStr::new(&spawn.name));
    if !is_gone || !is_there || !(spawn.makes_branch || spawn.is_undoing) {
        return Ok(false);
    }
    let name = format!("refs/heads/{}", branch_of(id, spawn));
    Ok(repository::commit(&git.common(&place.common_dir)?, &place.common_dir, &name)?.as_ref() == Some(&spawn.base_sha))
}

/// Why a spawn is not undone, if so: what becomes of it instead.
fn left_alone(
    place: &Place,
    git: &Git,
    (id, spawn): (&str, &SpawnJournal),
    lost: LostWorktrees,
    entry: Option<&WorktreeRecord>,
) -> Result<Option<UndoneSpawn>> {
    let Some(entry) = entry else { return Ok(None) };
    let path = || entry.path.clone();
    Ok(match entry.found {
        _ if !entry.is_ours => Some(UndoneSpawn::Kept(path())),
        _ if entry.is_unmade && !has_own(place, git, &entry.dir)? => None,
        None if lost == LostWorktrees::Leave && !spawn.is_undoing
            || has_own(place, git, &entry.dir)?
            || has_staged(place, git, spawn, entry)? =>
        {
            Some(UndoneSpawn::Astray(path()))
        }
        Some(_) if (!spawn.is_own() || spawn.ran_hook) && is_used(place, git, (id, spawn), entry)? => {
            Some(UndoneSpawn::Kept(path()))
        }
        _ => None,
    })
}

/// What `repair` does about a killed spawn, as a phrase after "would".
pub fn foresee(place: &Place, git: &Git, id: &str, spawn: &SpawnJournal) -> String {
    let left = record_of(place, git, id, spawn)
        .and_then(|entry| left_alone(place, git, (id, spawn), LostWorktrees::Undo, entry.as_ref()));
    match left {
        Ok(Some(UndoneSpawn::Kept(path))) => {
            format!("keep {}, because there is more than the spawn of {id} makes", path.display())
        }
        Ok(Some(UndoneSpawn::Astray(path))) => {
            format!("leave the spawn of {id}, because {} is not there", path.display())
        }
        Ok(_) => format!("undo the spawn of {id}"),
        Err(failure) => format!("leave the spawn of {id}: {failure}"),
    }
}

/// Undoes a spawn, or keeps it. The caller holds the repository's lock. In a journal of a process that is gone, neither
/// the worktree's path nor the directories that the spawn made are told.
pub fn undo(place: &Place, git: &Git, mut open: OpenJournal<SpawnJournal>, lost: LostWorktrees) -> Result<UndoneSpawn> {
    let spawn = open.entry.clone();
    let mut entry = record_of(place, git, &open.id, &spawn)?;
    if let Some(left) = left_alone(place, git, (&open.id, &spawn), lost, entry.as_ref())? {
        if matches!(left, UndoneSpawn::Kept(_)) {
            open.close()?;
        }
        return Ok(left);
    }
    let mut left = String::new();
    let worktree = entry.as_mut().and_then(|entry| entry.found.take());
    // What is at the path otherwise is not the spawn's.
    if let (Some(entry), Some(worktree)) = (&entry, worktree) {
        worktree.require_at(&entry.path)?;
        // The task is a person's text.
        let task = RelPath::parse(TASK_FILE).map_err(|e| Failure::failed(e.0))?;
        if let Some((text, _)) = worktree.root().read_whole(&task)?.filter(|_| !spawn.is_own()) {
            let undone_dir = place.shared().join("undone");
            fs::create_private_dir(&undone_dir)?;
            let kept = undone_dir.join(format!("{}.md", new_uid()));
            fs::replace(&kept, &text, Some(fs::PRIVATE))?;
            left = format!("; its task is in {}", kept.display());
        }
        // A full disk has no room for that until the worktree is gone.
        open.entry.is_undoing = true;
        let _ = open.save();
        // An empty directory that was there before stays.
        match spawn.is_own() && !spawn.makes_dirs.contains(&spawn.path) {
            true => worktree.root().remove_contents()?,
            false => worktree.remove()?,
        }
    }
    if spawn.makes_branch {
        // A git that was killed while it made the branch leaves its lock, which no other process uses.
        let heads = place.common_dir.join("refs/heads");
        let branch = branch_of(&open.id, &spawn);
        // With reftables it is a file.
        if heads.canonicalize().is_ok_and(|real| real == heads && real.is_dir()) && !branch.contains('/') {
            fs::remove(&heads.join(format!("{branch}.lock")))?;
        }
    }
    if let Some(note) = take_back(place, git, &open, entry.as_ref())? {
        left += &format!("; {note}");
    }
    if entry.is_none() && !spawn.is_own() {
        let is_on_branch = |worktree: &Worktree| worktree.branch.as_deref() == Some(branch_of(&open.id, &spawn));
        let other = repository::worktrees(place)?.into_iter().find(is_on_branch);
        left += &other.map_or_else(String::new, |it| format!("; {} stays, which it did not make", it.path.display()));
    }
    if let Some(entry) = &entry {
        // What is empty now was made for the worktree.
        let above = entry.path.parent().filter(|above| above.ends_with(".shopfloor/worktrees"));
        above.map(fs::remove_empty_dir);
    }
    release_excludes(place, entry.as_ref().map_or(&spawn.path, |entry| &entry.path))?;
    open.close()?;
    Ok(UndoneSpawn::Undone(left))
}

/// Whether git itself has locked a record, until its worktree is made.
fn is_initializing(record: &Path) -> bool {
    let lock = fs::read_no_follow(&record.join("locked"));
    lock.is_ok_and(|why| why.is_some_and(|why| why.trim_ascii() == b"initializing"))
}

/// Whether somebody moved, ran or locked the worktree, committed, or has more in it than a spawn writes. A journal may be
/// forged: what anybody has used stays.
fn is_used(place: &Place, git: &Git, (id, spawn): (&str, &SpawnJournal), entry: &WorktreeRecord) -> Result<bool> {
    let is_moved = !spawn.name.is_empty() && entry.path.file_name() != Some(OsStr::new(&spawn.name));
    let is_locked = entry.dir.join("locked").symlink_metadata().is_ok() && !is_initializing(&entry.dir);
    if is_moved || agent_run::load(&place.shared(), id)?.is_some() || is_locked {
        return Ok(true);
    }
    let git = &git.guarded(&place.common_dir, &entry.path)?;
    let is_at_start = repository::commit(git, &entry.path, "HEAD")?.as_ref() == Some(&spawn.base_sha);
    Ok(!is_at_start
        || git.inner_losses(&entry.path, &entry.dir)?.is_some()
        || !git.own_refs(&entry.path, &entry.dir)?.is_empty()
        || has_more(git, spawn, entry)?)
}

/// Whether there is more in the worktree than git and this tool write, by a new index: a killed git may have left none,
/// and an index may say not to look at a file. Files that are missing were not written yet, and one that is the start of
/// the commit's was being written.
fn has_more(git: &Git, spawn: &SpawnJournal, entry: &WorktreeRecord) -> Result<bool> {
    let index = git.own_index()?;
    let ask = |args: &[&str]| {
        let cmd = git.cmd_alone(&entry.path).var("GIT_INDEX_FILE", index.path());
        git::run_git(args[0], cmd.args(args.iter().copied()))
    };
    let how =
        ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored", "--ignore-submodules"];
    ask(&["read-tree", &spawn.base_sha])?;
    let (gemini_ignore, _) = GEMINI_PROJECT.ignore_file();
    let is_begun = |name: &[u8]| {
        let Ok(name) = std::str::from_utf8(name) else { return false };
        let whole = ask(&["cat-file", "blob", &format!("{}:{name}", spawn.base_sha)]).unwrap_or_default();
        let here = fs::read_own(&entry.path.join(name)).ok().flatten();
        here.is_some_and(|here| whole.starts_with(&here) && here != whole)
    };
    let is_ours = |line: &[u8]| {
        let (code, name) = line.split_at(line.len().min(3));
        let is_new = code == b"?? " || code == b"!! ";
        code == b" D "
            || code == b" M " && is_begun(name)
            || is_new && (OURS.iter().any(|ours| ours.as_bytes() == name) || name == gemini_ignore.as_bytes())
    };
    Ok(ask(&how)?.split(|b| *b == 0).any(|line| !line.is_empty() && !is_ours(line)))
}

/// Whether a worktree's record has commits that its branch may lack: clones of submodules, or refs of its own.
fn has_own(place: &Place, git: &Git, record: &Path) -> Result<bool> {
    let refs = ["refs/worktree", "refs/bisect", "refs/rewritten"];
    if ["modules"].iter().chain(&refs).any(|name| record.join(name).symlink_metadata().is_ok()) {
        return Ok(true);
    }
    // Where refs are in tables, they are no files.
    let cmd = git.common(&place.common_dir)?.cmd(&place.common_dir).var("GIT_DIR", record);
    Ok(record.join("reftable").exists()
        && !git::run_git("for-each-ref", cmd.arg("for-each-ref").args(refs))?.is_empty())
}

/// Whether something is staged in a worktree that is not at its path.
fn has_staged(place: &Place, git: &Git, spawn: &SpawnJournal, entry: &WorktreeRecord) -> Result<bool> {
    let index = entry.dir.join("index");
    if !index.exists() {
        return Ok(false);
    }
    let cmd = git.common(&place.common_dir)?.cmd(&place.common_dir).var("GIT_INDEX_FILE", &index);
    Ok(!cmd.args(["diff-index", "--cached", "--quiet", &spawn.base_sha, "--"]).capture()?.status.success())
}

/// Removes everything except files: git's record, the branch unless it is checked out, and the directories above. Returns
/// a note about a branch of the spawn that stays.
fn take_back(
    place: &Place,
    git: &Git,
    open: &OpenJournal<SpawnJournal>,
    entry: Option<&WorktreeRecord>,
) -> Result<Option<String>> {
    let spawn = &open.entry;
    // In one step: a record that is only half deleted would look like a damaged worktree.
    let aside = layout::gone_dir(&place.shared()).join(format!("{}.git", open.uid()));
    place.remove_state(&aside)?;
    if let Some(entry) = entry {
        fs::create_private_dir(&layout::gone_dir(&place.shared()))?;
        place.move_state(&entry.dir, &aside)?;
        place.remove_state(&aside)?;
    }
    let records = place.common_dir.join("worktrees");
    // A git that was killed at once has locked its record, and written nothing else.
    let begun = records.join(&spawn.name);
    let is_plain = begun.file_name() == Some(OsStr::new(&spawn.name));
    if is_plain && fs::list(&begun).is_ok_and(|names| names == ["locked"]) && is_initializing(&begun) {
        place.remove_state(&begun)?;
    }
    fs::remove_empty_dir(&records);
    let mut stays = None;
    if spawn.makes_branch {
        let decided = if spawn.is_own() { Decided::Here } else { Decided::ByJournal };
        stays = delete_branch(place, git, branch_of(&open.id, spawn), &spawn.base_sha, decided)?.and_then(Result::err);
    }
    for dir in spawn.makes_dirs.iter().rev() {
        fs::remove_empty_dir(dir);
    }
    Ok(stays)
}

/// Who says that a branch is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// This process, which has looked.
    Here,
    /// A journal, which anybody may have written: the branch goes only if another ref has its commit.
    ByJournal,
}

/// Deletes a branch if it is still at this commit and no worktree has it. None if it was gone before, and a note if it
/// stays, as one that names another ref, or whose file or log is no file.
pub fn delete_branch(
    place: &Place,
    git: &Git,
    branch: &str,
    tip: &str,
    decided: Decided,
) -> Result<Option<Result<(), String>>> {
    let name = format!("refs/heads/{branch}");
    let stays = |why: String| Ok(Some(Err(format!("the branch {branch} stays: {why}"))));
    // The worktree is gone by now: what an agent made of its branch stays, and the rest is done. `git branch -D` would
    // delete what a link leads to.
    if let Err(odd) = git::require_plain_ref(&place.common_dir, &name) {
        return stays(std::iter::once(odd.to_string()).chain(odd.hints).collect::<Vec<_>>().join("; "));
    }
    let git = git.common(&place.common_dir)?;
    let ask = |args: &[&str]| git.cmd(&place.common_dir).args(args.iter().copied()).capture();
    let is_held = repository::worktrees(place)?.iter().any(|worktree| worktree.branch.as_deref() == Some(branch));
    let is_elsewhere = || -> Result<bool> {
        let refs = ask(&["for-each-ref", "--count=2", "--format=%(refname)", "--contains", tip])?;
        Ok(refs.text().lines().any(|other| other != name))
    };
    let may_go = !is_held && (decided == Decided::Here || is_elsewhere()?);
    if may_go && ask(&["update-ref", "-d", &name, tip])?.status.success() {
        return Ok(Some(Ok(())));
    }
    if repository::commit(&git, &place.common_dir, &name)?.is_none() {
        return Ok(None);
    }
    let word = shell_word(Path::new(branch));
    stays(format!(
        "it is locked, checked out, has moved since, or nothing else has its commits; `git branch -D {word}` gives it up"
    ))
}

/// A failure with what became of the spawn that failed.
pub fn with_leftovers(failure: Failure, id: &str, undone: Result<UndoneSpawn>) -> Failure {
    match undone {
        Ok(UndoneSpawn::Undone(left)) if left.is_empty() => failure.hint("nothing of the subtree was kept"),
        Ok(left) => failure.details([left.describe(id)]),
        Err(left) => failure.details([format!("undoing the spawn failed: {left}")]).hint("run `worktree-spawn repair`"),
    }
}
