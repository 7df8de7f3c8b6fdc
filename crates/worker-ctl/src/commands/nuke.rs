//! `nuke`: removes the workers that are named. Work that exists nowhere else is refused, or kept with `--force`.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::pre_remove;
use shopfloor_core::proc::processes;

use crate::apply::{removal, trash};
use crate::commands;
use crate::context::Context;
use crate::plan::removal::{describe_forget, describe_nuke};
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
    /// Remove the worktrees and branches of adopted workers, too; else they stay
    #[arg(long)]
    pub worktree: bool,
    /// Also end what others have running in the worktrees that go
    #[arg(long)]
    pub reap: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    commands::recover(ctx)?;
    let state = ctx.state()?;
    // What a removal whose line was cut has kept, the next one tells.
    let gone = args.workers.iter().filter(|name| args.force && !state.workers.contains_key(*name));
    let kept = gone.flat_map(|name| trash::kept_of(ctx, name, 0).unwrap_or_default());
    let workers = commands::choose(&state, &args.workers, args.all)
        .map_err(|failure| failure.details(kept.map(|place| format!("  kept {place}"))))?;
    if workers.is_empty() {
        ctx.ui.nothing_to_do();
        return Ok(Exit::Done);
    }
    commands::renew_base(ctx);
    // Check all workers before removing the first one.
    let check = |worker: &Worker| match removal::stays(worker, args.worktree) {
        true => check_forget(ctx, worker, args.force),
        false => {
            if !args.force && !args.reap {
                removal::refuse_at_work(ctx, worker)?;
            }
            Ok(describe_nuke(worker, &removal::check_losses(ctx, worker, None, args.force)?))
        }
    };
    let plan = workers.iter().map(check).collect::<Result<Vec<String>>>()?;
    if ctx.is_dry {
        for (worker, line) in workers.iter().zip(plan) {
            if !removal::stays(worker, args.worktree) {
                let asked = trash::run_pre_remove(ctx, worker, pre_remove::TOOLS, args.force)?;
                asked.require(worker.tree(), args.force)?;
                asked.notes.iter().for_each(|note| ctx.ui.note(note));
            }
            ctx.ui.would(&commands::kept_answer(&worker.name, &[]), &[line]);
        }
        return Ok(Exit::Done);
    }
    let names = workers.iter().map(|worker| worker.name.as_str()).collect::<Vec<_>>().join(", ");
    let question = match workers.iter().all(|worker| removal::stays(worker, args.worktree)) {
        true => format!("Forget {names}, and end their sessions? Their worktrees and branches stay."),
        false if workers.iter().any(|worker| removal::stays(worker, args.worktree)) => {
            format!("Remove {names}, with their sessions, and the worktrees and branches of those in the clone?")
        }
        false => format!("Remove {names}, with their sessions, worktrees and branches?"),
    };
    let going = workers.iter().filter(|worker| args.reap && !removal::stays(worker, args.worktree));
    let working: Vec<String> = going.flat_map(|worker| processes::named_in(ctx.env, worker.tree())).collect();
    let question = match working.is_empty() {
        true => question,
        false => format!("{question} This also ends {}.", working.join(", ")),
    };
    ctx.ui.require_yes(args.yes, &question, format!("nothing was removed: {names}"))?;
    removal::nuke_each(ctx, &workers, (args.force, args.worktree, args.reap), &|_| Ok(()), &|worker, kept| {
        commands::print_kept(ctx, &worker.name, "removed", kept);
    })?;
    Ok(Exit::Done)
}

/// What it means to forget an adopted worker. Exit 1 if that would lose work.
fn check_forget(ctx: &Context<'_>, worker: &Worker, is_forced: bool) -> Result<String> {
    let (losses, repo) = (removal::check_pinned(ctx, worker, is_forced)?, ctx.of(worker)?.repo);
    let is_there = repo.common.is_dir() && repo.commit(&repo.top, &format!("refs/heads/{}", worker.branch))?.is_some();
    let tree = worker.tree().is_dir().then_some(&*worker.worktree_path);
    let stay: Vec<&str> = tree.into_iter().chain(is_there.then_some(&*worker.branch)).collect();
    Ok(describe_forget(worker, &stay, &losses))
}
