//! Work that lands on another worker's branch: that worker is its parent there, may be at work, and is told.

use std::path::Path;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;

use crate::apply::spawn_agent::{self, ParentReport, in_background};
use crate::apply::transition;
use crate::context::{Context, WorkerLock};
use crate::failure;
use crate::plan::machine::Input;
use crate::work_repo::is_rebasing;
use crate::worker::{Activity, Session, Task, Worker};

/// A program whose hooks tell nothing rests after this many seconds without output.
const QUIET_SECS: i64 = 60;

/// How many files an event names.
const MOST_PATHS: usize = 100;

/// The worker whose own branch this one is.
pub fn on_branch(ctx: &Context<'_>, branch: &str) -> Result<Option<Worker>> {
    let is_its = |worker: &Worker| worker.adopted.is_some() && worker.branch == branch;
    Ok(ctx.state()?.workers.into_values().find(is_its))
}

/// Takes the lock of a parent, so that nobody else records what happens on its branch. Exit 1, kind `busy`, while it
/// rebases, or is at work and has not asked for the landing itself.
pub fn lock(ctx: &Context<'_>, parent: &Worker, child: &str, is_forced: bool) -> Result<WorkerLock> {
    let busy = |why: &str| {
        failure::BUSY
            .with(Exit::No, format!("{} {why} {}, on which the work of {child} lands", parent.name, parent.branch))
            .hint(format!("`worker-ctl wait {0}` waits for {0}", parent.name))
    };
    let lock = ctx.try_lock(&parent.name)?.ok_or_else(|| busy("is being looked at, with"))?;
    let parent = ctx.worker(&parent.name)?;
    if is_rebasing(Path::new(&parent.worktree_path)) {
        return Err(busy("rebases"));
    }
    if !is_forced && !is_caller(ctx, &parent) && !rests(ctx, &parent) {
        return Err(busy("works on").hint("or use `--force`"));
    }
    Ok(lock)
}

/// Whether this command runs for the worker. That is the word of the environment, as far as agents keep to it.
fn is_caller(ctx: &Context<'_>, worker: &Worker) -> bool {
    let is = |name: &str, value: &str| ctx.env.var(name).is_some_and(|own| own == value);
    let is_own = is("WORKER_CTL_WORKER", &worker.name) && is("WORKER_CTL_ROOT", &ctx.root.path.to_string_lossy());
    is_own || spawn_agent::id(ctx, worker).is_some_and(|id| is("SHOPFLOOR_AGENT_ID", &id))
}

/// Whether a worker has nothing under way that a change of its branch would disturb.
pub fn rests(ctx: &Context<'_>, worker: &Worker) -> bool {
    match worker.reported.activity {
        _ if worker.program.session != Session::Up || worker.task == Task::Idle => true,
        Activity::Rests | Activity::Fresh => true,
        Activity::Busy | Activity::Asks => false,
        // Without a terminal there is no program.
        Activity::Unknown => ctx
            .tmux()
            .and_then(|tmux| tmux.last_output(worker))
            .is_ok_and(|last| last.is_none_or(|last| ctx.now() - last >= QUIET_SECS)),
    }
}

/// Records that the work of a child has landed on its parent's branch as `new`, and tells the parent.
pub fn child_landed(ctx: &Context<'_>, parent: &Worker, child: &Worker, (old, new): (&str, &str)) -> Result<()> {
    let of_parent = &ctx.of(parent)?;
    let patch = of_parent.repo.work_digest(new)?;
    transition::record(of_parent, &parent.name, &Input::ChildLanded { sha: new.to_owned(), patch })?;
    let listed = ctx.repo.ask(&ctx.repo.top, &["diff", "--name-only", "-z", "--no-renames", old, new])?;
    let paths: Vec<String> = listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    let message = format!("landed on {} as {}", parent.branch, new.get(..12).unwrap_or(new));
    tell(ctx, child, ("success", "child_landed"), message, (&paths, new));
    Ok(())
}

/// Tells the parent that its own changes, or another git there, keep the work of a child from landing.
pub fn child_blocked(ctx: &Context<'_>, child: &Worker, failure: &Failure) {
    if ![failure::NOT_PUBLISHED, failure::BUSY].iter().any(|kind| kind.is_kind_of(failure)) {
        return;
    }
    let paths: Vec<String> = failure.details.iter().map(|line| line.trim().to_owned()).collect();
    let work = child.work.commit_sha.clone().unwrap_or_default();
    tell(ctx, child, ("info", "child_blocked"), failure.to_string(), (&paths, &work));
}

/// Where the branch that an agent's work lands on is gone, as after its parent's work has landed, it lands where that
/// went: on the branch that the parent's own was made from.
pub fn retarget(ctx: &Context<'_>) -> Result<()> {
    let usual = ctx.root.config.text("branch");
    let workers: Vec<Worker> = ctx.state()?.workers.into_values().collect();
    for worker in workers.iter().filter(|worker| worker.target().is_some_and(|target| target != usual)) {
        ctx.warn_on_failure(&worker.name, || {
            let (Some(target), repo) = (worker.target(), &ctx.of(worker)?.repo) else { return Ok(()) };
            let is_there =
                |branch: &str| repo.commit(&repo.top, &format!("refs/heads/{branch}")).map(|sha| sha.is_some());
            if is_there(target)? {
                return Ok(());
            }
            // A subtree's branch has its parent's before the last dot.
            let parents = std::iter::successors(target.rsplit_once('.'), |(above, _)| above.rsplit_once('.'));
            for (above, _) in parents {
                if above != worker.branch && is_there(above)? {
                    return move_target(ctx, &worker.name, (target, above));
                }
            }
            Ok(())
        });
    }
    Ok(())
}

fn move_target(ctx: &Context<'_>, name: &str, (from, to): (&str, &str)) -> Result<()> {
    ctx.update(|state| {
        let adopted = state.workers.get_mut(name).and_then(|worker| worker.adopted.as_mut());
        adopted
            .into_iter()
            .filter(|adopted| adopted.target == from)
            .for_each(|adopted| to.clone_into(&mut adopted.target));
        Ok(())
    })?;
    ctx.ui.note(format!("the branch {from} is gone: the work of {name} lands on {to} from now on"));
    Ok(())
}

fn tell(
    ctx: &Context<'_>,
    child: &Worker,
    (status, kind): (&'static str, &'static str),
    message: String,
    (paths, of): (&[String], &str),
) {
    let paths = &paths[..paths.len().min(MOST_PATHS)];
    // Another reason is told anew.
    let key = format!("{kind}:{of}:{}", Digest::of([&*message, &*paths.join("\0")].join("\0").as_bytes()));
    let report = ParentReport { status, kind: Some(kind), message, paths, key };
    let line = spawn_agent::report(ctx, child, &report);
    line.into_iter().for_each(|line| ctx.warn_on_failure(&child.name, || in_background(ctx, &line, &[])));
}
