//! Which workers have sandboxes.

use shopfloor_core::error::Result;
use shopfloor_core::sandbox::{self, Sandbox};

use crate::context::Context;
use crate::worker::Worker;

/// Whether a worker's program is to run in a sandbox: as the configuration says, else if one ran there before.
pub fn is_wanted(ctx: &Context<'_>, worker: &Worker) -> bool {
    let own = ctx.root.worker(&worker.name).runner;
    let set = ctx.root.config.settings.value("runner").map(|value| value.text.clone());
    match own.or(set) {
        Some(runner) => runner == "sandbox",
        None => of(ctx, worker).is_ok_and(|sandbox| sandbox.is_some()),
    }
}

/// The sandbox of a worker's worktree, whether it was made yet or not.
pub fn find(ctx: &Context<'_>, worker: &Worker) -> Result<Sandbox> {
    let repo = ctx.of(worker)?.repo;
    Sandbox::of(ctx.env, &repo.common, worker.tree(), ctx.root.config.sandbox.clone())
}

/// The sandbox of a worker's worktree, if its program was ever in one.
pub fn of(ctx: &Context<'_>, worker: &Worker) -> Result<Option<Sandbox>> {
    if !worker.tree().is_dir() || !sandbox::are_any(ctx.env) {
        return Ok(None);
    }
    Ok(Some(find(ctx, worker)?).filter(Sandbox::is_made))
}
