//! `nuke` and `reset`: a worker, or its task, is given up; its work is kept where it is anywhere else already, or on demand.

use std::path::Path;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::ui::printable;

use super::Site;
use crate::apply::session;
use crate::facts::{git_failed, is_rebasing};
use crate::plan::machine::Event;
use crate::store;
use crate::worker::Worker;

pub fn nuke(site: &Site<'_>, name: Option<&str>, all: bool, force: bool, yes: bool) -> Result<Exit> {
    let state = store::load(&site.root.path)?;
    let workers: Vec<Worker> = match (name, all) {
        (Some(name), false) => vec![state.require(name)?.clone()],
        (None, true) => state.workers.values().cloned().collect(),
        _ => return Err(Failure::usage("name a worker, or use `--all`").hint("`worker-ctl status` lists them")),
    };
    let names = workers.iter().map(|worker| worker.name.as_str()).collect::<Vec<_>>().join(", ");
    // All are looked at before one is touched.
    for worker in &workers {
        refuse_loss(site, worker, force)?;
    }
    if !yes {
        let declined = || Failure::new(Exit::Decide, "undecided", format!("nothing was removed: {names}"));
        if !site.ui.can_ask() {
            return Err(declined().hint("a person must decide: run it on a terminal, or with `--yes`"));
        }
        if !site.ui.confirm(&format!("Remove {names}, with their sessions, worktrees and branches?")) {
            return Err(declined());
        }
    }
    for worker in &workers {
        let _lock = site.lock(&worker.name)?;
        refuse_loss(site, worker, force)?;
        if site.tmux()?.is_running() {
            session::end(site, std::slice::from_ref(worker), force)?;
        }
        keep(site, worker)?;
        let dir = &site.root.path;
        if Path::new(&worker.worktree_path).exists() {
            site.clone.ask(dir, &["worktree", "remove", "--force", &worker.worktree_path])?;
        }
        site.clone.run(dir, &["branch", "-q", "-D", &worker.branch])?;
        store::update(dir, |state| {
            state.workers.remove(&worker.name);
            state.last_reviewed.take_if(|last| *last == worker.name);
            Ok(())
        })?;
        forget_table(site, &worker.name)?;
        site.ui.note(format!("{} is gone", worker.name));
    }
    Ok(Exit::Done)
}

/// Idle again, on the default branch.
pub fn reset(site: &Site<'_>, name: &str, force: bool) -> Result<Exit> {
    let _lock = site.lock(name)?;
    let worker = store::load(&site.root.path)?.require(name)?.clone();
    refuse_loss(site, &worker, force)?;
    keep(site, &worker)?;
    let tree = Path::new(&worker.worktree_path);
    if is_rebasing(tree) {
        site.clone.run(tree, &["rebase", "--abort"])?;
    }
    site.clone.fetch()?;
    let base = site.clone.require_base()?;
    site.clone.ask(tree, &["checkout", "-q", "--force", "-B", &worker.branch, &base])?;
    site.clone.ask(tree, &["clean", "-q", "-fd"])?;
    site.record(name, &Event::Reset)?;
    Ok(Exit::Done)
}

/// What would be lost: commits that the default branch has not, and changes.
fn losses(site: &Site<'_>, worker: &Worker) -> Result<Vec<String>> {
    let tree = Path::new(&worker.worktree_path);
    let mut lost = Vec::new();
    let tips = [format!("refs/heads/{}", worker.branch), worker.commit_sha.clone().unwrap_or_default()];
    for tip in tips.iter().filter(|tip| !tip.is_empty()) {
        if let Some(sha) = site.clone.commit(&site.root.path, tip)?
            && site.clone.ahead(&sha)? > 0
        {
            let base = site.clone.base();
            let cherry = site.clone.ask(&site.root.path, &["cherry", "-v", &base, &sha])?;
            let missing =
                cherry.lines().filter_map(|line| line.strip_prefix("+ ")).map(|line| format!("  commit {line}"));
            lost.extend(missing.filter(|line| !lost.contains(line)).collect::<Vec<_>>());
        }
    }
    if tree.is_dir() {
        lost.extend(site.clone.dirty(tree)?.into_iter().map(|path| format!("  {path}")));
    }
    Ok(lost)
}

fn refuse_loss(site: &Site<'_>, worker: &Worker, force: bool) -> Result<()> {
    let lost = losses(site, worker)?;
    if lost.is_empty() || force {
        return Ok(());
    }
    Err(Failure::new(Exit::No, "unmerged", format!("{} has work that is nowhere else", worker.name))
        .details(lost.into_iter().take(20))
        .hint("accept or save it first, or let `--force` keep it under refs/shopfloor/trash/"))
}

/// Keeps what would be lost under a ref, and prints that.
fn keep(site: &Site<'_>, worker: &Worker) -> Result<()> {
    let tree = Path::new(&worker.worktree_path);
    if losses(site, worker)?.is_empty() {
        return Ok(());
    }
    let mut parents = Vec::new();
    for tip in [Some(format!("refs/heads/{}", worker.branch)), worker.commit_sha.clone(), Some("HEAD".into())]
        .into_iter()
        .flatten()
    {
        let dir = if tip == "HEAD" { tree } else { &site.root.path };
        if dir.is_dir()
            && let Some(sha) = site.clone.commit(dir, &tip)?
            && !parents.contains(&sha)
        {
            parents.push(sha);
        }
    }
    let base = site.clone.require_base()?;
    let (dir, head) = if tree.is_dir() { (tree, "HEAD".to_owned()) } else { (site.root.path.as_path(), base) };
    let index = site.root.path.join("locks/trash-index");
    fs::remove(&index)?;
    let with_index = |args: &[&str]| -> Result<String> {
        let output = site.clone.git.cmd(dir).var("GIT_INDEX_FILE", &index).args(args.iter().copied()).capture()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(git_failed(args[0], &output)),
        }
    };
    with_index(&["read-tree", &head])?;
    if tree.is_dir() {
        with_index(&["add", "-A"])?;
    }
    let snapshot = with_index(&["write-tree"])?;
    fs::remove(&index)?;
    let message = format!("what {} had", worker.name);
    let mut args =
        vec!["-c", "user.name=worker-ctl", "-c", "user.email=worker-ctl@localhost", "commit-tree", &snapshot];
    for parent in &parents {
        args.extend(["-p", parent]);
    }
    args.extend(["-m", &message]);
    let commit = site.clone.ask(&site.root.path, &args)?;
    let time = site.env.later().now.strftime("%Y%m%dT%H%M%S.%3fZ").to_string();
    let name = format!("refs/shopfloor/trash/{}/{time}", worker.name);
    site.clone.ask(&site.root.path, &["update-ref", &name, &commit, &"0".repeat(commit.len())])?;
    site.ui.line(printable(&name));
    Ok(())
}

/// Its table in config.toml; the rest of the file stays.
fn forget_table(site: &Site<'_>, name: &str) -> Result<()> {
    let _lock = Lock::take(&site.root.path.join("locks/config.lock"))?;
    let path = site.root.path.join("config.toml");
    let text = String::from_utf8_lossy(&fs::read(&path)?.unwrap_or_default()).into_owned();
    let Ok(mut document) = text.parse::<toml_edit::DocumentMut>() else { return Ok(()) };
    let removed =
        document.get_mut("workers").and_then(|workers| workers.as_table_mut()).and_then(|table| table.remove(name));
    match removed {
        Some(_) => fs::replace(&path, document.to_string().as_bytes(), None),
        None => Ok(()),
    }
}
