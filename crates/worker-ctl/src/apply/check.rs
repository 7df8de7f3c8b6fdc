//! Runs `[repo] check` on a worker's work. It runs the worker's code, so it runs in a sandbox as the worker does, or where a
//! person has said that this code may have the person's rights.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use shopfloor_core::board::Need;
use shopfloor_core::child_env;
use shopfloor_core::config::Line;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::{self, Status};
use shopfloor_core::sandbox::Sandbox;
use shopfloor_core::text::printable;
use shopfloor_core::time::{Unit, render};

use crate::apply::deliver::deliver;
use crate::apply::{clone_hooks, copied_files, sandbox, transition};
use crate::attention;
use crate::check_record::CheckRecord;
use crate::context::Context;
use crate::facts::worker_state::Standing;
use crate::failure;
use crate::layout;
use crate::plan::check::{CheckStep, keeps_person_away, next, record};
use crate::plan::machine::Input;
use crate::plan::prompt;
use crate::plan::require_clean;
use crate::up_lock;
use crate::work_repo::MergeResult;
use crate::worker::{Task, Worker};

/// How much a check may write.
const MOST_OUTPUT: usize = 64 << 20;

/// How many lines of a failed check its worker is told.
const TOLD_LINES: usize = 60;

/// The branch of the worktree in which the result of a merge is checked.
const BRANCH: &str = "worker-ctl-check";

/// How long a worktree must not have changed before a void check is run once more.
const QUIET: i64 = 2;

/// The command that checks work, if there is one.
pub fn command(ctx: &Context<'_>) -> Option<Line> {
    ctx.root.config.command("check")
}

/// How often a worker is told of a failure in a task.
pub fn tries(ctx: &Context<'_>) -> u64 {
    ctx.root.config.settings.number("check_tries")
}

/// Whether a worker's work is being checked.
pub fn is_running(ctx: &Context<'_>, worker: &Worker) -> bool {
    command(ctx).is_some() && Lock::is_held(&layout::check_lock(&ctx.root.path, &worker.name)).unwrap_or(false)
}

/// Exit 2 if a worker's code would run with the person's rights, and no person has said that it may.
pub fn require_runner(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    if sandbox::is_wanted(ctx, worker) || ctx.root.config.settings.truth("check_on_host") {
        return Ok(());
    }
    Err(Failure::malformed(format!("the check would run the code of {} with your rights", worker.name))
        .hint("run the worker in a sandbox (`runner = \"sandbox\"`), or allow it: `check_on_host = true` in [repo]"))
}

/// Whether an `up` has something to do about a worker's check.
pub fn is_due(ctx: &Context<'_>, worker: &Worker) -> bool {
    let step = command(ctx).and_then(|_| next(worker, tries(ctx)));
    // A void check is repeated when the worktree has come to rest.
    let rests = worker.work.checks_void == 0 || ctx.now() - worker.last_activity_unix >= QUIET;
    step.is_some_and(|step| step == CheckStep::Tell || rests && require_runner(ctx, worker).is_ok())
}

/// What a worker needs a person for now. Work that a running `up` has still to check, or that its worker mends, is none to
/// review yet.
pub fn need_now(ctx: &Context<'_>, worker: &Worker) -> Option<Need> {
    attention::need_now(ctx, worker).filter(|need| *need != Need::Review || !is_for_nobody_yet(ctx, worker))
}

/// See [`need_now`].
pub fn is_for_nobody_yet(ctx: &Context<'_>, worker: &Worker) -> bool {
    command(ctx).is_some()
        && keeps_person_away(worker, tries(ctx))
        && require_runner(ctx, worker).is_ok()
        && up_lock::is_running(&ctx.root.path).unwrap_or(false)
}

/// Does what an `up` has to do about a worker's check.
pub fn look_after(ctx: &Context<'_>, name: &str) -> Result<()> {
    let mut worker = ctx.worker(name)?;
    if next(&worker, tries(ctx)) == Some(CheckStep::Run) {
        match run(ctx, &worker) {
            // Its work has changed, or has gone on, or somebody else checks it.
            Err(failure) if failure::DIRTY.is_kind_of(&failure) || failure::CHECKING.is_kind_of(&failure) => {
                return Ok(());
            }
            done => done.map(drop)?,
        }
        worker = ctx.worker(name)?;
    }
    if next(&worker, tries(ctx)) == Some(CheckStep::Tell) {
        let Some(_lock) = ctx.try_lock(name)? else { return Ok(()) };
        let text = prompt::failed_check(&told_lines(ctx, name), &layout::check_log(&ctx.root.path, name));
        deliver(ctx, &ctx.worker(name)?, &Input::Message { force: false }, &text)?;
        ctx.update_worker(name, |worker| worker.work.check.iter_mut().for_each(|check| check.told = true))?;
    }
    Ok(())
}

/// The end of the last check's output.
fn told_lines(ctx: &Context<'_>, name: &str) -> String {
    let log = fs::read_own(&layout::check_log(&ctx.root.path, name)).ok().flatten().unwrap_or_default();
    let log = String::from_utf8_lossy(&log).into_owned();
    let lines: Vec<String> = log.lines().map(printable).collect();
    lines[lines.len().saturating_sub(TOLD_LINES)..].join("\n")
}

/// Checks a worker's work that waits for a review, and records the result. Exit 1 if it cannot be checked now: there is
/// none, it has changes beside the commit, it conflicts, or somebody checks it already.
pub fn run(ctx: &Context<'_>, worker: &Worker) -> Result<CheckRecord> {
    let ctx = &ctx.of(worker)?;
    require_runner(ctx, worker)?;
    let standing = Standing::read(ctx, worker)?;
    let sha = worker.work.commit_sha.clone().filter(|_| worker.task == Task::NeedsReview);
    let sha = sha.ok_or_else(|| failure::WRONG_STATE.failure(format!("{} has no work to check", worker.name)))?;
    require_clean(worker, &standing.worktree.dirty, &standing.worktree.always_dirty)?;
    let tree = match (ctx.root.config.text("check_in"), standing.work.as_ref().map(|work| &work.merge)) {
        ("merge", Some(MergeResult::Tree(tree))) => tree.clone(),
        ("merge", Some(MergeResult::Conflict)) => {
            return Err(failure::CONFLICT
                .failure(format!("the work of {} conflicts with {}", worker.name, ctx.repo.branch))
                .hint(format!("`worker-ctl rebase {}` asks it to resolve that", worker.name)));
        }
        _ => tree_of(ctx, &sha)?,
    };
    check_tree(ctx, worker, &sha, &tree)
}

fn tree_of(ctx: &Context<'_>, sha: &str) -> Result<String> {
    ctx.repo.ask(&ctx.repo.top, &["rev-parse", "--verify", &format!("{sha}^{{tree}}")])
}

/// Checks this tree, unless that was done. `sha` is the commit of the worker's that it is about.
pub fn check_tree(ctx: &Context<'_>, worker: &Worker, sha: &str, tree: &str) -> Result<CheckRecord> {
    let name = &worker.name;
    let _lock = Lock::try_take(&layout::check_lock(&ctx.root.path, name))?.ok_or_else(|| {
        failure::CHECKING
            .failure(format!("the work of {name} is being checked"))
            .hint("wait for the result: `worker-ctl status` shows it")
    })?;
    // A rebase may give another commit the same tree.
    let known = worker.work.check.as_ref().filter(|check| check.tree == tree && (check.ok || record(worker).is_some()));
    if let Some(known) = known {
        let same = CheckRecord { sha: sha.to_owned(), ..known.clone() };
        ctx.update_worker(name, |now| now.work.check = Some(same.clone()))?;
        return Ok(same);
    }
    let is_contained = sandbox::is_wanted(ctx, worker);
    let has_tree = tree_of(ctx, sha)? == tree;
    let started = Instant::now();
    let (status, is_void) = if has_tree && !is_contained {
        let status = execute(ctx, worker, worker.tree(), None)?;
        let is_same =
            ctx.repo.head(worker.tree())?.1.as_deref() == Some(sha) && ctx.repo.dirty(worker.tree())?.is_empty();
        (status, !is_same)
    } else {
        let _lock = ctx.lock_root(layout::RootLock::Check)?;
        let (place, sandbox) = prepare(ctx, worker, sha, tree, is_contained)?;
        (execute(ctx, worker, &place, sandbox.as_ref())?, false)
    };
    if is_void {
        transition::record(ctx, name, &Input::CheckVoid)?;
        return Err(failure::DIRTY
            .failure(format!("{} changed while it was checked", worker.worktree_path))
            .hint("the check must not write files that git sees, and the worker must rest"));
    }
    let (secs, at) = (started.elapsed().as_secs(), render(ctx.env.later().now));
    let ok = status.is_some_and(Status::success);
    let checked = CheckRecord { sha: sha.to_owned(), tree: tree.to_owned(), ok, secs, at, told: false };
    transition::record(ctx, name, &Input::Checked(checked.clone()))?;
    Ok(checked)
}

/// Runs the command in a place. Its output becomes the log of the worker's check. None: it took too long or wrote too much.
fn execute(ctx: &Context<'_>, worker: &Worker, place: &Path, sandbox: Option<&Sandbox>) -> Result<Option<Status>> {
    let line = command(ctx).map(|line| line.shell()).unwrap_or_default();
    // Whoever kills the process above the command kills the shell.
    let line = format!("{{\n{line}\n}} 2>&1; exit $?");
    let limit = ctx.root.config.settings.duration("check_timeout", Unit::Seconds).max(Duration::from_secs(1));
    let cmd = match sandbox {
        Some(sandbox) => sandbox.command(&["/bin/sh", "-c", &line], true)?,
        None => {
            let all = ctx.repo.git.list_worktrees(&ctx.repo.top).unwrap_or_default();
            let all: Vec<PathBuf> = all.into_iter().map(|listed| listed.path).collect();
            let env = child_env::for_worktree(ctx.env, place, &all);
            proc::shell(&env, "sh -c \"$CHECK\"; exit $?")?.dir(place).var("CHECK", line)
        }
    };
    let (writer, reader) = fs::scratch(&ctx.root.path.join("locks"))?;
    let shown = reader.try_clone().map_err(|e| Failure::failed("cannot read a check's output").because(e))?;
    let ended = cmd.ending_group().capture_within((writer, reader), limit, MOST_OUTPUT)?;
    let mut output = fs::read_tail(&shown, MOST_OUTPUT as u64).unwrap_or_default();
    if ended.is_none() {
        let why = format!("\nworker-ctl: the check took longer than {} s or wrote more than 64 MB\n", limit.as_secs());
        output.extend(why.into_bytes());
    }
    fs::replace(&layout::check_log(&ctx.root.path, &worker.name), &output, Some(fs::PRIVATE))?;
    Ok(ended.map(|output| output.status))
}

/// Puts the tree into the worktree that is kept for this, and makes a sandbox for it.
fn prepare(
    ctx: &Context<'_>,
    worker: &Worker,
    sha: &str,
    tree: &str,
    is_contained: bool,
) -> Result<(PathBuf, Option<Sandbox>)> {
    let place = layout::check_worktree(&ctx.root.path, ctx.repo.is_own);
    let branch = format!("refs/heads/{BRANCH}");
    if !ctx.repo.trees()?.contains_key(&place) || !place.is_dir() {
        ctx.repo.remove_worktree(&place)?;
        if let Some(old) = ctx.repo.commit(&ctx.repo.top, &branch)? {
            ctx.repo.update_ref(&["-d", &branch, &old])?;
        }
        ctx.repo.add_worktree(&place, BRANCH, Some(sha))?;
        match ctx.repo.is_own {
            true => ctx.repo.fill_worktree(&place, None, &[])?.into_iter().for_each(|warning| ctx.ui.warn(warning)),
            false => clone_hooks::fill_worktree(ctx, &place)?,
        }
    }
    let in_place = Sandbox::of(ctx.env, &ctx.repo.common, &place, ctx.root.config.sandbox.clone())?;
    in_place.remove()?;
    let commit = ctx.repo.ask(&ctx.repo.top, &["commit-tree", "-p", sha, "-m", "check", tree])?;
    ctx.repo.ask(&place, &["reset", "--quiet", "--hard", &commit])?;
    ctx.repo.ask(&place, &["clean", "--quiet", "-ffd"])?;
    if !ctx.repo.is_own {
        copied_files::copy_all(ctx, &place)?;
    }
    if !is_contained {
        return Ok((place, None));
    }
    shopfloor_core::sandbox::require_available(ctx.env)?;
    in_place.make(worker.target().map(|target| (target.to_owned(), sha.to_owned())))?;
    Ok((place, Some(in_place)))
}

/// Exit 1 unless this tree, as which work of a worker's is to land, was checked and is good. What nobody has checked is
/// checked now.
pub fn require_green(ctx: &Context<'_>, worker: &Worker, sha: &str, tree: &str) -> Result<()> {
    if command(ctx).is_none() {
        return Ok(());
    }
    let known = worker.work.check.as_ref().filter(|check| check.tree == tree).cloned();
    let checked = match known {
        Some(known) => known,
        None => {
            require_runner(ctx, worker)?;
            ctx.ui.note(format!("checking the work of {}", worker.name));
            check_tree(ctx, worker, sha, tree)?
        }
    };
    if checked.ok { Ok(()) } else { Err(refuse_red(ctx, &worker.name)) }
}

/// Exit 1: the check failed.
pub fn refuse_red(ctx: &Context<'_>, name: &str) -> Failure {
    let log = layout::check_log(&ctx.root.path, name);
    failure::CHECK_FAILED.failure(format!("the check of the work of {name} failed")).hint(format!(
        "its output is in {}; `worker-ctl accept {name} --no-check` lands the work all the same",
        log.display()
    ))
}
