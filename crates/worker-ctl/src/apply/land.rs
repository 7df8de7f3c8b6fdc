//! Landing a worker's work on the source's default branch, as its plan says.

use shopfloor_core::error::{Exit, Failure, Result};

use crate::apply::{publish, rebase, transition};
use crate::facts::conflicts::Conflict;
use crate::facts::standing::Standing;
use crate::layout::RootLock;
use crate::plan::accept::{Accept, Landing, Options, accept};
use crate::plan::machine::Input;
use crate::site::Site;
use crate::store;
use crate::worker::{Task, Worker};

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landed {
    /// The default branch is at this commit now.
    Accepted(String),
    /// The default branch is at this commit, and has all of the work.
    NothingToMerge(String),
    /// These files conflict, and the worker knows.
    Rebasing(Vec<String>),
}

/// Reads where a worker is and decides, as `--dry-run` does.
pub fn plan(site: &Site<'_>, worker: &Worker, options: Options) -> Result<Accept> {
    let plan = accept(&Standing::read(site, worker)?, &site.clone.branch, options)?;
    if plan.is_unreviewed {
        site.ui.note(format!("{} was not reviewed", plan.name));
    }
    Ok(plan)
}

/// Under the worker's lock: one commit with its work on the default branch, and the worker idle. Where that branch moves
/// meanwhile, it is decided once more. A worker whose work conflicts is told of it.
pub fn land(site: &Site<'_>, worker: &Worker, options: Options, message: Option<&str>) -> Result<Landed> {
    let _publishing = site.lock_root(RootLock::Publish)?;
    for _ in 0..2 {
        let plan = plan(site, worker, options)?;
        let landed = match &plan.landing {
            Landing::Commit { tree } => publish_commit(site, worker, &plan, tree, message),
            Landing::Nothing => close_without_commit(site, worker, &plan),
            Landing::Conflict => tell_conflicts(site, worker, &plan, options),
        };
        match landed {
            Err(failure) if failure.kind == publish::MOVED => site.ui.detail(failure.message),
            landed => return landed,
        }
    }
    Err(Failure::new(Exit::No, "not_published", format!("{} of the source keeps moving", site.clone.branch))
        .hint("run the same command again"))
}

fn publish_commit(
    site: &Site<'_>,
    worker: &Worker,
    plan: &Accept,
    tree: &str,
    message: Option<&str>,
) -> Result<Landed> {
    let new = publish::commit(site, worker, plan, tree, message)?;
    publish::publish(&site.clone, &site.source(), plan, &new)?;
    settle(site, worker, &plan.sha, &new)?;
    publish::drop_journal(&site.clone, &plan.name)?;
    Ok(Landed::Accepted(new))
}

fn close_without_commit(site: &Site<'_>, worker: &Worker, plan: &Accept) -> Result<Landed> {
    publish::begin(&site.clone, plan, &plan.base)?;
    settle(site, worker, &plan.sha, &plan.base)?;
    publish::drop_journal(&site.clone, &plan.name)?;
    Ok(Landed::NothingToMerge(plan.base.clone()))
}

fn tell_conflicts(site: &Site<'_>, worker: &Worker, plan: &Accept, options: Options) -> Result<Landed> {
    match rebase::begin(site, worker, &plan.base, &plan.sha, options.force)? {
        rebase::Rebased::Conflicts(files) => Ok(Landed::Rebasing(files.iter().map(Conflict::describe).collect())),
        _ => Err(Failure::new(Exit::No, "conflict", format!("{} was rebased and merges now", plan.name))
            .hint("run the same command again")),
    }
}

/// Puts the worktree on what the source has now, in place, so that the agent's directory stays; then the worker is idle.
/// What came after the commit that landed is not touched: then the worker has new work.
pub fn settle(site: &Site<'_>, worker: &Worker, landed: &str, at: &str) -> Result<()> {
    let is_it = worker.task == Task::NeedsReview && worker.commit_sha.as_deref() == Some(landed);
    if !is_it {
        return Ok(());
    }
    site.clone.fetch()?;
    if !site.clone.has(at, landed)? {
        // What was squashed stays to be looked at, with all its messages.
        let kept = format!("refs/shopfloor/accepted/{}/{}", worker.name, site.stamp());
        site.clone.ask(&site.root.path, &["update-ref", &kept, landed])?;
    }
    if rebase::put(site, worker, landed, at)? {
        transition::record(site, &worker.name, &Input::Accepted)?;
    } else {
        site.ui.warn(format!("{} went on after that commit, so its worktree stays as it is", worker.name));
    }
    store::update(&site.root.path, |state| {
        state.last_reviewed.take_if(|last| *last == worker.name);
        Ok(())
    })
}
