//! Runs `[repo] check` on a worker's work. It runs the worker's code, so it runs in a sandbox as the worker does, or where a
//! person has said that this code may have the person's rights.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use shopfloor_core::board::Need;
use shopfloor_core::child_env;
use shopfloor_core::config::Line;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::recorded_dir;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::{self, Status};
use shopfloor_core::sandbox::Sandbox;
use shopfloor_core::text::printable;
use shopfloor_core::time::{Unit, render};

use crate::apply::deliver::deliver;
use crate::apply::{clone_hooks, copied_files, sandbox, transition, trash};
use crate::attention;
use crate::check_record::CheckRecord;
use crate::context::Context;
use crate::facts::worker_state::{Standing, dirty};
use crate::failure;
use crate::layout;
use crate::plan::check::{CheckStep, keeps_person_away, next, record};
use crate::plan::machine::Input;
use crate::plan::prompt;
use crate::plan::require_clean;
use crate::root::WorkerRoot;
use crate::work_repo::{MergeResult, common_dir};
use crate::worker::{Session, Task, Worker};

/// How much a check may write.
const MOST_OUTPUT: usize = 64 << 20;

/// How many lines of a failed check its worker is told.
const TOLD_LINES: usize = 60;

/// And how many bytes of it, and of each line.
const TOLD_BYTES: usize = 8_000;
const TOLD_OF_LINE: usize = 500;

/// The branch on which contained work is checked.
const BRANCH: &str = "check";

/// Who was told of a failure and shows no sign for so many seconds does not mend it.
const MENDS: i64 = 60;

/// How long a worktree must not have changed before a void check is run once more.
const QUIET: i64 = 2;

/// And for how many seconds it is looked whether it has.
const SOON: i64 = 10;

/// The command that checks work, if there is one.
pub fn command(root: &WorkerRoot) -> Option<Line> {
    root.config.command("check")
}

/// How often a worker is told of a failure in a task.
pub fn tries(root: &WorkerRoot) -> u64 {
    root.config.settings.number("check_tries")
}

/// Whether a worker's work is being checked.
pub fn is_running(ctx: &Context<'_>, worker: &Worker) -> bool {
    command(&ctx.root).is_some() && Lock::is_held(&layout::check_lock(&ctx.root.path, &worker.name)).unwrap_or(false)
}

/// Exit 2 if a worker's code would run with the person's rights, and no person has said that it may.
pub fn require_runner(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    if sandbox::is_wanted(ctx, worker) || ctx.root.config.settings.truth("check_on_host") {
        return Ok(());
    }
    Err(Failure::malformed(format!("the check would run the code of {} with your rights", worker.name))
        .hint("run the worker in a sandbox (`runner = \"sandbox\"`), or allow it: `check_on_host = true` in [repo]"))
}

/// What an `up` has to do about a worker's check.
pub fn due(ctx: &Context<'_>, worker: &Worker) -> Option<CheckStep> {
    let is_up = worker.program.session == Session::Up && worker.program.fault.is_none();
    // A void check is repeated when the worktree has come to rest.
    let rests = worker.work.checks_void == 0 || ctx.now() - worker.last_activity_unix >= QUIET;
    match command(&ctx.root).and_then(|_| next(worker, tries(&ctx.root)))? {
        CheckStep::Tell => is_up.then_some(CheckStep::Tell),
        CheckStep::Run => (rests && require_runner(ctx, worker).is_ok()).then_some(CheckStep::Run),
    }
}

/// Whether a void check is soon to be repeated.
pub fn is_soon_due(ctx: &Context<'_>, worker: &Worker) -> bool {
    let is_soon = worker.work.checks_void == 1 && ctx.now() - worker.last_activity_unix < SOON;
    is_soon && command(&ctx.root).and_then(|_| next(worker, tries(&ctx.root))) == Some(CheckStep::Run)
}

/// What a worker needs a person for now. Work that a running `up` has still to check, or that its worker mends, is none to
/// review yet.
pub fn need_now(ctx: &Context<'_>, worker: &Worker) -> Option<Need> {
    attention::need_now(ctx, worker).filter(|need| *need != Need::Review || !is_for_nobody_yet(ctx, worker))
}

/// See [`need_now`].
pub fn is_for_nobody_yet(ctx: &Context<'_>, worker: &Worker) -> bool {
    is_kept_away(&ctx.root, ctx.now(), worker) && require_runner(ctx, worker).is_ok()
}

fn is_kept_away(root: &WorkerRoot, now: i64, worker: &Worker) -> bool {
    command(root).is_some()
        && keeps_person_away(worker, tries(root), attention::quiet_for(root, now, worker) >= MENDS)
        && Lock::is_held(&layout::lock(&root.path, layout::RootLock::Patrolling)).unwrap_or(false)
}

/// [`need_now`] by files alone: without what only a screen tells. Of a worker that only its worktree's record contains,
/// nobody knows here that its check can run, so its work counts as some to review.
pub fn need_by_files(root: &WorkerRoot, now: i64, worker: &Worker) -> Option<Need> {
    let settings = &root.config.settings;
    let runner = root.worker(&worker.name).runner.or(settings.value("runner").map(|value| value.text.clone()));
    let can_run = settings.truth("check_on_host") || runner.as_deref() == Some("sandbox");
    attention::need_by_files(root, now, worker)
        .filter(|need| *need != Need::Review || !(can_run && is_kept_away(root, now, worker)))
}

/// Does what an `up` has to do about a worker's check. `false` if somebody else checks it, or another one at the place, whose
/// result changes the state.
pub fn look_after(ctx: &Context<'_>, name: &str) -> Result<bool> {
    let mut worker = ctx.worker(name)?;
    if next(&worker, tries(&ctx.root)) == Some(CheckStep::Run) {
        match run(ctx, &worker, false) {
            Ok(_) => {}
            Err(failure) if failure::CHECKING.is_kind_of(&failure) => return Ok(false),
            Err(failure) => {
                ctx.check_ending()?;
                // A person is not kept from work that cannot be checked.
                transition::observe(ctx, &worker, &Input::CheckVoid)?;
                let is_news = [failure::DIRTY, failure::CHANGED].iter().any(|kind| kind.is_kind_of(&failure));
                return if is_news { Ok(true) } else { Err(failure) };
            }
        }
        worker = ctx.worker(name)?;
    }
    if next(&worker, tries(&ctx.root)) == Some(CheckStep::Tell) && worker.program.session == Session::Up {
        let Some(_lock) = ctx.try_lock(name)? else { return Ok(true) };
        let worker = ctx.worker(name)?;
        let sha = record(&worker).map(|check| check.sha.clone());
        let text = prompt::failed_check(&told_lines(ctx, name), &layout::check_log(&ctx.root.path, name));
        deliver(ctx, &worker, &Input::Message { force: false }, &text)?;
        ctx.update_worker(name, |worker| {
            let check = worker.work.check.iter_mut().filter(|check| Some(&check.sha) == sha.as_ref());
            check.for_each(|check| check.told = true);
        })?;
    }
    Ok(true)
}

/// The end of the last check's output.
fn told_lines(ctx: &Context<'_>, name: &str) -> String {
    let log = fs::read_own(&layout::check_log(&ctx.root.path, name)).ok().flatten().unwrap_or_default();
    let log = String::from_utf8_lossy(&log[log.len().saturating_sub(TOLD_BYTES)..]).into_owned();
    let cut = |line: &str| printable(line).chars().take(TOLD_OF_LINE).collect::<String>();
    let lines: Vec<String> = log.lines().map(cut).collect();
    lines[lines.len().saturating_sub(TOLD_LINES)..].join("\n")
}

/// Checks a worker's work that waits for a review, and records the result. What failed already is checked `again` if that is
/// asked for. Exit 1 if it cannot be checked now, or somebody checks it already.
pub fn run(ctx: &Context<'_>, worker: &Worker, again: bool) -> Result<CheckRecord> {
    let (sha, tree) = find_work(ctx, worker)?;
    check_tree(&ctx.of(worker)?, worker, (&sha, &tree), again)
}

/// The commit that is to be checked, and its tree as it would land. Exit 1 if it cannot be checked now: there is none, it has
/// changes beside the commit, or it conflicts.
pub fn find_work(ctx: &Context<'_>, worker: &Worker) -> Result<(String, String)> {
    let ctx = &ctx.of(worker)?;
    require_runner(ctx, worker)?;
    let standing = Standing::read(ctx, worker)?;
    let sha = worker.work.commit_sha.clone().filter(|_| worker.task == Task::NeedsReview);
    let none =
        || failure::WRONG_STATE.failure(format!("{} has no work to check", worker.name)).hint(worker.review_hint());
    let sha = sha.ok_or_else(none)?;
    require_clean(worker, &standing.worktree.dirty, &standing.worktree.always_dirty)?;
    let tree = match (ctx.root.config.text("check_in"), standing.work.as_ref().map(|work| &work.merge)) {
        ("merge", Some(MergeResult::Tree(tree))) => tree.clone(),
        ("merge", Some(MergeResult::Conflict)) => {
            return Err(failure::CONFLICT
                .failure(format!("the work of {} conflicts with {}", worker.name, ctx.repo.branch))
                .hint(format!("`worker-ctl rebase {}` asks it to resolve that", worker.name)));
        }
        _ => ctx.repo.tree_of(&sha)?,
    };
    Ok((sha, tree))
}

/// The digest of the command.
fn command_digest(ctx: &Context<'_>) -> String {
    Digest::of(command(&ctx.root).map(|line| line.shell()).unwrap_or_default().as_bytes()).to_string()
}

/// The last check of a worker's work, if it was of this tree and with this command.
fn known(ctx: &Context<'_>, worker: &Worker, tree: &str) -> Option<CheckRecord> {
    let command = command_digest(ctx);
    worker.work.check.clone().filter(|check| check.tree == tree && check.command == command)
}

/// Checks this tree, unless that was done. `sha` is the commit of the worker's that it is about.
fn check_tree(ctx: &Context<'_>, worker: &Worker, (sha, tree): (&str, &str), again: bool) -> Result<CheckRecord> {
    let name = &worker.name;
    let busy = |what: String| failure::CHECKING.failure(what).hint("wait for the result: `worker-ctl status` shows it");
    let is_contained = sandbox::is_wanted(ctx, worker);
    let is_merged = ctx.root.config.text("check_in") == "merge";
    let is_in_place = !is_contained && !is_merged && ctx.repo.tree_of(sha)? == tree;
    // A rebase may give another commit the same tree.
    if let Some(known) = known(ctx, worker, tree).filter(|known| known.ok || !again) {
        let same = CheckRecord { sha: sha.to_owned(), ..known };
        ctx.update_worker(name, |now| now.work.check = Some(same.clone()))?;
        return Ok(same);
    }
    let lock = Lock::try_take(&layout::check_lock(&ctx.root.path, name))?;
    let _lock = lock.ok_or_else(|| busy(format!("the work of {name} is being checked")))?;
    let place_lock = layout::lock(&ctx.root.path, layout::RootLock::Check);
    let _place = match is_in_place {
        true => None,
        false => Some(
            Lock::try_take(&place_lock)?.ok_or_else(|| busy("the work of another worker is being checked".into()))?,
        ),
    };
    let started = Instant::now();
    let status = if is_in_place {
        let status = execute(ctx, worker, worker.tree(), None)?;
        if ctx.repo.head(worker.tree())?.1.as_deref() != Some(sha) {
            return Err(failure::CHANGED
                .failure(format!("{name} has another commit by now"))
                .hint("run the same command again"));
        }
        if !dirty(&ctx.repo, worker.tree())?.is_empty() {
            return Err(failure::DIRTY
                .failure(format!("{} changed while it was checked", worker.worktree_path))
                .hint("the check must not write files that git sees, and the worker must rest"));
        }
        status
    } else {
        let (place, contained) = prepare(ctx, (sha, tree), is_contained)?;
        let status = execute(ctx, worker, &place, contained.as_ref());
        contained.map_or(Ok(()), |contained| contained.remove())?;
        status?
    };
    let checked = CheckRecord {
        sha: sha.to_owned(),
        tree: tree.to_owned(),
        command: command_digest(ctx),
        ok: status.is_some_and(Status::success),
        secs: started.elapsed().as_secs(),
        at: render(ctx.env.later().now),
        told: false,
    };
    transition::record(ctx, name, &Input::Checked(checked.clone()))?;
    Ok(checked)
}

/// Runs the command in a place. Its output becomes the log of the worker's check. None: it took too long or wrote too much.
fn execute(ctx: &Context<'_>, worker: &Worker, place: &Path, contained: Option<&Sandbox>) -> Result<Option<Status>> {
    let line = command(&ctx.root).map(|line| line.shell()).unwrap_or_default();
    // Whoever kills the process above the command kills the shell.
    let line = format!("{{\n{line}\n}} 2>&1; exit $?");
    let limit = ctx.root.config.settings.duration("check_timeout", Unit::Seconds).max(Duration::from_secs(1));
    let cmd = match contained {
        Some(contained) => contained.command(&["/bin/sh", "-c", &line], true)?,
        None => {
            let all = ctx.repo.git.list_worktrees(&ctx.repo.top).unwrap_or_default();
            let all: Vec<PathBuf> = all.into_iter().map(|listed| listed.path).collect();
            let env = child_env::for_worktree(ctx.env, place, &all);
            proc::shell(&env, "sh -c \"$CHECK\"; exit $?")?.dir(place).var("CHECK", line)
        }
    };
    let (writer, reader) = fs::scratch(&ctx.root.path.join("locks"))?;
    let shown = reader.try_clone().map_err(|e| Failure::failed("cannot read a check's output").because(e))?;
    let ended = cmd.ending_group(ctx.ending.clone()).capture_within((writer, reader), limit, MOST_OUTPUT)?;
    ctx.check_ending()?;
    let mut output = fs::read_tail(&shown, MOST_OUTPUT as u64).unwrap_or_default();
    if ended.is_none() {
        let why = format!("\nworker-ctl: the check took longer than {} s or wrote more than 64 MB\n", limit.as_secs());
        output.extend(why.into_bytes());
    }
    fs::replace(&layout::check_log(&ctx.root.path, &worker.name), &output, Some(fs::PRIVATE))?;
    Ok(ended.map(|output| output.status))
}

/// Puts the tree into the worktree that is kept for this, and makes a sandbox for it. Where contained code ran before, nothing
/// of it stays: the next one would run it.
fn prepare(ctx: &Context<'_>, (sha, tree): (&str, &str), is_contained: bool) -> Result<(PathBuf, Option<Sandbox>)> {
    let place = layout::check_worktree(&ctx.root.path, ctx.repo.is_own, is_contained);
    trash::refuse_mounted(&place)?;
    let commit = ctx.repo.ask(&ctx.repo.top, &["commit-tree", "-p", sha, "-m", "check", tree])?;
    // What an earlier check has made of it is no obstacle.
    let is_filled = ctx.repo.trees()?.contains_key(&place) && fill(ctx, &place, &commit, is_contained).is_ok();
    if !is_filled {
        ctx.repo.remove_worktree(&place)?;
        // The set-up runs on the branch's own files, and for contained code not at all: outside it would run that code.
        let base = ctx.repo.require_base()?;
        ctx.repo.add_detached(&place, &base)?;
        match (is_contained, ctx.repo.is_own) {
            (true, _) => {}
            (false, true) => {
                ctx.repo.fill_worktree(&place, None, &[])?.into_iter().for_each(|warning| ctx.ui.warn(warning));
            }
            (false, false) => clone_hooks::fill_worktree(ctx, &place)?,
        }
        fill(ctx, &place, &commit, is_contained)?;
    }
    let contained = is_contained.then(|| {
        shopfloor_core::sandbox::require_available(ctx.env)?;
        Sandbox::of(ctx.env, &ctx.repo.common, &place, ctx.root.config.sandbox.clone())
    });
    let contained = contained.transpose()?;
    if let Some(contained) = contained.as_ref().filter(|contained| contained.is_made()) {
        contained.remove()?;
    }
    if let Some(contained) = &contained {
        contained.make_on(Some((ctx.repo.branch.clone(), sha.to_owned())), Some(BRANCH))?;
    }
    Ok((place, contained))
}

/// Puts the files of a commit into the place, and takes away what it does not have: of contained code everything.
fn fill(ctx: &Context<'_>, place: &Path, commit: &str, is_contained: bool) -> Result<()> {
    ctx.repo.unhide(place)?;
    ctx.repo.ask(place, &["reset", "--quiet", "--hard", commit])?;
    ctx.repo.ask(place, &["clean", "--quiet", if is_contained { "-ffdx" } else { "-ffd" }])?;
    if ctx.repo.is_own { Ok(()) } else { copied_files::copy_all(ctx, place) }
}

/// Removes what git has recorded of the worktrees for checks, which go with the root.
pub fn forget_places(ctx: &Context<'_>) -> Result<()> {
    for (is_own, common) in [(false, ctx.clone.common.clone()), (true, common_dir(&ctx.source()))] {
        for place in [true, false].map(|contained| layout::check_worktree(&ctx.root.path, is_own, contained)) {
            let recorded = if place.is_dir() { recorded_dir(&common, &place)? } else { None };
            recorded.map_or(Ok(()), |record| fs::remove_tree(&record))?;
        }
    }
    Ok(())
}

/// Exit 1 unless this tree, as which work of a worker's is to land, was checked and is good. What nobody has checked is
/// checked now.
pub fn require_green(ctx: &Context<'_>, worker: &Worker, sha: &str, tree: &str) -> Result<()> {
    let checked = match known(ctx, worker, tree) {
        Some(known) => known,
        None => {
            let allow = |failure: Failure| failure.hint("or land it unchecked: `--no-check`");
            require_runner(ctx, worker).map_err(allow)?;
            ctx.ui.note(format!("checking the work of {}", worker.name));
            check_tree(ctx, worker, (sha, tree), false)?
        }
    };
    if checked.ok { Ok(()) } else { Err(refuse_red(ctx, &worker.name)) }
}

/// Exit 1: the check failed.
pub fn refuse_red(ctx: &Context<'_>, name: &str) -> Failure {
    let log = layout::check_log(&ctx.root.path, name);
    // A review from before counts no more.
    let is_seen = |worker: Worker| worker.work.reviewed_patch.is_some() && worker.work.reviewed_sha.is_none();
    let first =
        if ctx.worker(name).is_ok_and(is_seen) { format!("`worker-ctl review {name}`, then ") } else { String::new() };
    failure::CHECK_FAILED.failure(format!("the check of the work of {name} failed")).hint(format!(
        "its output is in {}; `worker-ctl check {name}` runs it again, and {first}`worker-ctl accept {name} --no-check` \
         lands the work all the same",
        log.display()
    ))
}
