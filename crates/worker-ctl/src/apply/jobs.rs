//! Follows the jobs of Slurm that hold workers' programs, and ends them: without its `srun` a job goes on.

use std::time::Duration;

use shopfloor_core::error::{Failure, Result};

use crate::context::Context;
use crate::poll;
use crate::slurm::{self, Job};
use crate::tmux::Tmux;
use crate::worker::Worker;

/// How long a job may wait before its program counts as queued, as in `doctor`.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How long Slurm may take to note that the program of a job has ended, and that a job was cancelled.
const NOTED: Duration = Duration::from_secs(2);
const CANCELLED: Duration = Duration::from_secs(10);

/// How often it is asked meanwhile.
const POLL: Duration = Duration::from_millis(250);

/// All jobs, if a runner of the root makes some and Slurm answers.
pub fn all(ctx: &Context<'_>) -> Option<Vec<Job>> {
    are_any(ctx).then(|| slurm::jobs(ctx.env).ok()).flatten()
}

fn are_any(ctx: &Context<'_>) -> bool {
    ctx.root.config.runners.values().any(|runner| runner.slurm.is_some())
}

fn named(ctx: &Context<'_>, name: &str) -> Option<Job> {
    all(ctx)?.into_iter().find(|job| job.name == name)
}

/// What the job of a worker's program waits for, if these are the jobs.
pub fn waits_for(worker: &Worker, jobs: &[Job]) -> Option<String> {
    let name = worker.program.job.as_ref()?;
    jobs.iter().find(|job| job.name == *name)?.waits_for().map(str::to_owned)
}

/// Waits until a job runs or is over. Returns what it waits for if that takes longer than `limit`.
pub fn wait_to_run(ctx: &Context<'_>, tmux: &Tmux, worker: &Worker, name: &str, limit: Duration) -> Option<String> {
    let mut waits = None;
    poll::holds(limit, POLL, || {
        let is_alive = tmux.pane_of(worker).is_ok_and(|pane| pane.is_some_and(|pane| pane.end.is_none()));
        // At first Slurm has not heard of it.
        let reason = named(ctx, name).map_or(Some("Submission".to_owned()), |job| job.waits_for().map(str::to_owned));
        waits = reason.filter(|_| is_alive);
        ctx.check_ending().is_err() || waits.is_none()
    });
    waits
}

/// Why a worker's job has ended, where the exit code of its program does not tell.
pub fn end(ctx: &Context<'_>, worker: &Worker) -> Option<&'static str> {
    let name = worker.program.job.as_ref()?;
    let mut last = None;
    poll::holds(NOTED, POLL, || {
        last = named(ctx, name);
        last.as_ref().is_none_or(Job::is_over)
    });
    last?.end()
}

/// Asks the jobs of these workers to end. Returns whether there are any. Without a record, a worker may have one.
pub fn cancel(ctx: &Context<'_>, names: &[&str], is_forced: bool) -> Result<bool> {
    let may_have = |name: &&&str| ctx.worker(name).map_or(true, |worker| worker.program.job.is_some());
    let names: Vec<&&str> = names.iter().filter(may_have).collect();
    if names.is_empty() || !are_any(ctx) {
        return Ok(false);
    }
    let jobs = slurm::jobs(ctx.env)?;
    let own = names.iter().flat_map(|name| slurm::of_worker(&jobs, &ctx.root.path, name));
    let left: Vec<&Job> = own.filter(|job| !job.is_over()).collect();
    slurm::cancel(ctx.env, &left, is_forced)?;
    Ok(!left.is_empty())
}

/// Ends the jobs of these workers, and waits until they are over.
pub fn end_all(ctx: &Context<'_>, names: &[&str]) -> Result<()> {
    let is_over = poll::answer(CANCELLED, POLL, || Ok((!cancel(ctx, names, true)?).then_some(())))?;
    is_over.ok_or_else(|| {
        Failure::failed(format!("the job of {} does not end", names.join(", ")))
            .hint("look with `squeue --me`; its program may still run in the worktree")
    })
}

/// Ends the job of a look into a runner.
pub fn drop_look(ctx: &Context<'_>, name: &str) {
    if let Some(job) = named(ctx, name).filter(|job| !job.is_over()) {
        ctx.warn_on_failure(name, || slurm::cancel(ctx.env, &[&job], true));
    }
}
