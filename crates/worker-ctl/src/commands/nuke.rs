//! `nuke`: removes workers. Work that exists nowhere else is refused, or kept with `--force`.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Failure, Result};

use crate::apply::removal;
use crate::commands::{self, KeptAnswer};
use crate::plan::removal::describe_nuke;
use crate::site::Site;
use crate::store;
use crate::worker::Worker;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The workers
    pub workers: Vec<String>,
    /// Remove all workers
    #[arg(long)]
    pub all: bool,
    /// Remove a worker even if it has unmerged work, and keep that work under refs/shopfloor/trash/
    #[arg(long)]
    pub force: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
}

pub fn run(site: &Site<'_>, args: &Args) -> Result<Exit> {
    commands::recover(site)?;
    let state = store::load(&site.root.path)?;
    let workers = commands::choose(&state, &args.workers, args.all)?;
    if workers.is_empty() {
        site.ui.nothing_to_do();
        return Ok(Exit::Done);
    }
    commands::renew_base(site);
    // Check all workers before removing the first one.
    let check = |worker: &Worker| Ok(describe_nuke(worker, &removal::check_losses(site, worker, args.force)?));
    let plan = workers.iter().map(check).collect::<Result<Vec<String>>>()?;
    if site.is_dry {
        for (worker, line) in workers.iter().zip(plan) {
            commands::show(site.ui, KeptAnswer::of(&worker.name, &[]), &[line]);
        }
        return Ok(Exit::Done);
    }
    confirm(site, args, &workers)?;
    for worker in &workers {
        let _lock = site.lock(&worker.name)?;
        let Some(worker) = store::load(&site.root.path)?.workers.get(&worker.name).cloned() else { continue };
        let kept = removal::nuke(site, &worker, args.force)?;
        commands::print_kept(site, &worker.name, "removed", &kept);
    }
    Ok(Exit::Done)
}

/// Exit 3 unless a person agrees.
fn confirm(site: &Site<'_>, args: &Args, workers: &[Worker]) -> Result<()> {
    if args.yes {
        return Ok(());
    }
    let names = workers.iter().map(|worker| worker.name.as_str()).collect::<Vec<_>>().join(", ");
    let declined = || Failure::new(Exit::Decide, "undecided", format!("nothing was removed: {names}"));
    if !site.ui.can_ask() {
        return Err(declined().hint("a person must decide: run the command on a terminal, or with `--yes`"));
    }
    match site.ui.confirm(&format!("Remove {names}, with their sessions, worktrees and branches?")) {
        true => Ok(()),
        false => Err(declined()),
    }
}
