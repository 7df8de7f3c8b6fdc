//! `nuke`: removes workers. Work that exists nowhere else is refused, or kept with `--force`.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hook_command::DryRun;

use crate::apply::removal;
use crate::commands;
use crate::plan::removal::describe_nuke;
use crate::site::Site;
use crate::store;
use crate::worker::Worker;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker
    pub worker: Option<String>,
    /// Remove all workers
    #[arg(long)]
    pub all: bool,
    /// Remove a worker even if it has unmerged work, and keep that work under refs/shopfloor/trash/
    #[arg(long)]
    pub force: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub dry: DryRun,
}

pub fn run(site: &Site<'_>, args: &Args) -> Result<Exit> {
    commands::recover(site)?;
    let state = store::load(&site.root.path)?;
    let workers: Vec<Worker> = match (&args.worker, args.all) {
        (Some(name), false) => vec![state.require(name)?.clone()],
        (None, true) => state.workers.values().cloned().collect(),
        _ => return Err(Failure::usage("name a worker, or use `--all`").hint("`worker-ctl status` lists them")),
    };
    commands::renew_base(site);
    // Check all workers before removing the first one.
    let check = |worker: &Worker| Ok(describe_nuke(worker, &removal::check_losses(site, worker, args.force)?));
    let plan = workers.iter().map(check).collect::<Result<Vec<String>>>()?;
    if site.is_dry {
        plan.iter().for_each(|line| commands::show(site.ui, line));
        return Ok(Exit::Done);
    }
    confirm(site, args, &workers)?;
    for worker in &workers {
        let _lock = site.lock(&worker.name)?;
        let Some(worker) = store::load(&site.root.path)?.workers.get(&worker.name).cloned() else { continue };
        let kept = removal::nuke(site, &worker, args.force)?;
        site.ui.note(format!("removed {}", worker.name));
        commands::print_kept(site, &worker.name, &kept);
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
