//! Which workers have sandboxes.

use shopfloor_core::error::Result;
use shopfloor_core::sandbox::{self, Sandbox};

use crate::context::Context;
use crate::runner::SANDBOX;
use crate::worker::Worker;

/// The runner that the command line names for a worker's program, or else its table or the defaults.
pub fn runner(ctx: &Context<'_>, worker: &Worker) -> Option<String> {
    let (given, own) = (ctx.flag("runner").map(str::to_owned), ctx.root.worker(&worker.name).runner);
    given.or(own).or_else(|| ctx.root.config.settings.value("runner").map(|value| value.text.clone()))
}

/// Whether a worker's program is to run in a sandbox: as the configuration says, else if one ran there before.
pub fn is_wanted(ctx: &Context<'_>, worker: &Worker) -> bool {
    match runner(ctx, worker) {
        Some(runner) => runner == SANDBOX,
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
