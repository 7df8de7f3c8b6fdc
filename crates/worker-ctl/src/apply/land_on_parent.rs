//! Work that lands on another worker's branch: that worker is its parent there, may be at work, and is told.

use std::collections::BTreeMap;
use std::path::Path;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::{Git, ListedWorktree};
use shopfloor_core::hash::Digest;

use crate::apply::transition;
use crate::apply::worktree_spawn::{self, ParentReport};
use crate::context::Context;
use crate::facts::processes;
use crate::failure;
use crate::plan::machine::Input;
use crate::work_repo::{common_dir, is_rebasing};
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

/// Exit 1, kind `busy`, while a parent rebases, or is at work and has not asked for the landing itself. The caller holds its
/// lock.
pub fn require_rest(ctx: &Context<'_>, parent: &str, child: &str, is_forced: bool) -> Result<()> {
    let parent = ctx.worker(parent)?;
    let busy = |why: &str| {
        failure::BUSY
            .with(Exit::No, format!("{} {why} {}, on which the work of {child} lands", parent.name, parent.branch))
            .hint(format!("`worker-ctl wait {0}` waits for {0}", parent.name))
    };
    if is_rebasing(parent.tree()) {
        return Err(busy("rebases"));
    }
    if is_forced || is_caller(ctx, &parent) || rests(ctx, &parent) {
        return Ok(());
    }
    let busy = busy("works on").hint("or use `--force`");
    Err(match parent.activity() {
        Activity::Unknown => busy.hint(format!(
            "its program does not tell what it does, so it counts as at work until it has printed nothing for {QUIET_SECS} s"
        )),
        _ => busy,
    })
}

/// The same where the parent is an agent that is no worker.
pub fn require_no_other(ctx: &Context<'_>, child: &str, is_forced: bool) -> Result<()> {
    match other_at_work(ctx)?.filter(|_| !is_forced) {
        None => Ok(()),
        Some(who) => Err(failure::BUSY
            .with(Exit::No, format!("{who} works on {}, on which the work of {child} lands", ctx.repo.branch))
            .hint("wait until it rests, or use `--force`")),
    }
}

/// The agent program, no worker's, that is at work in the linked worktree of the branch on which work lands, and that has not
/// asked for it itself. A program in no terminal is at work until it ends.
pub fn other_at_work(ctx: &Context<'_>) -> Result<Option<String>> {
    if !ctx.repo.is_own || ctx.repo.branch == ctx.clone.branch {
        return Ok(None);
    }
    let listed = ctx.repo.git.list_worktrees(&ctx.repo.common)?;
    let Some(tree) = listed.iter().skip(1).find(|tree| tree.branch.as_ref() == Some(&ctx.repo.branch)) else {
        return Ok(None);
    };
    let is_here = |dir: &Path| is_inside(&listed, &tree.path, dir);
    let is_at_work = |pid: i32| processes::last_output(pid).is_none_or(|last| ctx.now() - last < QUIET_SECS);
    let others = processes::others_in(&tree.path, &ctx.root.path, "", &ctx.root.commands());
    let is_caller = is_here(&ctx.env.cwd);
    let works = |pid: i32| is_at_work(pid) && processes::directory(pid).is_some_and(|dir| is_here(&dir));
    let found = others.into_iter().find(|(pid, _)| !is_caller && works(*pid));
    Ok(found.map(|(_, program)| format!("{program} in {}", tree.path.display())))
}

/// Whether a directory is in this worktree, and not in another one inside of it.
fn is_inside(listed: &[ListedWorktree], tree: &Path, dir: &Path) -> bool {
    let mut around = listed.iter().filter(|other| dir.starts_with(&other.path));
    dir.starts_with(tree) && around.all(|around| tree.starts_with(&around.path))
}

/// The agent for which this command runs, unless the branch is its own.
pub fn other_agent(ctx: &Context<'_>, branch: &str) -> Result<Option<String>> {
    let named = |name: &&str| Some(ctx.env.var(name)?.to_string_lossy().into_owned());
    let Some(agent) = ["WORKER_CTL_WORKER", "SHOPFLOOR_AGENT_ID"].iter().find_map(named) else { return Ok(None) };
    Ok((!is_owner(ctx, branch)?).then_some(agent))
}

/// Whether this command runs for the agent whose own branch this one is: a worker, or one in whose linked worktree it runs.
fn is_owner(ctx: &Context<'_>, branch: &str) -> Result<bool> {
    if let Some(worker) = on_branch(ctx, branch)? {
        return Ok(is_caller(ctx, &worker));
    }
    if branch == ctx.clone.branch {
        return Ok(false);
    }
    let listed = Git::find(ctx.env)?.list_worktrees(&common_dir(&ctx.source()))?;
    let mut trees = listed.iter().skip(1).filter(|tree| tree.branch.as_deref() == Some(branch));
    Ok(trees.any(|tree| is_inside(&listed, &tree.path, &ctx.env.cwd)))
}

/// Whether this command runs for the worker. That is the word of the environment, as far as agents keep to it.
fn is_caller(ctx: &Context<'_>, worker: &Worker) -> bool {
    let is = |name: &str, value: &str| ctx.env.var(name).is_some_and(|own| own == value);
    let is_own = is("WORKER_CTL_WORKER", &worker.name) && is("WORKER_CTL_ROOT", &ctx.root.path.to_string_lossy());
    is_own || worktree_spawn::id(ctx, worker).is_some_and(|id| is("SHOPFLOOR_AGENT_ID", &id))
}

/// Whether a worker has nothing under way that a change of its branch would disturb.
pub fn rests(ctx: &Context<'_>, worker: &Worker) -> bool {
    match worker.activity() {
        _ if worker.program.session != Session::Up || worker.task == Task::Idle => true,
        Activity::Rests | Activity::Fresh => true,
        Activity::Busy | Activity::Asks | Activity::Limited => false,
        // Without a terminal there is no program.
        Activity::Unknown => ctx
            .tmux()
            .and_then(|tmux| tmux.last_output(worker))
            .is_ok_and(|last| last.is_none_or(|last| ctx.now() - last >= QUIET_SECS)),
    }
}

/// Tells the parent of a worker's agent that the work has landed, where `old` was before, as `new`. A parent that is a
/// worker, whose lock the caller holds, has it in its record.
pub fn landed(ctx: &Context<'_>, child: &Worker, (old, new): (&str, &str)) -> Result<()> {
    let branch = &ctx.repo.branch;
    if old == new || *branch == ctx.clone.branch {
        tell(ctx, child, ("success", None), format!("landed on {branch}"), (&[], new));
        return Ok(());
    }
    if let Some(parent) = on_branch(ctx, branch)? {
        let of_parent = &ctx.of(&parent)?;
        let patch = of_parent.repo.work_digest(new)?;
        transition::record(of_parent, &parent.name, &Input::ChildLanded { sha: new.to_owned(), patch })?;
    }
    let listed = ctx.repo.ask(&ctx.repo.top, &["diff", "--name-only", "-z", "--no-renames", old, new])?;
    let paths: Vec<String> = listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    let message = format!("landed on {branch} as {}", new.get(..12).unwrap_or(new));
    tell(ctx, child, ("success", Some("child_landed")), message, (&paths, new));
    Ok(())
}

/// Tells the parent that its own changes, or another git there, keep the work of a child from landing. What a parent that is
/// a worker does is no reason to try again at once: exit 1.
pub fn child_blocked(ctx: &Context<'_>, child: &Worker, mut failure: Failure) -> Failure {
    let is_parents = ctx.repo.branch != ctx.clone.branch;
    if is_parents && [failure::NOT_PUBLISHED, failure::BUSY].iter().any(|kind| kind.is_kind_of(&failure)) {
        if on_branch(ctx, &ctx.repo.branch).is_ok_and(|parent| parent.is_some()) {
            failure.exit = Exit::No;
        }
        let paths: Vec<String> = failure.details.iter().map(|line| line.trim().to_owned()).collect();
        let work = child.work.commit_sha.clone().unwrap_or_default();
        tell(ctx, child, ("info", Some("child_blocked")), failure.to_string(), (&paths, &work));
    }
    failure
}

/// Where the branch that an agent's work lands on is gone, as after its parent's work has landed, it lands where the
/// parent's own work does.
pub fn retarget(ctx: &Context<'_>) -> Result<()> {
    let workers = ctx.state()?.workers;
    for worker in workers.values() {
        ctx.warn_on_failure(&worker.name, || {
            let (Some(from), Some(to)) = (worker.target(), next_target(ctx, &workers, worker)?) else { return Ok(()) };
            let Some(_lock) = ctx.try_lock(&worker.name)? else { return Ok(()) };
            ctx.update_worker(&worker.name, |worker| {
                if worker.target() == Some(from) {
                    worker.set_target(to);
                }
            })?;
            ctx.ui.note(format!("the branch {from} is gone: the work of {} lands on {to} from now on", worker.name));
            Ok(())
        });
    }
    Ok(())
}

/// A worker's record with the branch on which its work lands now, for what only looks.
pub fn retargeted(ctx: &Context<'_>, mut worker: Worker) -> Result<Worker> {
    let to = next_target(ctx, &ctx.state()?.workers, &worker)?.map(str::to_owned);
    to.iter().for_each(|to| worker.set_target(to));
    Ok(worker)
}

/// The branch on which a worker's work lands instead of one that is gone. Only a parent that is or was a worker tells it.
fn next_target<'w>(
    ctx: &Context<'_>,
    workers: &'w BTreeMap<String, Worker>,
    worker: &'w Worker,
) -> Result<Option<&'w str>> {
    let usual = &*ctx.clone.branch;
    let Some(from) = worker.target().filter(|target| *target != usual) else { return Ok(None) };
    let repo = &ctx.of(worker)?.repo;
    let is_gone = |branch: &str| repo.commit(&repo.top, &format!("refs/heads/{branch}")).map(|sha| sha.is_none());
    let mut to = from;
    for _ in 0..workers.len() {
        let is_parent = |parent: &&Worker| parent.name != worker.name && parent.branch == to;
        let after = worker.adopted.as_ref().and_then(|adopted| adopted.after_target.as_deref());
        let parents = workers.values().find(is_parent).and_then(Worker::target);
        match parents.or(after.filter(|_| to == from)) {
            Some(next) if is_gone(to)? => to = next,
            _ => break,
        }
    }
    Ok(if to == from || to == worker.branch || is_gone(to)? { None } else { Some(to) })
}

fn tell(
    ctx: &Context<'_>,
    child: &Worker,
    (status, kind): (&'static str, Option<&'static str>),
    message: String,
    (paths, of): (&[String], &str),
) {
    let paths = &paths[..paths.len().min(MOST_PATHS)];
    // Another reason is told anew.
    let key = format!(
        "{}:{of}:{}",
        kind.unwrap_or(status),
        Digest::of([&*message, &*paths.join("\0")].join("\0").as_bytes())
    );
    worktree_spawn::tell_parent(ctx, child, &ParentReport { status, kind, message, paths, key });
}
