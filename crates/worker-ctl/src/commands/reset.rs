//! `reset`: takes a worker's task away. Work that exists nowhere else is refused, or kept with `--force`.

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};

use crate::apply::removal;
use crate::commands;
use crate::context::Context;
use crate::failure;
use crate::task_queue::MOST_TRIES;
use crate::worker::Worker;
use crate::worker_notes::Note;

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
    /// Put tasks that are from the queue back to where they were
    #[arg(long)]
    pub requeue: bool,
    /// Do not ask before adopted worktrees are cleaned
    #[arg(long)]
    pub yes: bool,
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
    workers.iter().try_for_each(|worker| {
        removal::refuse_at_work(ctx, worker)?;
        removal::check_losses(ctx, worker, Some(&back_to(ctx, worker)?), args.force).map(drop)
    })?;
    workers.iter().try_for_each(|worker| refuse_pushed(ctx, worker))?;
    if args.requeue {
        workers.iter().try_for_each(refuse_requeue)?;
    }
    let adopted: Vec<&str> =
        workers.iter().filter_map(|worker| worker.adopted.as_ref().map(|_| worker.name.as_str())).collect();
    if !adopted.is_empty() && !ctx.is_dry {
        let names = adopted.join(", ");
        let question = format!("Put the worktrees of {names} back to where their tasks began, without other files?");
        ctx.ui.require_yes(args.yes, &question, format!("nothing was reset: {names}"))?;
    }
    workers.iter().try_for_each(|worker| reset(ctx, &worker.name, args))?;
    Ok(Exit::Done)
}

fn reset(ctx: &Context<'_>, name: &str, args: &Args) -> Result<()> {
    let (worker, _lock) = commands::locked(ctx, name)?;
    let (ctx, base) = (&ctx.of(&worker)?, back_to(ctx, &worker)?);
    if ctx.is_dry {
        let has_earlier = worker.adopted.as_ref().is_some_and(|adopted| adopted.earlier.is_some());
        let then = match has_earlier {
            true => "where what was there before its first task waits for a review".to_owned(),
            false => format!("and make {name} idle"),
        };
        let would = format!("put {} on {base}, {then}", worker.worktree_path);
        ctx.ui.would(&commands::kept_answer(name, &[]), &[would]);
        return Ok(());
    }
    let kept = removal::reset(ctx, &worker, &base, (args.force, args.requeue))?;
    commands::print_kept(ctx, name, "reset", &kept);
    if kept.is_empty() || ctx.ui.is_unheard() {
        return Ok(());
    }
    ctx.update_worker(name, |worker| worker.notes.retain(|note| !matches!(note, Note::Kept(_))))
}

/// The commit that a worker goes back to: in an adopted worktree where its task began, and not where others are.
fn back_to(ctx: &Context<'_>, worker: &Worker) -> Result<String> {
    match &worker.adopted {
        Some(adopted) => Ok(adopted.began.clone()),
        None => ctx.of(worker)?.repo.require_base(),
    }
}

/// Exit 1 if the task of a worker is none of the queue's, or was tried often.
fn refuse_requeue(worker: &Worker) -> Result<()> {
    let why = match &worker.work.queued {
        None => "has no task from the queue".to_owned(),
        Some(task) if task.tries >= MOST_TRIES => {
            format!("has the task {}, which was tried {MOST_TRIES} times", task.id)
        }
        Some(_) => return Ok(()),
    };
    let refused = failure::WRONG_STATE.failure(format!("{} {why}", worker.name));
    Err(refused.hint(format!("take it away: `worker-ctl reset {}`", worker.name)))
}

/// Exit 1 if a reset would take back commits of an adopted worktree that a remote has.
fn refuse_pushed(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    let Some(adopted) = &worker.adopted else { return Ok(()) };
    let repo = &ctx.of(worker)?.repo;
    let branch = format!("refs/heads/{}", worker.branch);
    // Of one that was deleted nothing is taken back.
    if repo.commit(&repo.top, &branch)?.is_none() {
        return Ok(());
    }
    let range = format!("{}..{branch}", adopted.began);
    // What came from the branch that work lands on is not taken back.
    let base = repo.require_base()?;
    let count = |more: &[&str]| repo.ask(&repo.top, &[&["rev-list", "--count", &range, "--not", &base], more].concat());
    if count(&[])? == count(&["--remotes"])? {
        return Ok(());
    }
    Err(failure::PUSHED.failure(format!("commits of {} are on a remote", worker.name)).hint(format!(
        "take them back there and in {} yourself, then run the same command again",
        worker.worktree_path
    )))
}
