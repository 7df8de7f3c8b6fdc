//! `reset`: takes a worker's task away. Work that exists nowhere else is refused, or kept with `--force`.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};

use crate::apply::removal;
use crate::commands::{self, KeptAnswer};
use crate::context::Context;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The workers
    pub workers: Vec<String>,
    /// Reset all workers
    #[arg(long)]
    pub all: bool,
    /// Reset a worker even if it has unmerged work, and keep that work under refs/shopfloor/trash/
    #[arg(long)]
    pub force: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    commands::recover(ctx)?;
    let workers = commands::choose(&ctx.state()?, &args.workers, args.all)?;
    if workers.is_empty() {
        ctx.ui.nothing_to_do();
        return Ok(Exit::Done);
    }
    // Check all workers before resetting the first one.
    commands::renew_base(ctx);
    workers.iter().try_for_each(|worker| removal::check_losses(ctx, worker, args.force).map(drop))?;
    workers.iter().try_for_each(|worker| reset(ctx, &worker.name, args.force))?;
    Ok(Exit::Done)
}

fn reset(ctx: &Context<'_>, name: &str, is_forced: bool) -> Result<()> {
    let (worker, _lock) = commands::locked(ctx, name)?;
    let base = ctx.clone.require_base()?;
    if ctx.is_dry {
        let would = format!("put {} on {base}, and make {name} idle", worker.worktree_path);
        commands::show(ctx.ui, KeptAnswer::of(name, &[]), &[would]);
        return Ok(());
    }
    let kept = removal::reset(ctx, &worker, &base, is_forced)?;
    commands::print_kept(ctx, name, "reset", &kept);
    Ok(())
}
