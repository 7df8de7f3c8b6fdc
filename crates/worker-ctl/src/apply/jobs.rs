//! Follows the jobs of Slurm that hold workers' programs, and ends them: without its `srun` a job goes on.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use shopfloor_core::error::{Failure, Result};

use crate::context::Context;
use crate::poll;
use crate::slurm::{self, Job};
use crate::tmux::Tmux;
use crate::worker::Worker;

/// How long a job may wait before its program counts as queued, as in `doctor`.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// How long Slurm may take to note that the program of a job has ended, and that a job was cancelled. A site's epilog runs
/// meanwhile.
const NOTED: Duration = Duration::from_secs(2);
const CANCELLED: Duration = Duration::from_secs(60);

/// How often it is asked meanwhile.
const POLL: Duration = Duration::from_millis(500);

/// How long an answer serves all who ask in this process, and for how long a Slurm that does not answer is left alone, so that
/// it holds up nobody who needs none.
const FRESH: Duration = Duration::from_millis(400);
const AWAY: Duration = Duration::from_secs(30);

/// The last answer, and when that came.
static LAST: Mutex<Option<(Instant, Option<Vec<Job>>)>> = Mutex::new(None);

/// All jobs, if Slurm answers.
pub fn all(ctx: &Context<'_>) -> Option<Vec<Job>> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((when, jobs)) = &*last
        && when.elapsed() < if jobs.is_some() { FRESH } else { AWAY }
    {
        return jobs.clone();
    }
    let jobs = slurm::jobs(ctx.env).ok();
    *last = Some((Instant::now(), jobs.clone()));
    jobs
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
        let reason = match all(ctx) {
            None => Some("Slurm does not answer".to_owned()),
            // At first Slurm has not heard of it.
            Some(jobs) => jobs
                .iter()
                .find(|job| job.name == name)
                .map_or(Some("Submission".to_owned()), |job| job.waits_for().map(str::to_owned)),
        };
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

/// The jobs of these workers that are not over. Without a record, a worker may have one if the root makes any.
fn left(ctx: &Context<'_>, names: &[&str]) -> Result<Vec<Job>> {
    let makes_some = ctx.root.config.runners.values().any(|runner| runner.slurm.is_some());
    let may_have = |name: &&&str| ctx.worker(name).map_or(makes_some, |worker| worker.program.job.is_some());
    let names: Vec<&&str> = names.iter().filter(may_have).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let jobs = slurm::jobs(ctx.env)?;
    let own = names.iter().flat_map(|name| slurm::of_worker(&jobs, &ctx.root.path, name));
    Ok(own.filter(|job| !job.is_over()).cloned().collect())
}

/// Asks the jobs of these workers to end.
pub fn cancel(ctx: &Context<'_>, names: &[&str], is_forced: bool) -> Result<()> {
    slurm::cancel(ctx.env, &left(ctx, names)?.iter().collect::<Vec<_>>(), is_forced)
}

/// Ends the jobs of these workers, and waits until they are over.
pub fn end_all(ctx: &Context<'_>, names: &[&str]) -> Result<()> {
    let jobs = left(ctx, names)?;
    if jobs.is_empty() {
        return Ok(());
    }
    slurm::cancel(ctx.env, &jobs.iter().collect::<Vec<_>>(), true)?;
    let is_over = poll::answer(CANCELLED, POLL, || Ok(left(ctx, names)?.is_empty().then_some(())))?;
    is_over.ok_or_else(|| {
        Failure::failed(format!("the job of {} does not end", names.join(", ")))
            .hint("look with `squeue --me`; its program may still run in the worktree")
    })
}

/// The same for a command that goes on all the same where it `is_forced`.
pub fn end_or_warn(ctx: &Context<'_>, names: &[&str], is_forced: bool) -> Result<()> {
    match end_all(ctx, names) {
        Err(failure) if is_forced => {
            ctx.ui.warn(failure);
            Ok(())
        }
        ended => ended,
    }
}

/// Ends the job of a look into a runner.
pub fn drop_look(ctx: &Context<'_>, name: &str) {
    if let Some(job) = named(ctx, name).filter(|job| !job.is_over()) {
        ctx.warn_on_failure(name, || slurm::cancel(ctx.env, &[&job], true));
    }
}
