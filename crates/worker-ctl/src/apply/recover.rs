//! Finishes or undoes what a killed command left open, each under its worker's lock. A worker whose lock is held is
//! skipped, because the holder is still working on it.

use std::collections::{BTreeMap, BTreeSet};

use shopfloor_core::error::Result;

use crate::apply::publish::{self, Journal};
use crate::apply::{land, land_on_parent, rebase, transition};
use crate::context::Context;
use crate::hosts;
use crate::plan::machine::Input;
use crate::worker::{Task, Worker};

/// The accepts that were finished: the commit that landed, by worker.
pub type FinishedAccepts = BTreeMap<String, String>;

/// Finishes or undoes whatever is open. Every command that writes begins with this.
pub fn finish_all(ctx: &Context<'_>) -> Result<FinishedAccepts> {
    let mut open: BTreeSet<String> = publish::list_journals(&ctx.root.path)?.into_iter().collect();
    // Those need the host.
    open.retain(|name| hosts::split(name).is_none());
    let is_open = |worker: &&Worker| {
        let is_left = |ctx: Context<'_>| has_pins(&ctx, worker) || rebase::is_open(&ctx, worker);
        worker.pending_send.is_some() || ctx.of(worker).is_ok_and(is_left)
    };
    open.extend(ctx.state()?.workers.values().filter(is_open).map(|worker| worker.name.clone()));
    let mut finished = FinishedAccepts::new();
    for name in open {
        ctx.warn_on_failure(&name, || {
            let Some(_lock) = ctx.try_lock(&name)? else { return Ok(()) };
            // First, because it ends a task.
            finished.extend(finish_accept(ctx, &name)?.map(|landed| (name.clone(), landed)));
            finish_rest(ctx, &name)
        });
    }
    Ok(finished)
}

/// Finishes an accept that has a journal. Returns the commit that landed.
fn finish_accept(ctx: &Context<'_>, name: &str) -> Result<Option<String>> {
    let worker = ctx.state()?.workers.remove(name);
    let ctx = &worker.as_ref().map_or_else(|| Ok(ctx.clone()), |worker| ctx.of(worker))?;
    let parent =
        land_on_parent::on_branch(ctx, &ctx.repo.branch)?.map(|parent| ctx.try_lock(&parent.name)).transpose()?;
    // Whoever works on the parent is waited for.
    if parent.as_ref().is_some_and(Option::is_none) {
        return Ok(None);
    }
    let Some(Journal { old, new, work, .. }) = publish::find_landed(&ctx.repo, &ctx.source(), name)? else {
        return Ok(None);
    };
    let Some(worker) = worker else { return publish::drop_journal(&ctx.repo, name).map(|()| None) };
    land::finish(ctx, &worker, &work, (&old, &new))?;
    ctx.ui.note(format!("finished an `accept` of {name}"));
    Ok(Some(new))
}

/// A text that was about to be typed, the refs of a task that is over, and a rebase of ours that its worker was never
/// asked to resolve.
fn finish_rest(ctx: &Context<'_>, name: &str) -> Result<()> {
    let Some(worker) = ctx.state()?.workers.remove(name) else { return Ok(()) };
    let ctx = &ctx.of(&worker)?;
    if worker.pending_send.is_some()
        && let Some(worker) = transition::observe(ctx, &worker, &Input::Doubt)?
    {
        worker.notes.iter().for_each(|note| ctx.ui.warn(format!("{name}: {note}")));
    }
    if has_pins(ctx, &worker) {
        transition::unpin(ctx, name)?;
    }
    if rebase::is_open(ctx, &worker) { rebase::finish_open(ctx, &worker) } else { Ok(()) }
}

/// Whether an idle worker still has the refs of a task. In the clone they are files, because `init` made it so.
fn has_pins(ctx: &Context<'_>, worker: &Worker) -> bool {
    let names = ["review", "pre"].map(|kind| format!("refs/shopfloor/{kind}/{}", worker.name));
    let repo = &ctx.repo;
    match worker.task {
        Task::Idle if repo.is_own => repo.commits(&names).is_ok_and(|found| found.iter().any(Option::is_some)),
        Task::Idle => names.iter().any(|name| repo.common.join(name).exists()),
        _ => false,
    }
}
