//! Gives a task to an idle worker, from a person or from the queue.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use shopfloor_core::error::Result;
use shopfloor_core::git::failed;

use crate::apply::deliver::{deliver, task_text};
use crate::apply::{copied_files, land, rebase, removal, sandbox, session};
use crate::context::Context;
use crate::facts::setup_steps;
use crate::facts::worker_state::Standing;
use crate::failure;
use crate::plan::queue::count_working;
use crate::plan::start::start;
use crate::poll;
use crate::store::State;
use crate::task_queue::MOST_TRIES;
use crate::worker::{Session, Task, Worker};

/// How long a task waits for those before it that are being given to other workers, and how often to look.
const TURN_LIMIT: Duration = Duration::from_secs(10);
const TURN_POLL: Duration = Duration::from_millis(20);

/// Gives a worker the task of the queue with this id, unless it is gone or the worker is busy by now. `is_given` tells
/// which tasks are being given: those before this one leave the queue first, so that tasks begin in its order.
pub fn take(ctx: &Context<'_>, name: &str, id: &str, is_given: &dyn Fn(&str) -> bool) -> Result<()> {
    let Some(_lock) = ctx.try_lock(name)? else { return Ok(()) };
    let state = ctx.state()?;
    let task = state.queue.waiting.iter().find(|task| task.id == id);
    let (Some(worker), Some(task)) = (state.workers.get(name), task) else { return Ok(()) };
    if worker.status() != "idle" || setup_steps::running(ctx, worker)?.is_some() {
        return Ok(());
    }
    let ctx = &ctx.of(worker)?;
    sandbox::take_in(ctx, worker)?;
    let standing = Standing::read(ctx, worker)?;
    let input = start(&standing, &task.prompt, Some(task), (false, ctx.now()))?;
    bring_up_to_date(ctx, &standing)?;
    let is_next = |state: State| {
        let mut before = state.queue.waiting.iter().map(|task| task.id.as_str()).take_while(|other| *other != id);
        !before.any(is_given)
    };
    poll::holds(TURN_LIMIT, TURN_POLL, || ctx.check_ending().is_err() || ctx.state().is_ok_and(is_next));
    ctx.check_ending()?;
    deliver(ctx, worker, &input, &task_text(ctx, worker, &task.prompt))?;
    ctx.ui.note(format!("{name} got the task {id} of the queue"));
    Ok(())
}

/// How many more workers may work at once.
pub fn room(ctx: &Context<'_>, state: &State) -> usize {
    match usize::try_from(ctx.root.config.settings.number("max_working")) {
        Ok(0) | Err(_) => usize::MAX,
        Ok(most) => most.saturating_sub(count_working(state)),
    }
}

/// The agents that get no task without a worker's name, because one of their workers has hit a usage limit.
pub fn held_agents(ctx: &Context<'_>, state: &State) -> BTreeSet<String> {
    // Of one without an end nobody would be told where there is no task to go on with.
    let is_limited = |worker: &&Worker| {
        let limit = worker.program.limit.as_ref().filter(|limit| limit.holds(ctx.now()));
        limit.is_some_and(|limit| limit.until_unix.is_some() || worker.has_open_task())
    };
    let limited = state.workers.values().filter(is_limited).map(|worker| ctx.root.agent_name(worker));
    limited.filter(|_| ctx.root.config.settings.truth("limit_hold")).collect()
}

/// Puts the task of a worker whose program crashed back into the queue, and starts the program anew. A worktree that has
/// anything of its own stays as it is, and so does a task that was tried often.
pub fn put_back(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    let Some(_lock) = ctx.try_lock(&worker.name)? else { return Ok(()) };
    let now = ctx.worker(&worker.name)?;
    if now != *worker || !crashed_with_queued(&now) {
        return Ok(());
    }
    let ctx = &ctx.of(&now)?;
    let base = match &now.adopted {
        Some(adopted) => adopted.began.clone(),
        None => ctx.repo.require_base()?,
    };
    removal::reset(ctx, &now, &base, (false, true))?;
    ctx.ui.note(format!("{}: its task goes back to the queue", now.name));
    session::start(ctx, &ctx.worker(&now.name)?).map(drop)
}

/// Whether a worker's program crashed over a task of the queue that may be tried once more.
pub fn crashed_with_queued(worker: &Worker) -> bool {
    let is_due =
        worker.work.queued.as_ref().is_some_and(|task| task.tries < MOST_TRIES) && worker.task == Task::Working;
    let has_ended = matches!(worker.program.session, Session::Code(_) | Session::Signal(_));
    is_due && has_ended && worker.program.fault.is_some()
}

/// Puts the worktree on the worker's branch, at the default branch's commit.
pub fn bring_up_to_date(ctx: &Context<'_>, standing: &Standing) -> Result<()> {
    let (worker, base) = (&standing.worker, &standing.base);
    // What the decision leaves where it is.
    if standing.stays() {
        return require_branch(worker, standing);
    }
    if worker.adopted.is_some() {
        require_branch(worker, standing)?;
    }
    let tree = Path::new(&worker.worktree_path);
    // From the commit that the decision was about: a later one is somebody's work.
    let from = standing.worktree.head.as_deref().unwrap_or_default();
    rebase::require_nothing_lost(ctx, worker.checkout(), from, base)?;
    if standing.worktree.branch.as_ref() != Some(&worker.branch) {
        // To the same commit, because `checkout` goes on where it cannot write a file.
        let switch = ["checkout", "--quiet", "--no-track", "-B", &worker.branch, from];
        let switched = ctx.repo.cmd(tree)?.args(switch).capture()?;
        if !switched.status.success() {
            return Err(failed("checkout", &switched));
        }
    }
    if worker.adopted.is_some() && !ctx.repo.has(base, from)? {
        // Commits of a person's, whose content has landed as another commit.
        land::keep_original(ctx, &worker.name, from)?;
    }
    if let Some(failure) = rebase::move_worktree(ctx, worker.checkout(), from, base)? {
        return Err(failure);
    }
    copied_files::copy_all(ctx, tree)
}

/// Exit 1 unless the worktree is on the worker's branch, which we do not move.
fn require_branch(worker: &Worker, standing: &Standing) -> Result<()> {
    match standing.worktree.branch.as_ref() == Some(&worker.branch) {
        true => Ok(()),
        false => Err(failure::WRONG_STATE
            .failure(format!("{} is not on {}", worker.worktree_path, worker.branch))
            .hint("check that branch out there, then run the same command again")),
    }
}
