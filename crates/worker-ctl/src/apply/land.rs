//! Puts a worker's work onto the source's default branch, as planned.

use shopfloor_core::error::{Exit, Failure, Result};

use crate::apply::{attached, publish, rebase, transition};
use crate::facts::conflicts::ConflictedFile;
use crate::facts::standing::Standing;
use crate::layout::RootLock;
use crate::plan::accept::{Accept, AcceptOptions, Landing, accept, require_review};
use crate::plan::machine::Input;
use crate::site::Site;
use crate::store;
use crate::worker::{Task, Worker};

/// The result of an accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landed {
    /// The work landed as this commit.
    Accepted(String),
    /// The default branch is at this commit and already has all of the work.
    NothingToMerge(String),
    /// These files conflict, and the worker was asked to resolve them.
    Rebasing(Vec<String>),
}

/// Reads the state of the worker's work in git, and plans the accept. `--dry-run` does only this.
pub fn plan(site: &Site<'_>, worker: &Worker, options: AcceptOptions) -> Result<Accept> {
    require_review(worker)?;
    let plan = accept(&Standing::read(site, worker)?, &site.clone.branch, options)?;
    if let Landing::Commit { tree } = &plan.landing {
        attached::read(site, worker, &plan.base, tree)?;
    }
    Ok(plan)
}

/// Says so when nobody has reviewed the work that is about to land.
pub fn note_unreviewed(site: &Site<'_>, worker: &Worker) {
    if worker.reviewed_patch.is_none() {
        site.ui.note(format!("{} was not reviewed", worker.name));
    }
}

/// Puts the work on the default branch as one commit and makes the worker idle. The caller holds the worker's lock. If
/// the branch moves meanwhile, this plans and tries once more. If the work conflicts, the worker is asked to resolve
/// it.
pub fn land(site: &Site<'_>, worker: &Worker, options: AcceptOptions, message: Option<&str>) -> Result<Landed> {
    // A worker without work is refused at once, whoever is publishing.
    require_review(worker)?;
    let _publishing = site.lock_root(RootLock::Publish)?;
    for attempt in 0..2 {
        let plan = plan(site, worker, options)?;
        if attempt == 0 {
            note_unreviewed(site, worker);
        }
        let landed = match &plan.landing {
            Landing::Commit { tree } => publish_commit(site, worker, &plan, tree, message),
            Landing::Nothing => close_without_commit(site, worker, &plan),
            Landing::Conflict => ask_to_resolve(site, worker, &plan, options),
        };
        match landed {
            Err(failure) if failure.kind == publish::MOVED => site.ui.detail(failure.message),
            landed => return landed,
        }
    }
    Err(Failure::new(
        Exit::No,
        "not_published",
        format!("the branch {} of the source changes all the time", site.clone.branch),
    )
    .hint("run the same command again"))
}

fn publish_commit(
    site: &Site<'_>,
    worker: &Worker,
    plan: &Accept,
    tree: &str,
    message: Option<&str>,
) -> Result<Landed> {
    // A checkout of the branch needs the objects as soon as the branch moves.
    attached::copy(site, &attached::read(site, worker, &plan.base, tree)?)?;
    let new = publish::commit(site, worker, plan, tree, message)?;
    publish::publish(&site.clone, &site.source(), plan, &new)?;
    close_task(site, worker, &plan.sha, &new)?;
    publish::drop_journal(&site.clone, &plan.name)?;
    Ok(Landed::Accepted(new))
}

fn close_without_commit(site: &Site<'_>, worker: &Worker, plan: &Accept) -> Result<Landed> {
    publish::write_journal(&site.clone, plan, &plan.base)?;
    close_task(site, worker, &plan.sha, &plan.base)?;
    publish::drop_journal(&site.clone, &plan.name)?;
    Ok(Landed::NothingToMerge(plan.base.clone()))
}

fn ask_to_resolve(site: &Site<'_>, worker: &Worker, plan: &Accept, options: AcceptOptions) -> Result<Landed> {
    match rebase::ask_to_resolve(site, worker, &plan.base, &plan.sha, options.force)? {
        rebase::Rebased::Conflicts(files) => Ok(Landed::Rebasing(files.iter().map(ConflictedFile::describe).collect())),
        _ => Err(Failure::new(Exit::No, "conflict", format!("{} was rebased and merges now", plan.name))
            .hint("run the same command again")),
    }
}

/// Where the clone keeps the original commits of work that landed as another commit.
pub const ACCEPTED: &str = "refs/shopfloor/accepted/";

/// Moves the worktree to the commit `at` in place, so that the agent keeps its directory, and makes the worker idle.
/// If the worker has committed after `landed`, the worktree stays as it is.
pub fn close_task(site: &Site<'_>, worker: &Worker, landed: &str, at: &str) -> Result<()> {
    let has_landed = worker.task == Task::NeedsReview && worker.commit_sha.as_deref() == Some(landed);
    if !has_landed {
        return Ok(());
    }
    site.clone.fetch(&site.source())?;
    if !site.clone.has(at, landed)? {
        // Keep the original commits, with all their messages.
        let kept = format!("{ACCEPTED}{}/{}", worker.name, site.stamp());
        site.clone.ask(&site.root.path, &["update-ref", &kept, landed])?;
    }
    if rebase::move_worktree(site, worker, landed, at)? {
        transition::record(site, &worker.name, &Input::Accepted)?;
    } else {
        site.ui.warn(format!(
            "{} has changed its worktree since the commit that landed, so the worktree stays as it is",
            worker.name
        ));
    }
    store::update(&site.root.path, |state| {
        state.last_reviewed.take_if(|last| *last == worker.name);
        Ok(())
    })
}
