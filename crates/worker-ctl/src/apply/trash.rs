//! Keeps work that is given up: commits and changes under `refs/shopfloor/trash/`, nested repositories in `trash/`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Root};
use shopfloor_core::git::{FreshIndex, recorded_dir};
use shopfloor_core::path::{RelPath, real};
use shopfloor_core::pre_remove::{self, How, PreRemoveReport};
use shopfloor_core::text::shell_word;

use crate::context::Context;
use crate::facts::losses::{Losses, only_logged};
use crate::facts::worker_state::changes;
use crate::failure;
use crate::layout;
use crate::worker::Worker;
use crate::worker_notes::Note;

/// Where commits are kept that were given up.
pub const TRASH: &str = "refs/shopfloor/trash/";

/// Keeps the work that would be lost with a worker's worktree, as was read just now, except ignored files. Returns where
/// it is kept. Exit 1 when the worktree changes meanwhile; then nothing must be removed.
pub fn keep(ctx: &Context<'_>, worker: &Worker, losses: &Losses) -> Result<Vec<String>> {
    if losses.is_empty() {
        return Ok(Vec::new());
    }
    let (commit, files) = snapshot(ctx, worker, losses)?;
    let name = keep_commit(ctx, &worker.name, &commit)?;
    // The stashes are kept now, and stay in git's list.
    let again = Losses {
        stashes: losses.stashes.clone(),
        ..Losses::read_beyond(&ctx.repo, worker, losses.back_to.as_deref())?
    };
    if again != *losses || write_tree(ctx, worker, losses)? != files {
        return Err(failure::MOVED
            .failure(format!("the worktree of {} is still changing", worker.name))
            .hint(format!("run the same command again; the work up to now is kept as {name}")));
    }
    Ok(vec![name])
}

/// Keeps commits of a worker, without its files. Returns where.
pub fn keep_tips(ctx: &Context<'_>, worker: &Worker, tips: &[String]) -> Result<Vec<String>> {
    let commit = match tips {
        [] => return Ok(Vec::new()),
        [only] => only.clone(),
        [first, ..] => commit_tree(ctx, &ctx.repo.tree_of(first)?, tips, &format!("work of {}", worker.name))?,
    };
    Ok(vec![keep_commit(ctx, &worker.name, &commit)?])
}

/// Keeps a commit under a new ref for the worker of this name. Returns the ref.
pub fn keep_commit(ctx: &Context<'_>, worker: &str, commit: &str) -> Result<String> {
    let name = format!("{TRASH}{worker}/{}", ctx.stamp());
    ctx.repo.update_ref(&[&name, commit, &"0".repeat(commit.len())])?;
    Ok(name)
}

/// Where work of workers of this name is kept, as far as it was kept since then.
pub fn kept_of(ctx: &Context<'_>, worker: &str, since_unix: i64) -> Result<Vec<String>> {
    let all = format!("{TRASH}{worker}/");
    let since = Timestamp::from_second(since_unix).unwrap_or_default().strftime("%Y%m%dT%H%M%S").to_string();
    let refs = ctx.repo.ask(&ctx.repo.top, &["for-each-ref", "--format=%(refname)", &all])?;
    let is_later =
        |name: &&str| name.strip_prefix(&all).is_some_and(|stamp| stamp >= since.as_str() && stamp.starts_with('2'));
    Ok(refs.lines().filter(is_later).map(str::to_owned).collect())
}

/// Creates a commit of ours.
fn commit_tree(ctx: &Context<'_>, tree: &str, parents: &[String], message: &str) -> Result<String> {
    let identity = ["-c", "user.name=worker-ctl", "-c", "user.email=worker-ctl@localhost"];
    let parents = parents.iter().flat_map(|parent| ["-p", parent]).collect::<Vec<_>>();
    ctx.repo.ask(&ctx.repo.top, &[&identity[..], &["commit-tree", tree], &parents, &["-m", message]].concat())
}

/// Runs the `pre-remove` hooks of these tools, so that they save what only the worktree has.
pub fn run_pre_remove(ctx: &Context<'_>, worker: &Worker, tools: &[&str], is_forced: bool) -> Result<PreRemoveReport> {
    let scratch = ctx.root.path.join("locks");
    pre_remove::run(ctx.env, worker.tree(), tools, &scratch, How { is_forced, is_dry: ctx.is_dry, reaps: false })
}

/// Creates one commit with the worktree's files. Its parents are all tips that would be lost, the stashes, and a commit
/// of the staged files. Returns the commit and its tree.
fn snapshot(ctx: &Context<'_>, worker: &Worker, losses: &Losses) -> Result<(String, String)> {
    let tree = worker.tree();
    let stashes = losses.stashes.iter().map(|(sha, _)| sha);
    let mut parents: Vec<String> = losses.tips.iter().chain(stashes).cloned().collect();
    let message = format!("work of {}", worker.name);
    if !tree.is_dir() {
        let first = parents.first().cloned().unwrap_or_default();
        let files = ctx.repo.tree_of(&first)?;
        return Ok((commit_tree(ctx, &files, &parents, &message)?, write_tree(ctx, worker, losses)?));
    }
    // There is none where its branch was deleted.
    let head = ctx.repo.commit(tree, "HEAD")?;
    if let Some(head) = head.iter().find(|head| !parents.contains(head)) {
        parents.push(head.clone());
    }
    let files = write_tree(ctx, worker, losses)?;
    let mut staged = ctx.repo.run(tree, &["write-tree"])?.text();
    if staged.is_empty() {
        // An index with conflicts cannot be written as a tree. The files have everything of those.
        let (git, entries) = ctx.repo.index_entries(tree)?;
        let merged = entries.each().filter(|(about, _)| about.ends_with(b" 0"));
        let entries = merged.flat_map(|(about, path)| [about, b"\t", path, b"\0"].concat()).collect();
        staged = FreshIndex::with(&git, tree, entries)?.write_tree()?;
    }
    let committed = head.as_ref().map(|head| ctx.repo.tree_of(head)).transpose()?;
    if staged != files && Some(&staged) != committed.as_ref() {
        parents.push(commit_tree(ctx, &staged, head.as_slice(), &format!("staged work of {}", worker.name))?);
    }
    Ok((commit_tree(ctx, &files, &parents, &message)?, files))
}

/// Writes the worktree's files as one tree. Empty when the worktree is gone.
fn write_tree(ctx: &Context<'_>, worker: &Worker, losses: &Losses) -> Result<String> {
    files(ctx, worker, losses.nested.iter().cloned())?.map_or(Ok(String::new()), |files| files.write_tree())
}

/// The worktree's files as they are, but for those at some paths: tracked and untracked files, but no ignored ones. None
/// when the worktree is gone.
pub fn files(ctx: &Context<'_>, worker: &Worker, but: impl Iterator<Item = String>) -> Result<Option<FreshIndex>> {
    let tree = worker.tree();
    if !tree.is_dir() || recorded_dir(&ctx.repo.common, tree)?.is_none() {
        return Ok(None);
    }
    // git reads all files, whatever its own index says.
    let (git, entries) = ctx.repo.index_entries(tree)?;
    let index = FreshIndex::with(&git, tree, entries.text)?;
    // git must not enter nested repositories. They are moved aside as a whole, or stay with the worktree.
    let inner = ctx.repo.inner(tree)?.into_iter().map(|path| path.to_string_lossy().into_owned());
    index.add_all(but.chain(inner)).map(|()| Some(index))
}

/// Exit 1: what was looked at is not what is there.
pub fn changed(tree: &Path, lines: impl IntoIterator<Item = String>) -> Failure {
    let failure = failure::MOVED.failure(format!("{} has changed meanwhile", tree.display()));
    failure.details(lines).hint("run the same command again")
}

/// Creates a directory for files of a worker that git cannot keep.
fn create_trash_dir(ctx: &Context<'_>, worker: &Worker) -> Result<PathBuf> {
    let dir = layout::trash(&ctx.root.path, &worker.name, &ctx.stamp());
    fs::create_private_dir(&dir)?;
    Ok(dir)
}

/// Moves nested repositories out of a worktree before it is put on `base`: those that git does not know, and those that
/// are no submodules there. Returns where to.
pub fn move_nested(ctx: &Context<'_>, worker: &Worker, base: &str) -> Result<Vec<String>> {
    let tree = worker.tree();
    let nested = ctx.repo.nested(tree, &ctx.repo.dirty(tree)?)?;
    let mut nested: Vec<PathBuf> = nested.into_iter().map(PathBuf::from).collect();
    let inner = ctx.repo.inner(tree)?;
    if !inner.is_empty() {
        let listed = ctx.repo.ask(tree, &["ls-tree", "-r", "-z", base])?;
        let stay: Vec<&str> = listed
            .split('\0')
            .filter_map(|entry| entry.strip_prefix("160000 ")?.split_once('\t'))
            .map(|(_, path)| path)
            .collect();
        for path in inner {
            if !stay.contains(&&*path.to_string_lossy()) && !nested.contains(&path) {
                nested.push(path);
            }
        }
    }
    move_aside(ctx, worker, &nested)
}

/// Moves directories out of a worktree that lie too deep for git, which can neither keep nor remove them, each with those above
/// it that have nothing which stays. Returns where to.
pub fn move_deep(ctx: &Context<'_>, worker: &Worker) -> Result<Vec<String>> {
    let (tree, git) = (worker.tree(), ctx.repo.git_for(worker.tree())?);
    let deep = git.too_deep(tree)?;
    if deep.is_empty() {
        return Ok(Vec::new());
    }
    let mut stay = git.ls_files(tree, &[])?;
    stay.extend(git.ls_files(tree, &["--others", "--ignored", "--exclude-standard"].map(Into::into))?);
    stay.extend(changes(&ctx.repo, tree)?.1.iter().map(|placed| placed.as_path().to_path_buf()));
    let top = |dir: &PathBuf| -> PathBuf {
        let shared = |path: &PathBuf| path.iter().zip(dir).take_while(|(one, other)| one == other).count();
        dir.iter().take(1 + stay.iter().map(shared).max().unwrap_or(0)).collect()
    };
    let tops: BTreeSet<PathBuf> = deep.iter().map(top).collect();
    move_aside(ctx, worker, &Vec::from_iter(tops))
}

/// Notes where work is kept until the command has ended.
pub fn note_kept(ctx: &Context<'_>, worker: &Worker, kept: &[String]) -> Result<()> {
    ctx.update_worker(&worker.name, |worker| worker.notes.extend(kept.iter().cloned().map(Note::Kept)))
}

fn move_aside(ctx: &Context<'_>, worker: &Worker, paths: &[PathBuf]) -> Result<Vec<String>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let (tree, dir) = (worker.tree(), create_trash_dir(ctx, worker)?);
    let kept = vec![dir.display().to_string()];
    note_kept(ctx, worker, &kept)?;
    // From the directory on that both are in no link is followed. That is the root, unless the worktree was adopted.
    let above = tree.ancestors().find(|dir| ctx.root.path.starts_with(dir)).unwrap_or(Path::new("/"));
    let (root, at) = (Root::open(above)?, |path: PathBuf| {
        let below = path.strip_prefix(above).unwrap_or(&path);
        RelPath::parse_os(below.as_os_str()).map_err(|e| Failure::failed(e.0))
    });
    for path in paths {
        let path = ctx.repo.path_in(tree, path.as_os_str().as_encoded_bytes())?;
        let (from, to) = (at(tree.join(path.as_path()))?, at(dir.join(path.as_path()))?);
        if root.below(&from)?.is_none() || !root.move_new(&from, &to)? {
            let why = format!("{path} in {} is no directory that could be moved aside", tree.display());
            return Err(failure::TAMPERED.failure(why).hint("look at it, then run the same command again"));
        }
    }
    Ok(kept)
}

/// Exit 1 when something is mounted in a worktree, which git would empty. One that is mounted itself may be cleaned.
pub fn refuse_mounted(tree: &Path) -> Result<()> {
    let itself = real(tree);
    fs::mounts_below(tree).iter().find(|mount| **mount != itself).map_or(Ok(()), |mount| Err(mounted(mount)))
}

fn mounted(mount: &Path) -> Failure {
    let why = format!("something is mounted at {}, which would be emptied", mount.display());
    failure::MOUNTED.failure(why).hint(format!("unmount it first: `umount {}`", shell_word(mount)))
}

/// Exit 1 when a person has locked the worktree with `git worktree lock`, or mounted something in it.
pub fn refuse_locked(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    let tree = worker.tree();
    if let Some(mount) = fs::mounts_below(tree).first() {
        return Err(mounted(mount));
    }
    match recorded_dir(&ctx.repo.common, tree)?.is_some_and(|admin| admin.join("locked").exists()) {
        true => Err(failure::LOCKED.failure(format!("{} is locked", tree.display())).hint(format!(
            "to remove it, run `git -C {} worktree unlock {}` first",
            shell_word(&ctx.repo.top),
            shell_word(tree)
        ))),
        false => Ok(()),
    }
}

/// Removes a worktree and git's record of it. If nothing was kept, it must still be clean, and the files that were `seen`
/// as they were. Commits that only the record's log names are kept. A worktree with nested repositories or submodules is
/// moved to the trash instead. Returns where to.
pub fn remove_worktree(
    ctx: &Context<'_>,
    worker: &Worker,
    is_kept: bool,
    seen: Option<&FreshIndex>,
) -> Result<Vec<String>> {
    let tree = worker.tree();
    let losses = Losses::read(&ctx.repo, worker)?;
    let Some(admin) = recorded_dir(&ctx.repo.common, tree)? else { return Ok(Vec::new()) };
    // An agent can write the log: what of it cannot be kept is in nobody's way.
    let _ = keep_tips(ctx, worker, &only_logged(&ctx.repo, worker)?);
    // Of one that is gone a killed removal may have left files.
    let is_gone = tree.symlink_metadata().is_err();
    if losses.nested.is_empty() && !losses.has_modules && (tree.is_dir() || is_gone) {
        // The look at the files comes last: nothing of git's is between it and the removal.
        if !is_kept && !losses.is_empty() || seen.map_or(Ok(false), FreshIndex::is_outdated)? {
            return Err(changed(tree, losses.lines()));
        }
        return ctx.repo.remove_worktree(tree).map(|()| Vec::new());
    }
    let mut kept = Vec::new();
    if tree.is_dir() || losses.has_modules {
        let dir = create_trash_dir(ctx, worker)?;
        kept.push(dir.display().to_string());
        note_kept(ctx, worker, &kept)?;
        if tree.is_dir() {
            fs::rename_new(tree, &dir.join("worktree"))?;
        }
        if losses.has_modules {
            fs::rename_new(&admin.join("modules"), &dir.join("modules"))?;
        }
    }
    fs::remove_tree(&admin).map(|()| kept)
}
