//! What is given up is kept: commits and changes under `refs/shopfloor/trash/`, repositories within a worktree below
//! `trash/`.

use std::path::{Path, PathBuf};

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::farewell::{self, Farewell};
use shopfloor_core::fs;
use shopfloor_core::git::failed;

use crate::facts::losses::{Losses, admin_dir};
use crate::layout;
use crate::site::Site;
use crate::worker::Worker;

/// Keeps what would be lost with a worker's worktree, all but ignored files; gives back where. Afterwards nothing more may have come:
/// then it is exit 1, and nothing is to be removed.
pub fn keep(site: &Site<'_>, worker: &Worker) -> Result<Vec<String>> {
    let found = Losses::read(&site.clone, worker)?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let (commit, files) = snapshot(site, worker, &found)?;
    let name = format!("refs/shopfloor/trash/{}/{}", worker.name, site.stamp());
    site.clone.ask(&site.root.path, &["update-ref", &name, &commit, &"0".repeat(commit.len())])?;
    if Losses::read(&site.clone, worker)? != found || tree_of(site, worker, &found)? != files {
        return Err(Failure::new(Exit::No, "changed", format!("{} changes while it is looked at", worker.name))
            .hint(format!("run the same command again; what there was is kept as {name}")));
    }
    Ok(vec![name])
}

/// Lets the other tools take in what only its worktree has, before that goes.
pub fn take_leave(site: &Site<'_>, worker: &Worker) -> Result<Farewell> {
    before_removal(site, worker, farewell::TOOLS)
}

/// Lets overlay-sync take in what only its worktree has; that one stays.
pub fn share(site: &Site<'_>, worker: &Worker) -> Result<Farewell> {
    before_removal(site, worker, &["overlay-sync"])
}

fn before_removal(site: &Site<'_>, worker: &Worker, tools: &[&str]) -> Result<Farewell> {
    let scratch = site.root.path.join(".git/shopfloor/tmp");
    farewell::before_removal(site.env, Path::new(&worker.worktree_path), tools, &scratch)
}

/// One commit with the worktree as it is; its parents are all commits that would be lost, and what was staged.
fn snapshot(site: &Site<'_>, worker: &Worker, found: &Losses) -> Result<(String, String)> {
    let tree = Path::new(&worker.worktree_path);
    let mut parents = found.tips.clone();
    let root = &site.root.path;
    let make = |snapshot: &str, parents: &[String], message: &str| -> Result<String> {
        let who = ["-c", "user.name=worker-ctl", "-c", "user.email=worker-ctl@localhost"];
        let parents = parents.iter().flat_map(|parent| ["-p", parent]).collect::<Vec<_>>();
        site.clone.ask(root, &[&who[..], &["commit-tree", snapshot], &parents, &["-m", message]].concat())
    };
    let message = format!("what {} had", worker.name);
    if !tree.is_dir() {
        let first = parents.first().cloned().unwrap_or_default();
        let files = site.clone.ask(root, &["rev-parse", &format!("{first}^{{tree}}")])?;
        return Ok((make(&files, &parents, &message)?, tree_of(site, worker, found)?));
    }
    let head = site.clone.ask(tree, &["rev-parse", "HEAD"])?;
    if !parents.contains(&head) {
        parents.push(head.clone());
    }
    let files = tree_of(site, worker, found)?;
    // With conflicts the index cannot be written; then the files have it all.
    let staged = site.clone.run(tree, &["write-tree"])?;
    let staged = String::from_utf8_lossy(&staged.stdout).trim().to_owned();
    let committed = site.clone.ask(tree, &["rev-parse", "HEAD^{tree}"])?;
    if !staged.is_empty() && staged != files && staged != committed {
        parents.push(make(&staged, &[head], &format!("what {} had staged", worker.name))?);
    }
    Ok((make(&files, &parents, &message)?, files))
}

/// The worktree's files as one tree, those that git does not know too, but none that it ignores; nothing where it is gone.
fn tree_of(site: &Site<'_>, worker: &Worker, found: &Losses) -> Result<String> {
    let tree = Path::new(&worker.worktree_path);
    let Some(private) = admin_dir(&site.clone, tree)?.filter(|_| tree.is_dir()) else { return Ok(String::new()) };
    // An index of our own, begun as a copy of the real one, whose knowledge of the files saves reading them all.
    let index = private.join("worker-ctl-trash-index");
    fs::remove(&index)?;
    fs::remove(&index.with_extension("lock"))?;
    if let Some(bytes) = fs::read(&private.join("index"))? {
        fs::replace(&index, &bytes, Some(fs::PRIVATE))?;
    }
    let with_index = |args: &[&str]| -> Result<String> {
        let output = site.clone.cmd(tree)?.var("GIT_INDEX_FILE", &index).args(args.iter().copied()).capture()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(failed(args[0], &output)),
        }
    };
    // Repositories within are moved aside whole, or stay with the worktree; git is not to go into them.
    let inner = site.clone.inner(tree)?.into_iter().map(|path| path.to_string_lossy().into_owned());
    let not = found.nested.iter().cloned().chain(inner);
    let not: Vec<String> = not.map(|path| format!(":(top,exclude,literal){path}")).collect();
    let add = ["add", "--all", "--", ":/"].into_iter().chain(not.iter().map(String::as_str)).collect::<Vec<_>>();
    with_index(&add)?;
    let files = with_index(&["write-tree"])?;
    fs::remove(&index)?;
    Ok(files)
}

/// A place for files of a worker that git cannot keep.
fn place(site: &Site<'_>, worker: &Worker) -> Result<PathBuf> {
    let dir = layout::trash(&site.root.path, &worker.name, &site.stamp());
    fs::create_private_dir(&dir)?;
    Ok(dir)
}

/// Moves repositories within a worktree aside, with their commits; gives back where to.
pub fn set_aside(site: &Site<'_>, worker: &Worker) -> Result<Vec<String>> {
    let found = Losses::read(&site.clone, worker)?;
    if found.nested.is_empty() {
        return Ok(Vec::new());
    }
    let dir = place(site, worker)?;
    for path in found.nested.iter().map(|path| path.trim_end_matches('/')) {
        let to = dir.join(path);
        fs::create_private_dir(to.parent().unwrap_or(&dir))?;
        if !fs::rename_new(&Path::new(&worker.worktree_path).join(path), &to)? {
            return Err(Failure::failed(format!("{} is there already", to.display())));
        }
    }
    Ok(vec![dir.display().to_string()])
}

/// Exit 1 where a person has locked it, for which there is a reason.
pub fn refuse_locked(site: &Site<'_>, worker: &Worker) -> Result<()> {
    let tree = Path::new(&worker.worktree_path);
    match admin_dir(&site.clone, tree)?.is_some_and(|admin| admin.join("locked").exists()) {
        true => Err(Failure::new(Exit::No, "locked", format!("{} is locked", tree.display()))
            .hint(format!("`git worktree unlock` it in {}, if it may go", site.root.path.display()))),
        false => Ok(()),
    }
}

/// Removes a worktree and what git knows of it, as it was kept; where nothing was, git looks once more. One with
/// repositories in it, or submodules, is moved aside instead.
pub fn remove_worktree(site: &Site<'_>, worker: &Worker, is_kept: bool) -> Result<Vec<String>> {
    let tree = Path::new(&worker.worktree_path);
    let root = &site.root.path;
    let found = Losses::read(&site.clone, worker)?;
    let Some(admin) = admin_dir(&site.clone, tree)? else { return Ok(Vec::new()) };
    if found.nested.is_empty() && !found.has_modules && tree.is_dir() {
        let path = &worker.worktree_path;
        let force: &[&str] = if is_kept { &["--force"] } else { &[] };
        let removed = site.clone.ask(root, &[&["worktree", "remove"], force, &[path]].concat());
        return removed.map(|_| Vec::new());
    }
    let mut kept = Vec::new();
    if tree.is_dir() || found.has_modules {
        let dir = place(site, worker)?;
        if tree.is_dir() {
            fs::rename_new(tree, &dir.join("worktree"))?;
        }
        if found.has_modules {
            fs::rename_new(&admin.join("modules"), &dir.join("modules"))?;
        }
        kept.push(dir.display().to_string());
    }
    fs::remove_tree(&admin).map(|()| kept)
}
