//! Puts a worker's work onto the source's default branch, as planned.

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::git::require_lasting_objects;
use shopfloor_core::hash::Digest;
use shopfloor_core::sandbox::require_available;

use crate::apply::rebase::{self, Rebased};
use crate::apply::{check, deliver, land_on_parent, landing_lfs, publish, sandbox, transition};
use crate::context::Context;
use crate::facts::conflicts::ConflictedFile;
use crate::facts::work_summary;
use crate::facts::worker_state::Standing;
use crate::failure;
use crate::layout::RootLock;
use crate::plan::accept::{Accept, Landing, accept, require_review};
use crate::plan::machine::Input;
use crate::plan::prompt;
use crate::plan::rebase::Rebase;
use crate::store::State;
use crate::work_repo::common_dir;
use crate::worker::{LandAs, LandedTip, Task, Worker};

/// The result of an accept.
#[derive(Debug)]
pub enum Landed {
    /// The work landed as this commit.
    Accepted(String),
    /// The same, but what follows a landing failed: its journal stays, so the next command finishes it; or it was not pushed.
    Unfinished(String, Failure),
    /// The default branch is at this commit and already has all of the work.
    NothingToMerge(String),
    /// These files conflict, and the worker was asked to resolve them.
    Rebasing(Vec<String>),
}

/// Reads the state of the worker's work in git, and plans the accept. `--dry-run` does only this. Also returns the git-lfs objects that the source needs first.
pub fn plan(ctx: &Context<'_>, name: &str, is_forced: bool, land: Option<LandAs>) -> Result<(Accept, Vec<Digest>)> {
    let mut worker = land_on_parent::retargeted(ctx, ctx.worker(name)?)?;
    let ctx = &ctx.of(&worker)?;
    worker.adopted.iter_mut().for_each(|adopted| adopted.land = land.unwrap_or(adopted.land));
    require_review(&worker)?;
    require_lasting_objects(&common_dir(&ctx.source()))?;
    let plan = accept(&Standing::read(ctx, &worker)?, &ctx.repo.branch, is_forced)?;
    // What is in the way of the worktree then is said before anything lands. A rebase says it itself.
    let to = if plan.landing == Landing::Nothing { Some(&plan.base) } else { plan.landing.tree() };
    if let Some(to) = to
        && !stays(ctx, &worker)?
    {
        rebase::require_nothing_lost(ctx, worker.checkout(), &plan.sha, to)?;
    }
    let objects = match &plan.landing {
        Landing::Commit { tree } | Landing::Commits { tree } | Landing::Copies { tree } => {
            work_summary::commits(&ctx.repo, &ctx.repo.range(&ctx.repo.begin(&plan.sha)?, &plan.sha))?;
            landing_lfs::read(ctx, Some(worker.checkout()), &plan.base, tree)?
        }
        Landing::Nothing | Landing::Conflict | Landing::Behind => Vec::new(),
    };
    Ok((plan, objects))
}

/// Puts the work on the default branch as one commit and makes the worker idle. The caller holds the worker's lock. If
/// the branch moves meanwhile, this plans and tries once more. If the work conflicts, the worker is asked to resolve
/// it.
pub fn land(
    ctx: &Context<'_>,
    name: &str,
    is_forced: bool,
    (message, as_what): (Option<&str>, Option<LandAs>),
    checked: &Checked,
) -> Result<Landed> {
    let worker = ctx.worker(name)?;
    let ctx = &ctx.of(&worker)?;
    // What follows a landing is done there.
    if sandbox::of(ctx, &worker)?.is_some() {
        require_available(ctx.env)?;
    }
    // A worker without work is refused at once, whoever is publishing.
    require_review(&worker)?;
    while_parent_rests(ctx, &worker, is_forced, || land_locked(ctx, name, is_forced, (message, as_what), checked))
}

/// Does what moves the branch that a worker's work lands on, while whoever works on that branch rests.
pub fn while_parent_rests<T>(
    ctx: &Context<'_>,
    worker: &Worker,
    is_forced: bool,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let (name, parent) = (&worker.name, land_on_parent::on_branch(ctx, &ctx.repo.branch)?.map(|parent| parent.name));
    // Nobody else records meanwhile what happens on its branch.
    let _lock = parent.as_ref().map(|parent| ctx.lock(parent)).transpose()?;
    let rests = match &parent {
        Some(parent) => land_on_parent::require_rest(ctx, parent, name, is_forced),
        None => land_on_parent::require_no_other(ctx, name, is_forced),
    };
    rests.and_then(|()| work()).map_err(|failure| land_on_parent::child_blocked(ctx, worker, failure))
}

/// What was checked of what is to land.
pub enum Checked {
    /// No check is wanted.
    Unwanted,
    /// This tree is good; none if nothing could land then.
    Tree(Option<String>),
}

/// Sees that what is to land passes the check. Nobody holds the worker's lock meanwhile, as that may take long.
pub fn check_first(ctx: &Context<'_>, name: &str, is_forced: bool, land: Option<LandAs>) -> Result<Checked> {
    let (mut plan, lock) = (self::plan(ctx, name, is_forced, land)?.0, ctx.lock(name)?);
    if plan.landing == Landing::Behind {
        put_on_branch(&ctx.of(&ctx.worker(name)?)?, name)?;
        plan = self::plan(ctx, name, is_forced, land)?.0;
    }
    drop(lock);
    let tree = plan.landing.tree().cloned();
    if let Some(tree) = &tree {
        check::require_green(ctx, &ctx.worker(name)?, &plan.sha, tree)?;
    }
    Ok(Checked::Tree(tree))
}

fn land_locked(
    ctx: &Context<'_>,
    name: &str,
    is_forced: bool,
    (message, as_what): (Option<&str>, Option<LandAs>),
    checked: &Checked,
) -> Result<Landed> {
    let _publishing = ctx.lock_root(RootLock::Publish)?;
    publish::require_put_back(ctx, &publish::list_journals(&ctx.root.path)?)?;
    let mut is_told = false;
    // Once more if the branch moves, and once more if the commits have to be put on it.
    for _ in 0..3 {
        let (plan, objects) = plan(ctx, name, is_forced, as_what)?;
        if let (Checked::Tree(checked), Some(tree)) = (checked, plan.landing.tree())
            && checked.as_ref() != Some(tree)
        {
            return Err(failure::MOVED
                .failure(format!("{} moved while the work of {name} was checked", ctx.repo.branch))
                .hint("run the same command again"));
        }
        if !is_told {
            tell_unreviewed(ctx, &plan);
        }
        is_told |= !plan.is_reviewed;
        // A checkout of the branch needs the objects as soon as the branch moves.
        landing_lfs::copy(ctx, &objects)?;
        let new = match &plan.landing {
            Landing::Commit { tree } => Some(publish::commit(ctx, &ctx.worker(name)?, &plan, tree, message)?),
            Landing::Commits { .. } => Some(plan.sha.clone()),
            Landing::Copies { tree } => Some(publish::copies(ctx, &plan, tree)?),
            // Then it is planned again.
            Landing::Behind => put_on_branch(ctx, name).map(|()| None)?,
            Landing::Nothing => return close_without_commit(ctx, plan),
            Landing::Conflict => return ask_to_resolve(ctx, &plan, is_forced),
        };
        if let Some(new) = new
            && publish::publish(ctx.ui, &ctx.repo, &ctx.source(), &plan, &new)?
        {
            if matches!(plan.landing, Landing::Commit { .. }) {
                tell_unsigned(ctx, &new);
            }
            let finished = ctx.worker(name).and_then(|it| finish(ctx, &it, &plan.sha, (&plan.base, &new)));
            return Ok(match finished {
                Ok(()) => Landed::Accepted(new),
                Err(failure) => unfinished(ctx, name, new, failure),
            });
        }
        ctx.ui.detail(format!("{} of the source has moved", ctx.repo.branch));
    }
    Err(failure::NOT_PUBLISHED
        .failure(format!("the branch {} of the source changes all the time", ctx.repo.branch))
        .hint("run the same command again"))
}

fn unfinished(ctx: &Context<'_>, name: &str, new: String, failure: Failure) -> Landed {
    let branch = &ctx.repo.branch;
    let message = format!("the work of {name} has landed on {branch}, but not all is done: {}", failure.message);
    let hint = "the next command of worker-ctl does the rest, as `worker-ctl patrol`";
    Landed::Unfinished(new, Failure { message, ..failure }.hint(hint))
}

/// Says so when nobody has reviewed the work.
pub fn tell_unreviewed(ctx: &Context<'_>, plan: &Accept) {
    if !plan.is_reviewed {
        ctx.ui.note(format!("{} was not reviewed", plan.name));
    }
}

/// Says so where the source signs its commits, and this one of ours is not.
fn tell_unsigned(ctx: &Context<'_>, new: &str) {
    let signs = ctx.repo.git.config(&common_dir(&ctx.source()), "commit.gpgSign", Some("--type=bool"));
    if signs.is_ok_and(|signs| signs.is_some_and(|is| is == "true")) {
        ctx.ui.note(format!("the source signs its commits, and {new} is not signed"));
    }
}

/// Puts the work's own commits on the branch as it is now.
fn put_on_branch(ctx: &Context<'_>, name: &str) -> Result<()> {
    let standing = Standing::read(ctx, &ctx.worker(name)?)?;
    match rebase::carry_out(ctx, &standing, Rebase::Replay, false)? {
        Rebased::Done | Rebased::UpToDate => Ok(()),
        Rebased::Conflicts(_) | Rebased::LeftAsItIs => Err(failure::CONFLICT
            .failure(format!("one of the commits of {name} conflicts with {}", ctx.repo.branch))
            .hint(format!("land one commit: `worker-ctl accept {name} --land squash`"))),
    }
}

/// What follows once `work` is on the branch as `new`, where `old` was before. All of it can be repeated after a kill.
pub fn finish(ctx: &Context<'_>, worker: &Worker, work: &str, (old, new): (&str, &str)) -> Result<()> {
    close_task(ctx, &worker.name, work, new)?;
    if old != new {
        ctx.update_worker(&worker.name, |worker| {
            worker.adopted.iter_mut().for_each(|adopted| adopted.landed_as = Some(new.to_owned()));
        })?;
    }
    land_on_parent::landed(ctx, worker, (old, new))?;
    publish::drop_journal(&ctx.repo, &worker.name)
}

fn close_without_commit(ctx: &Context<'_>, plan: Accept) -> Result<Landed> {
    publish::write_journal(&ctx.repo, &plan, &plan.base)?;
    finish(ctx, &ctx.worker(&plan.name)?, &plan.sha, (&plan.base, &plan.base))?;
    Ok(Landed::NothingToMerge(plan.base))
}

fn ask_to_resolve(ctx: &Context<'_>, plan: &Accept, is_forced: bool) -> Result<Landed> {
    let worker = ctx.worker(&plan.name)?;
    if worker.has_request() || ctx.repo.is_shared(&worker.branch)? {
        return Err(ask_to_merge(ctx, &worker, plan, is_forced)?);
    }
    match rebase::ask_to_resolve(ctx, &worker, &plan.base, &plan.sha, is_forced)? {
        Rebased::Conflicts(files) => Ok(Landed::Rebasing(files.iter().map(ConflictedFile::describe).collect())),
        _ => Err(failure::MOVED
            .failure(format!("{} was rebased and merges now", plan.name))
            .hint("run the same command again")),
    }
}

/// Tells a worker whose branch is others' too to merge the branch that its work lands on, and not to rebase. Returns the
/// failure to land.
fn ask_to_merge(ctx: &Context<'_>, worker: &Worker, plan: &Accept, is_forced: bool) -> Result<Failure> {
    let (repo, Accept { name, sha, base, .. }) = (&ctx.repo, plan);
    let files = repo.conflicting_files(base, sha)?;
    let base_branch = repo.base();
    let base_branch = ["refs/heads/", "refs/remotes/"].iter().find_map(|start| base_branch.strip_prefix(start));
    let text = prompt::merge(base_branch.unwrap_or(&repo.branch), &files);
    let (base, patch) = (sha.clone(), repo.work_digest(sha)?);
    let input = Input::Reject { base, patch, text: text.clone(), is_conflict: true, force: is_forced };
    deliver::deliver(ctx, worker, &input, &text)?;
    Ok(failure::CONFLICT
        .failure(format!("{name} conflicts with {} and was asked to merge it", repo.branch))
        .details(files.iter().map(|file| format!("  {file}")))
        .hint(format!("`worker-ctl wait {name}` waits for the merge")))
}

/// Where the clone keeps the original commits of work that landed as another commit.
pub const ACCEPTED: &str = "refs/shopfloor/accepted/";

/// Whether a worker's work may sit on commits of a parent: of the one on whose branch it lands, or of one that landed as
/// another commit and is gone.
pub fn sits_on_parent(ctx: &Context<'_>, worker: &Worker) -> Result<bool> {
    if land_on_parent::on_branch(ctx, &ctx.repo.branch)?.is_some() {
        return Ok(true);
    }
    let Some(onto) = worker.work.onto_sha.as_deref().filter(|_| ctx.repo.is_own) else { return Ok(false) };
    // What the branch itself has dropped is for a person to see.
    if ctx.repo.was_base(&ctx.source(), onto)? {
        return Ok(false);
    }
    let landed = ctx.repo.run(&ctx.repo.top, &["for-each-ref", "--contains", onto, ACCEPTED])?;
    Ok(landed.status.success() && !landed.text().is_empty())
}

/// Keeps the original commits of work that landed as another commit, with all their messages.
pub fn keep_original(ctx: &Context<'_>, name: &str, landed: &str) -> Result<()> {
    let kept = format!("{ACCEPTED}{name}/{}", ctx.stamp());
    ctx.repo.update_ref(&[&kept, landed])
}

/// Whether a worker's branch is others' too, and stays where its worker has put it.
fn stays(ctx: &Context<'_>, worker: &Worker) -> Result<bool> {
    Ok(worker.has_request() && ctx.repo.is_own || ctx.repo.is_shared(&worker.branch)?)
}

/// Moves the worktree to the commit `at` in place, so that the agent keeps its directory, and makes the worker idle.
/// If the worker has committed after `landed`, the worktree stays as it is.
pub fn close_task(ctx: &Context<'_>, name: &str, landed: &str, at: &str) -> Result<()> {
    let worker = ctx.worker(name)?;
    let ctx = &ctx.of(&worker)?;
    let has_landed = worker.task == Task::NeedsReview && worker.work.commit_sha.as_deref() == Some(landed);
    if !has_landed {
        return Ok(());
    }
    ctx.repo.fetch(&ctx.source())?;
    if !ctx.repo.has(at, landed)? {
        keep_original(ctx, name, landed)?;
    }
    let is_shared = stays(ctx, &worker)?;
    let in_the_way = if is_shared { None } else { rebase::move_worktree(ctx, worker.checkout(), landed, at)? };
    let note = |state: &mut State| {
        state.note_landed(name);
        let Some(now) = state.workers.get_mut(name) else { return };
        now.landed_prompt.clone_from(&worker.work.prompt);
        if let Some(adopted) = &mut now.adopted {
            if is_shared { landed } else { at }.clone_into(&mut adopted.began);
            adopted.earlier = None;
            adopted.landed = is_shared.then(|| LandedTip { tip: landed.to_owned(), commit: at.to_owned() });
        }
    };
    let Some(failure) = in_the_way else {
        // In one write: a command that is killed between two would leave an idle worker of which nobody knows what landed.
        return transition::record_with(ctx, name, &Input::Accepted, note).map(drop);
    };
    let why = [vec![failure.to_string()], failure.hints].concat().join("; ");
    ctx.ui.warn(format!("the worktree of {name} is not moved on, and stays as it is: {why}"));
    ctx.update(|state| {
        note(state);
        Ok(())
    })
}
