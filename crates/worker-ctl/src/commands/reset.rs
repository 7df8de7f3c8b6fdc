//! `reset`: takes a worker's task away. Work that exists nowhere else is refused, or kept with `--force`.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hook_command::DryRun;

use crate::apply::removal;
use crate::commands;
use crate::site::Site;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker
    pub worker: String,
    /// Reset a worker even if it has unmerged work, and keep that work under refs/shopfloor/trash/
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub dry: DryRun,
}

pub fn run(site: &Site<'_>, args: &Args) -> Result<Exit> {
    let name = &args.worker;
    commands::recover(site)?;
    let (worker, _lock) = commands::locked(site, name)?;
    commands::renew_base(site);
    let base = site.clone.require_base()?;
    removal::check_losses(site, &worker, args.force)?;
    if site.is_dry {
        commands::show(site.ui, format!("put {} on {base}, and make {name} idle", worker.worktree_path));
        return Ok(Exit::Done);
    }
    let kept = removal::reset(site, &worker, &base, args.force)?;
    commands::print_kept(site, name, &kept);
    Ok(Exit::Done)
}
