//! The repairs of `doctor`. None of them loses anything.

use std::path::{Path, PathBuf};

use serde_json::Value;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::ui::printable;

use crate::apply::land::ACCEPTED;
use crate::apply::{clone_hooks, copied_files, rebase, session, transition, trash};
use crate::context::Context;
use crate::facts::losses::Losses;
use crate::failure;
use crate::layout::{self, RootLock};
use crate::log;
use crate::plan::machine::{Input, apply};
use crate::store::{self, State};
use crate::tmux::{self, Pane, Tmux};
use crate::work_repo::{MergeResult, is_rebasing};
use crate::worker::{LandedTip, Session, Task, TaskBeforeRebase, Worker};
use crate::worker_notes::Fault;

/// Records that a worker's session is gone.
pub fn record_gone(ctx: &Context<'_>, name: &str) -> Result<()> {
    let _lock = ctx.lock(name)?;
    match ctx.tmux()?.pane_of(ctx.state()?.require(name)?)? {
        Some(_) => Ok(()),
        None => transition::record(ctx, name, &Input::SessionGone).map(drop),
    }
}

/// Rebuilds an invalid record from the worktree.
pub fn rebuild_record(ctx: &Context<'_>, name: &str) -> Result<()> {
    let mut state = store::load_any(&ctx.root.path)?;
    let panes = panes(ctx, &state);
    let earlier = state.workers.remove(name);
    let usual = || layout::worktree(&ctx.root.path, name);
    let path = earlier.as_ref().map_or_else(usual, |worker| worker.worktree_path.clone().into());
    let worker = with_session(derive(ctx, name, &path, earlier.as_ref(), None)?, &panes, ctx.now())?;
    store::update_any(&ctx.root.path, |state| drop(state.workers.insert(name.to_owned(), worker)))
}

/// Restores a missing worktree from its branch. The work that git still has of it is kept first.
pub fn restore_worktree(ctx: &Context<'_>, name: &str) -> Result<()> {
    let _lock = ctx.lock(name)?;
    let worker = ctx.worker(name)?;
    let tree = worker.tree();
    if tree.symlink_metadata().is_ok() {
        return Ok(());
    }
    if tree.parent() != Some(&layout::worktrees(&ctx.root.path)) {
        let root = ctx.root.path.display();
        let why = format!("{} is not below {root}: the root was moved", tree.display());
        return Err(failure::MOVED.failure(why).hint(layout::back(&ctx.root.path, tree)));
    }
    // A program that still runs works in a directory that is gone.
    session::end_one(ctx, &worker, false)?;
    trash::refuse_locked(ctx, &worker)?;
    let mut kept = trash::keep(ctx, &worker, &Losses::read(&ctx.repo, &worker)?)?;
    kept.extend(trash::remove_worktree(ctx, &worker, true, None)?);
    kept.iter().for_each(|place| ctx.ui.note(format!("kept {}", printable(place))));
    let branch = format!("refs/heads/{}", worker.branch);
    if ctx.repo.commit(&ctx.repo.top, &branch)?.is_none() {
        let at = worker.work.commit_sha.clone().unwrap_or(ctx.repo.require_base()?);
        ctx.repo.update_ref(&[&branch, &at])?;
    }
    ctx.repo.add_worktree(tree, &worker.branch, None)?;
    clone_hooks::fill_worktree(ctx, tree)?;
    copied_files::copy_all(ctx, tree)?;
    transition::record(ctx, name, &Input::SessionGone)?;
    transition::record(ctx, name, &Input::Mended { reason: Fault::WorktreeMissing }).map(drop)
}

/// Aborts a rebase that no program works on. The commits that the rebase has made are kept.
pub fn abort_rebase(ctx: &Context<'_>, name: &str) -> Result<()> {
    let _lock = ctx.lock(name)?;
    let worker = ctx.worker(name)?;
    let ctx = &ctx.of(&worker)?;
    if !is_rebasing(worker.tree())
        || matches!(worker.task, Task::Rebasing { .. })
        || worker.program.session == Session::Up
    {
        return Ok(());
    }
    let kept = rebase::undo(ctx, &worker)?;
    kept.iter().for_each(|place| ctx.ui.note(format!("kept {}", printable(place))));
    Ok(())
}

/// What of a branch that others have too has landed as another commit, by the refs that keep what landed.
pub fn find_landed(ctx: &Context<'_>, name: &str, branch: &str, tip: &str) -> Result<Option<LandedTip>> {
    if !ctx.repo.is_shared(branch)? {
        return Ok(None);
    }
    let (kept, base) = (format!("{ACCEPTED}{name}/"), ctx.repo.require_base()?);
    let listed = ctx.repo.ask(&ctx.repo.top, &["for-each-ref", "--sort=-refname", "--format=%(objectname)", &kept])?;
    for sha in listed.lines() {
        if ctx.repo.has(tip, sha)? && ctx.repo.merge(&base, sha)? == MergeResult::Nothing {
            return Ok(Some(LandedTip { tip: sha.to_owned(), commit: base }));
        }
    }
    Ok(None)
}

/// Derives a worker's record from its worktree, an earlier record, and a later record of the event log. git decides
/// whether a rebase is under way and whether there is work to review.
fn derive(
    ctx: &Context<'_>,
    name: &str,
    path: &Path,
    earlier: Option<&Worker>,
    later: Option<&Value>,
) -> Result<Worker> {
    let ctx = &earlier.map_or_else(|| Ok(ctx.clone()), |worker| ctx.of(worker))?;
    let branch = match (ctx.repo.head(path)?.0, earlier) {
        (_, Some(earlier)) => earlier.branch.clone(),
        (Some(branch), None) => branch,
        (None, None) => ctx.root.config.branch_of(name),
    };
    let agent = ctx.root.worker(name).agent.or(earlier.map(|earlier| earlier.agent.clone()));
    let agent = agent.unwrap_or_else(|| ctx.root.config.text("agent").to_owned());
    let mut worker = Worker::new(name, &agent, &path.to_string_lossy(), &branch, ctx.now());
    worker.adopted = earlier.and_then(|earlier| earlier.adopted.clone());
    worker.pushed = earlier.and_then(|earlier| earlier.pushed.clone());
    let tip = ctx.repo.commit(&ctx.repo.top, &format!("refs/heads/{branch}"))?;
    let tip = match tip {
        Some(tip) => tip,
        None => ctx.repo.ask(path, &["rev-parse", "HEAD"])?,
    };
    if let Some(adopted) = &mut worker.adopted {
        adopted.landed = find_landed(ctx, name, &branch, &tip)?.or(adopted.landed.take());
    }
    let ctx = &ctx.of(&worker)?;
    let is_ahead = ctx.repo.ahead(&tip)? > 0;
    // Keep the earlier record unless git contradicts it. The next patrol finds what has happened since.
    if let Some(earlier) = earlier.filter(|earlier| later.is_none() && earlier.check().is_ok()) {
        let was_rebasing = matches!(earlier.task, Task::Rebasing { .. });
        let agrees_with_git = match earlier.task {
            Task::Idle => !is_ahead,
            Task::NeedsReview => is_ahead,
            _ => true,
        };
        if was_rebasing == is_rebasing(path) && agrees_with_git {
            return Ok(Worker { agent, worktree_path: worker.worktree_path, ..earlier.clone() });
        }
    }
    let logged = later.map(|record| (record["task"].as_str(), record["rejected"].as_str()));
    worker.task = match (is_rebasing(path), is_ahead, logged) {
        (true, ..) => Task::Rebasing { from: TaskBeforeRebase::NeedsReview, pre_sha: tip.clone() },
        // Rejected work is not new, but a later commit is.
        (_, _, Some((Some("rejected"), rejected))) if rejected == Some(&tip) => Task::Rejected,
        (_, false, Some((Some("working"), _))) => Task::Working,
        (_, true, _) => Task::NeedsReview,
        (_, false, _) => Task::Idle,
    };
    if worker.task != Task::Idle {
        worker.work.onto_sha = earlier.and_then(|earlier| earlier.work.onto_sha.clone());
        worker.work.prompt = earlier.and_then(|earlier| earlier.work.prompt.clone());
    }
    match worker.task {
        Task::Idle => {}
        Task::Working | Task::Rejected => worker.work.baseline_sha = Some(tip),
        Task::NeedsReview | Task::Rebasing { .. } => worker.work.commit_sha = Some(tip),
    }
    Ok(worker)
}

/// The panes of the state's tmux; none, with a warning, if it does not tell them.
fn panes(ctx: &Context<'_>, state: &State) -> Vec<Pane> {
    let panes = Tmux::find(ctx.env, &state.tmux_socket).and_then(|tmux| tmux.panes());
    panes.unwrap_or_else(|failure| {
        ctx.ui.warn(failure);
        Vec::new()
    })
}

/// A rebuilt record, which is up if the worker's program runs in one of these panes, as `up` would find it.
fn with_session(worker: Worker, panes: &[Pane], now: i64) -> Result<Worker> {
    let running = tmux::find(panes, &worker).filter(|pane| pane.end.is_none() && !tmux::is_begun(&worker, pane));
    match running.filter(|_| worker.program.session != Session::Up) {
        Some(pane) => Ok(apply(&worker, &Input::SessionUp { pane: pane.id.clone(), pid: pane.pid }, now)?.0),
        None => Ok(worker),
    }
}

/// A rebuilt state that has not been written yet.
pub struct Rebuilt {
    pub state: State,
    /// The bytes of the file that this state replaces.
    replaces: Option<Vec<u8>>,
}

/// Rebuilds the state from the worktrees. Facts that git does not have come from the newest readable backup, or from the event
/// log if that is newer. A worker that cannot be read is left out with a warning.
pub fn rebuilt_state(ctx: &Context<'_>) -> Result<Rebuilt> {
    let root = &ctx.root.path;
    let replaces = fs::read_no_follow(&layout::state(root))?;
    if let Some(bytes) = &replaces {
        store::refuse_newer(&layout::state(root), bytes)?;
    }
    let earlier = store::newest_readable(root);
    let logged = log::last_of_each(root)?;
    let mut state = State::new(&store::last_tmux_socket(root));
    let newest = logged.values().filter_map(|record| record["revision"].as_u64()).max();
    let revision = earlier.as_ref().map(|earlier| earlier.revision);
    state.revision = revision.max(newest).map_or(0, |revision| revision + 1);
    state.last_reviewed = earlier.as_ref().and_then(|earlier| earlier.last_reviewed.clone());
    // Which worktrees of the person's own repository are workers' only an earlier state knows.
    let known: Vec<_> = earlier.iter().flat_map(|state| &state.workers).collect();
    let adopted = known.iter().filter(|(_, worker)| worker.adopted.is_some());
    let adopted = adopted.map(|(_, worker)| (worker.name.clone(), PathBuf::from(&worker.worktree_path)));
    let panes = panes(ctx, &state);
    for (name, path) in worktrees(ctx)?.into_iter().chain(adopted) {
        let before = earlier.as_ref().and_then(|state| state.workers.get(&name));
        // Use the log only if its record is of a later revision than the backup.
        let later = logged.get(&name).filter(|record| record["revision"].as_u64() > revision);
        let derived = derive(ctx, &name, &path, before, later);
        match derived.and_then(|worker| with_session(worker, &panes, ctx.now())) {
            Ok(worker) => drop(state.workers.insert(name, worker)),
            Err(failure) => ctx.ui.warn(format!("{name} is left out: {failure}")),
        }
    }
    state.queue = earlier.as_ref().map(|earlier| earlier.queue.clone()).unwrap_or_default();
    for worker in earlier.iter().flat_map(|earlier| earlier.workers.values()) {
        let is_idle = state.workers.get(&worker.name).is_none_or(|now| now.task == Task::Idle);
        worker.work.queued.iter().filter(|_| is_idle).for_each(|task| state.queue.put_back(task.clone()));
    }
    let is_missing =
        |(name, worker): &(&String, &Worker)| worker.adopted.is_none() && !state.workers.contains_key(*name);
    for (name, _) in known.into_iter().filter(is_missing) {
        let tree = layout::worktree(root, name);
        ctx.ui.warn(format!(
            "{name} is left out, because git lists no worktree {}; if the root was moved, move it back first",
            tree.display()
        ));
    }
    Ok(Rebuilt { state, replaces })
}

/// The worktrees of workers, by name.
fn worktrees(ctx: &Context<'_>) -> Result<Vec<(String, PathBuf)>> {
    let all = layout::worktrees(&ctx.root.path);
    let own = ctx.clone.trees()?.into_keys().filter(|path| path.parent() == Some(&all) && path.is_dir());
    let named = own.filter_map(|path| Some((path.file_name()?.to_string_lossy().into_owned(), path)));
    // Those for checks are no workers'.
    Ok(named.filter(|(name, _)| !name.starts_with('.')).collect())
}

/// Writes the rebuilt state, unless the file has changed since. The replaced file is kept beside it.
pub fn write_rebuilt(ctx: &Context<'_>, rebuilt: &Rebuilt) -> Result<()> {
    let root = &ctx.root.path;
    let _lock = ctx.lock_root(RootLock::State)?;
    if fs::read_no_follow(&layout::state(root))? != rebuilt.replaces {
        return Err(failure::MOVED.failure("the state changed meanwhile").hint("run the same command again"));
    }
    if let Some(bytes) = fs::read_own(&layout::state(root))? {
        let time = ctx.env.later().now.strftime("%Y%m%dT%H%M%SZ").to_string();
        fs::replace(&root.join(format!("state.json.before-{time}")), &bytes, Some(fs::PRIVATE))?;
    }
    store::create(root, &rebuilt.state)
}
