//! The patrol: looks for workers that committed and for programs that ended.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use shopfloor_core::agents::SessionFile;
use shopfloor_core::error::Result;
use shopfloor_core::git::{ListedWorktree, recorded_dir};

use crate::apply::{jobs, land_on_parent, rebase, removal, sandbox, session, transition};
use crate::context::Context;
use crate::facts::adoption;
use crate::facts::conflicts::{left_markers, read_conflicts};
use crate::facts::session_files;
use crate::failure;
use crate::plan::machine::{Input, apply};
use crate::plan::rebase::is_behind;
use crate::slurm::Job;
use crate::store::State;
use crate::tmux::{self, Pane};
use crate::up_lock;
use crate::work_repo::{ListedWorktrees, WorkRepo, is_rebasing};
use crate::worker::{Activity, Session, Task, TaskBeforeRebase, Worker};
use crate::worker_notes::{Fault, Note};

/// The number of seconds after which crashes are forgotten.
const DAY: i64 = 24 * 60 * 60;

/// What a patrol looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatrolScope {
    /// Sessions, worktrees and commits.
    All,
    /// Sessions only.
    Sessions,
}

/// Records what has happened since the last patrol. If nothing has happened, this has no effect. Returns whether a worker
/// was passed over: a process that holds its lock is working on it, and may end without a look at what has happened.
pub fn tick(ctx: &Context<'_>, scope: PatrolScope) -> Result<bool> {
    if scope == PatrolScope::All {
        for worker in ctx.state()?.workers.into_values() {
            ctx.warn_on_failure(&worker.name, || sandbox::take_news(ctx, &worker).map(drop));
        }
        forget_removed(ctx)?;
        land_on_parent::retarget(ctx)?;
    }
    let (mut locks, news) = (Vec::new(), look(ctx, scope)?);
    for (Worker { name, .. }, _) in &news {
        locks.extend(ctx.try_lock(name)?.map(|lock| (name, lock)));
    }
    let is_passed_over = locks.len() < news.len();
    if locks.is_empty() {
        return Ok(is_passed_over);
    }
    // Read again under the locks: now no other process changes these workers.
    let state = ctx.state()?;
    let seen = Seen::read(ctx, &state, scope)?;
    for (name, _lock) in locks {
        ctx.check_ending()?;
        let Some(worker) = state.workers.get(name) else { continue };
        ctx.warn_on_failure(name, || {
            let mut now = worker.clone();
            while let Some(input) = next_input(ctx, &now, &seen, scope)? {
                match transition::observe(ctx, &now, &input)? {
                    Some(after) if after != now => {
                        if matches!(input, Input::Exited { .. } | Input::SessionGone) {
                            jobs::cancel(ctx, &[name], true)?;
                        }
                        if let Input::Strayed { note: Some(note @ Note::TargetGone(_)) } = &input {
                            ctx.ui.warn(format!("{name}: {note}"));
                        }
                        now = after;
                    }
                    // Another process changed the record. The next patrol looks at it again.
                    _ => break,
                }
            }
            Ok(())
        });
    }
    Ok(is_passed_over)
}

/// Records what has happened to one worker, whose lock the caller holds.
pub fn record_news(ctx: &Context<'_>, name: &str) -> Result<()> {
    let mut now = ctx.worker(name)?;
    let seen = Seen::read(ctx, &ctx.state()?, PatrolScope::All)?;
    while let Some(input) = next_input(ctx, &now, &seen, PatrolScope::All)? {
        match transition::observe(ctx, &now, &input)? {
            Some(after) if after != now => now = after,
            _ => break,
        }
    }
    Ok(())
}

/// Looks after workers whose worktree in the person's own repository is gone, and git's record of it with it: finds the one
/// that git has moved, else forgets the worker unless it has something open.
fn forget_removed(ctx: &Context<'_>) -> Result<()> {
    let gone = ctx.state()?.workers.into_values().filter(|worker| is_gone(ctx, worker));
    for name in gone.map(|worker| worker.name) {
        ctx.warn_on_failure(&name, || {
            let Some(_lock) = ctx.try_lock(&name)? else { return Ok(()) };
            let worker = ctx.worker(&name)?;
            if !is_gone(ctx, &worker) {
                return Ok(());
            }
            let ctx = &ctx.of(&worker)?;
            let is_its = |tree: &ListedWorktree| tree.branch.as_ref() == Some(&worker.branch);
            match adoption::moved(ctx, &worker) {
                Some(path) => ctx.update_worker(&name, |worker| worker.worktree_path = path),
                None if worker.task == Task::Idle && !ctx.repo.trees()?.values().any(is_its) => {
                    removal::forget(ctx, &worker, false)?;
                    ctx.ui.note(format!("{name} is forgotten: its worktree was removed"));
                    Ok(())
                }
                None => Ok(()),
            }
        });
    }
    Ok(())
}

/// Whether the worktree of an adopted worker is gone, and git's record of it with it. A later one may be in its place.
fn is_gone(ctx: &Context<'_>, worker: &Worker) -> bool {
    let record = || ctx.of(worker).and_then(|ctx| recorded_dir(&ctx.repo.common, worker.tree()));
    let is_missing = worker.adopted.is_some() && worker.tree().symlink_metadata().is_err();
    worker.is_replaced(&ctx.source()) || is_missing && record().is_ok_and(|record| record.is_none())
}

/// The workers that something has happened to, each with the first input that is not recorded yet.
pub fn look(ctx: &Context<'_>, scope: PatrolScope) -> Result<Vec<(Worker, Input)>> {
    let state = ctx.state()?;
    let seen = Seen::read(ctx, &state, scope)?;
    let mut news = Vec::new();
    for worker in state.workers.into_values() {
        match next_input(ctx, &worker, &seen, scope) {
            Ok(input) => news.extend(input.map(|input| (worker, input))),
            Err(failure) => ctx.ui.warn(format!("{}: {failure}", worker.name)),
        }
    }
    Ok(news)
}

/// Lets a dry run go by what a patrol would record. What cannot be read is not news.
pub fn foresee(ctx: &Context<'_>) -> Result<()> {
    let mut state = ctx.state()?;
    for worker in state.workers.values_mut() {
        land_on_parent::retargeted(ctx, worker.clone()).into_iter().for_each(|now| *worker = now);
    }
    let Ok(seen) = Seen::read(ctx, &state, PatrolScope::All) else { return Ok(()) };
    for worker in state.workers.values_mut() {
        while let Ok(Some(input)) = next_input(ctx, worker, &seen, PatrolScope::All)
            && let Ok((after, _)) = apply(worker, &input, ctx.now())
            && after != *worker
        {
            *worker = after;
        }
    }
    ctx.foresee(state);
    Ok(())
}

/// What a patrol reads once for all workers.
struct Seen {
    panes: Vec<Pane>,
    trees: ListedWorktrees,
    /// None if no program is a job, or Slurm does not answer.
    jobs: Option<Vec<Job>>,
    /// The branches of the person's own repository that work lands on and that are gone.
    gone: BTreeSet<String>,
}

impl Seen {
    fn read(ctx: &Context<'_>, state: &State, scope: PatrolScope) -> Result<Seen> {
        let (panes, trees) = (ctx.tmux()?.panes()?, ctx.trees(state)?);
        let is_alive = |worker: &Worker| matches!(worker.program.session, Session::Up | Session::Down);
        let is_job =
            |worker: &Worker| worker.program.job.is_some() && worker.program.pane_id.is_some() && is_alive(worker);
        let jobs = state.workers.values().any(is_job).then(|| jobs::all(ctx)).flatten();
        // Where the source is gone, no worktree is seen there either.
        let gone = if scope == PatrolScope::All { adoption::gone_targets(ctx, state).ok() } else { None };
        Ok(Seen { panes, trees, jobs, gone: gone.unwrap_or_default() })
    }
}

/// The next thing that has happened to a worker and that its record does not have yet.
fn next_input(
    ctx: &Context<'_>,
    worker: &Worker,
    Seen { panes, trees, jobs, gone }: &Seen,
    scope: PatrolScope,
) -> Result<Option<Input>> {
    let ctx = &ctx.of(worker)?;
    let pane = tmux::find(panes, worker);
    let own = jobs.iter().flatten().find(|job| Some(&job.name) == worker.program.job.as_ref());
    if own.is_some_and(Job::is_ending) {
        // How it ended is told soon.
        return Ok(None);
    }
    if let Some(input) = find_end(ctx, worker, pane)? {
        return Ok(Some(input));
    }
    let is_alive = pane.is_some_and(|pane| pane.end.is_none());
    if let Some(jobs) = jobs.as_ref().filter(|_| is_alive) {
        let reason = jobs::waits_for(worker, jobs);
        if reason != worker.program.job_waits_for {
            return Ok(Some(Input::Queued { reason }));
        }
    }
    if worker.program.last_crash_unix.is_some_and(|last| ctx.now() - last >= DAY) {
        return Ok(Some(Input::DayWithoutCrash));
    }
    if scope == PatrolScope::All
        && let Some(input) = find_limit(ctx, worker)?
    {
        return Ok(Some(input));
    }
    let path = worker.tree();
    let is_missing = worker.program.fault == Some(Fault::WorktreeMissing);
    if path.is_dir() && !trees.contains_key(path) {
        // Fails if the worktree is there and only git cannot read it.
        ctx.repo.cmd(path)?;
    }
    let Some(tree) = trees.get(path).filter(|_| worker.has_tree(&ctx.source())) else {
        // A worker without a task whose worktree is removed is soon forgotten.
        let is_its = |tree: &&ListedWorktree| tree.branch.as_ref() == Some(&worker.branch);
        let stays = trees.values().filter(is_its).any(|tree| !adoption::is_leaving(&tree.path));
        let is_fault = worker.task != Task::Idle || stays || !is_gone(ctx, worker);
        return Ok((is_fault && !is_missing).then(|| Input::Fault { reason: Fault::WorktreeMissing }));
    };
    if is_missing {
        return Ok(Some(Input::Mended { reason: Fault::WorktreeMissing }));
    }
    let is_lost = worker.target().is_some_and(|target| gone.contains(target));
    match scope {
        PatrolScope::All => match find_strayed(ctx, worker, tree, is_lost)? {
            Some(input) => Ok(Some(input)),
            None if worker.notes.iter().any(Note::is_of_lost_branch) => Ok(None),
            None => find_work(ctx, worker, path, tree),
        },
        PatrolScope::Sessions => Ok(None),
    }
}

/// Whether the program's own file tells of a usage limit, when it ends, or that it is over.
fn find_limit(ctx: &Context<'_>, worker: &Worker) -> Result<Option<Input>> {
    let known = worker.program.limit.as_ref();
    let is_looked_for = match ctx.root.session_file_of(worker) {
        // Its hook tells first.
        SessionFile::Transcript => known.is_some_and(|limit| limit.until_unix.is_none()),
        SessionFile::Rollout => {
            let is_told = worker.notes.iter().any(|note| matches!(note, Note::LimitOver(_)));
            worker.has_open_task() && worker.reported.activity != Activity::Rests && !is_told
        }
        SessionFile::Chat | SessionFile::None => false,
    };
    if !is_looked_for || worker.program.session != Session::Up || worker.pending_send.is_some() {
        return Ok(None);
    }
    let sandbox = sandbox::of(ctx, worker)?;
    let told = session_files::limit(ctx, sandbox.as_ref(), worker);
    let is_news = match (known, &told) {
        (None, told) => told.is_some(),
        (Some(_), None) => ctx.root.session_file_of(worker) == SessionFile::Rollout,
        (Some(known), Some(told)) => told.tells_more_than(known),
    };
    Ok(is_news.then_some(Input::Limit(told)))
}

/// Whether the worktree has left the worker's branch or has come back to it, or the branch that the work lands on `is_lost`.
/// During a rebase it is on no branch.
pub fn find_strayed(ctx: &Context<'_>, worker: &Worker, tree: &ListedWorktree, is_lost: bool) -> Result<Option<Input>> {
    let recorded = worker.notes.iter().find(|note| note.is_of_branch());
    let has_commit = !tree.head.bytes().all(|b| b == b'0');
    let is_at_home = tree.branch.as_ref() == Some(&worker.branch) && has_commit;
    if is_at_home && recorded.is_none() && !is_lost || is_rebasing(worker.tree()) {
        return Ok(None);
    }
    let note = match is_at_home {
        true => is_lost.then(|| Note::TargetGone(ctx.repo.branch.clone())),
        // Of one that git cannot read it lists neither a branch nor a commit.
        false if tree.branch.is_none() && !has_commit => {
            let head = ctx.repo.git_dir(worker.tree())?.join("HEAD");
            Some(Note::HeadUnreadable(head.to_string_lossy().into_owned()))
        }
        false if ctx.repo.commit(worker.tree(), &format!("refs/heads/{}", worker.branch))?.is_none() => {
            Some(Note::BranchGone(worker.branch.clone()))
        }
        false => Some(Note::OnBranch(tree.branch.clone())),
    };
    Ok((recorded != note.as_ref()).then_some(Input::Strayed { note }))
}

/// Whether the worker has committed, or has finished a rebase.
fn find_work(ctx: &Context<'_>, worker: &Worker, path: &Path, tree: &ListedWorktree) -> Result<Option<Input>> {
    // Where the work branches off is recorded now, because the default branch may be moved back later.
    let commit = |sha: String| Some(Input::Commit { onto: ctx.repo.fork(worker, &sha).ok(), sha });
    match &worker.task {
        // Nothing but its own worktree tells that an agent has gone on without a task.
        Task::Idle => match &worker.adopted {
            Some(adopted)
                if tree.branch.as_ref() == Some(&worker.branch)
                    && (tree.head != adopted.began || adoption::was_taken_back(ctx, adopted)?) =>
            {
                Ok(adoption::unlanded(ctx, path)?.1.and_then(commit))
            }
            _ => Ok(None),
        },
        Task::Working | Task::Rejected => {
            let Some(sha) = new_commit(&ctx.repo, worker, tree)? else { return Ok(None) };
            let is_same = match &worker.work.baseline_patch {
                Some(baseline) => *baseline == ctx.repo.work_digest(&sha)?,
                None => false,
            };
            Ok(if is_same { None } else { commit(sha) })
        }
        Task::NeedsReview => {
            let Some(sha) = new_commit(&ctx.repo, worker, tree)? else { return Ok(None) };
            let before = worker.work.commit_sha.clone().unwrap_or_default();
            let base = ctx.repo.work_base(&ctx.repo.base(), &sha)?.unwrap_or_else(|| sha.clone());
            // The same work on another commit was rebased. What git has pruned can be compared with nothing.
            let is_there = ctx.repo.commit(path, &before)?.is_some();
            match is_there && rebase::is_same_work(ctx, worker, &before, &sha, &base)? {
                true => {
                    let (patch, onto) = (ctx.repo.work_digest(&sha)?, ctx.repo.fork(worker, &sha).ok());
                    Ok(Some(Input::Rebased { patch, onto, sha }))
                }
                false => Ok(commit(sha)),
            }
        }
        Task::Rebasing { .. } if is_rebasing(path) => Ok(None),
        Task::Rebasing { pre_sha, .. } => {
            // The branch tells, also where the worktree is elsewhere, as after `git rebase --quit`.
            let branch = format!("refs/heads/{}", worker.branch);
            let Some(sha) = ctx.repo.commit(path, &branch)? else { return Ok(None) };
            // Inside of a sandbox the rebase is not seen, only that it is over.
            let is_over = sha != *pre_sha || has_given_up(ctx, worker)?;
            if !is_over || !read_conflicts(&ctx.repo, path)?.is_empty() {
                return Ok(None);
            }
            if sha != *pre_sha && ctx.repo.ahead(&sha)? == 0 {
                return Ok(Some(Input::WorkGone));
            }
            let markers = left_markers(&ctx.repo, &sha, &worker.work.conflicted)?;
            Ok(Some(Input::RebaseDone { sha, markers }))
        }
    }
}

/// Rebases work that waits for review and is behind the branch that it lands on. Returns a message for each text that
/// waits for a person to stop typing. To catch up with what has landed, it asks the source only if somebody is due.
pub fn refresh(ctx: &Context<'_>, is_catching_up: bool) -> Result<Vec<String>> {
    let state = ctx.state()?;
    let mut lines: BTreeMap<Option<&str>, Vec<&Worker>> = BTreeMap::new();
    for worker in state.workers.values().filter(|worker| waits_for_review(worker)) {
        lines.entry(worker.target()).or_default().push(worker);
    }
    let mut waiting = Vec::new();
    for mut line in lines.into_values() {
        line.sort_by_key(|worker| worker.place_in_line());
        // Without its branch, one line stops no other. Without the source nothing lands.
        match refresh_line(&ctx.of(line[0])?, &line, is_catching_up, &mut waiting) {
            Err(failure) if line[0].adopted.is_some() => ctx.ui.warn(format!("{}: {failure}", line[0].name)),
            done => done?,
        }
    }
    Ok(waiting)
}

/// The same for those whose work lands on one branch. Of those with conflicts, one is asked to resolve them: the first in
/// the line for review whose conflicts are not with work before it as well. Fetches only if the source has moved on.
fn refresh_line(ctx: &Context<'_>, line: &[&Worker], is_catching_up: bool, waiting: &mut Vec<String>) -> Result<()> {
    let is_due = |worker: &Worker, base: &str| is_behind(worker, base) || worker.has_known_conflict();
    if is_catching_up {
        let base = ctx.repo.require_base()?;
        if !line.iter().any(|worker| is_due(worker, &base)) {
            return Ok(());
        }
    }
    // The branch of a parent at work moves with each of its commits. Its children follow when it rests.
    let is_at_work = match land_on_parent::on_branch(ctx, &ctx.repo.branch)? {
        Some(parent) => !land_on_parent::rests(ctx, &parent),
        None => land_on_parent::other_at_work(ctx)?.is_some(),
    };
    if is_at_work {
        return Ok(());
    }
    let base = ctx.repo.fetched(&ctx.source())?;
    // Who was asked and is up resolves its conflicts first.
    let is_asked = |worker: &&Worker| {
        matches!(worker.task, Task::Rebasing { .. })
            && worker.program.session == Session::Up
            && worker.program.fault.is_none()
    };
    let mut lands_before = if line.iter().any(is_asked) { None } else { Some(Vec::new()) };
    for seen in line.iter().copied() {
        let name = &seen.name;
        if ctx.check_ending().is_err() {
            break;
        }
        ctx.warn_on_failure(name, || {
            let is_due = is_due(seen, &base);
            let lock = if is_due { ctx.try_lock(name)? } else { None };
            if is_due && lock.is_none() {
                // Who holds it may be asking it at this moment.
                lands_before = None;
                return Ok(());
            }
            if is_due {
                match rebase::refresh(ctx, &ctx.worker(name)?, &base, lands_before.as_deref()) {
                    // It is asked when its job runs.
                    Err(failure) if failure::QUEUED.is_kind_of(&failure) => {}
                    // Of a limit nobody has to be told once more.
                    Err(failure) if failure::OCCUPIED.is_kind_of(&failure) && seen.program.limit.is_some() => {}
                    Err(failure) if failure::OCCUPIED.is_kind_of(&failure) => {
                        waiting
                            .push(format!("{name} will be asked to resolve its conflicts when its terminal is free"));
                    }
                    done => done?,
                }
            }
            let now = if is_due { ctx.worker(name)? } else { seen.clone() };
            match now.task {
                // It was asked just now.
                Task::Rebasing { .. } if is_due => lands_before = None,
                Task::NeedsReview if merges(&now, &base) => {
                    lands_before.iter_mut().for_each(|before| before.extend(now.work.commit_sha.clone()));
                }
                Task::Rebasing { .. } | Task::Idle | Task::Working | Task::NeedsReview | Task::Rejected => {}
            }
            Ok(())
        });
    }
    Ok(())
}

/// Whether a worker whose head has not moved has given up its rebase. Of one in a sandbox only its program tells: the turn has
/// ended.
fn has_given_up(ctx: &Context<'_>, worker: &Worker) -> Result<bool> {
    Ok(worker.reported.activity == Activity::Rests || sandbox::of(ctx, worker)?.is_none())
}

/// Whether the worker is in the line for review, also while it resolves the conflicts of its work. One whose branch is gone is
/// not.
fn waits_for_review(worker: &Worker) -> bool {
    let is_asked = matches!(worker.task, Task::Rebasing { from: TaskBeforeRebase::NeedsReview, .. });
    (is_asked || worker.task == Task::NeedsReview) && !worker.notes.iter().any(Note::is_of_lost_branch)
}

/// Whether work that waits for review can land on `base` as it is, as far as is known.
fn merges(worker: &Worker, base: &str) -> bool {
    let is_known = worker.work.base_sha.as_deref() == Some(base);
    is_known && !worker.has_known_conflict() && !worker.notes.contains(&Note::GaveUp)
}

/// Does what an `accept` left to do: work that waits for review may be behind what has landed. An `up` does it itself.
pub fn catch_up(ctx: &Context<'_>) -> Result<()> {
    if up_lock::is_running(&ctx.root.path)? {
        return Ok(());
    }
    refresh(ctx, true).map(|waiting| waiting.iter().for_each(|line| ctx.ui.note(line)))
}

/// Whether a session has ended, including one whose program never got ready for input.
fn find_end(ctx: &Context<'_>, worker: &Worker, pane: Option<&Pane>) -> Result<Option<Input>> {
    let has_begun = worker.program.session == Session::Down && worker.program.pane_id.is_some();
    if worker.program.session != Session::Up && !has_begun {
        return Ok(None);
    }
    let Some(pane) = pane.filter(|pane| !has_begun || Some(&pane.id) == worker.program.pane_id.as_ref()) else {
        return Ok(Some(Input::SessionGone));
    };
    match pane.end {
        // The program runs, or tmux does not know yet how it ended.
        None | Some(Session::Down) => Ok(None),
        // We have ended it, and were killed before it was started anew.
        Some(_) if worker.program.dead_pane.as_ref() == Some(&pane.id) => Ok(Some(Input::SessionGone)),
        Some(end) => Ok(Some(session::exited(ctx, worker, &ctx.root.agent_of(worker)?, (&pane.id, end)))),
    }
}

/// A commit that may be new: the worker's branch is checked out, no rebase is under way, and the commit is ahead of the
/// default branch and not one that the record already has. The caller checks whether the work itself is new.
fn new_commit(repo: &WorkRepo, worker: &Worker, tree: &ListedWorktree) -> Result<Option<String>> {
    let sha = &tree.head;
    let is_at = |recorded: &Option<String>| recorded.as_ref() == Some(sha);
    if tree.branch.as_ref() != Some(&worker.branch)
        || is_at(&worker.work.baseline_sha)
        || is_at(&worker.work.commit_sha)
    {
        return Ok(None);
    }
    if is_rebasing(worker.tree()) || repo.ahead(sha)? == 0 {
        return Ok(None);
    }
    Ok(Some(sha.clone()))
}
