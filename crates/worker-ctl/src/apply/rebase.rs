//! Rebases a worker's work onto the default branch. The plan knows in advance whether that conflicts. A rebase of ours
//! that its worker was never asked to resolve is undone.

use std::path::{Path, PathBuf};
use std::time::Duration;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Root};
use shopfloor_core::git::{LOOK_LIMIT, failed, private_dir, require_plain_ref, when_unlocked};
use shopfloor_core::proc::{self, Output, Status};
use shopfloor_core::text::shell_word;

use crate::apply::checkout_update::ChangedFiles;
use crate::apply::removal::refuse_elsewhere;
use crate::apply::{deliver, sandbox, transition, trash};
use crate::context::Context;
use crate::facts::conflicts::{ConflictedFile, read_conflicts};
use crate::facts::losses::Losses;
use crate::facts::worker_state::{Standing, dirty};
use crate::failure;
use crate::layout;
use crate::plan::machine::Input;
use crate::plan::prompt;
use crate::plan::rebase::{self as plan, Rebase, Refresh, is_behind};
use crate::plan::start::permit;
use crate::plan::{require_at, require_clean};
use crate::work_repo::{MergeResult, WorkRepo, is_rebasing, require_own_rebase};
use crate::worker::{Checkout, Task, Worker};
use crate::worker_notes::Note;

/// The result of a rebase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebased {
    /// The work was on the default branch's commit already.
    UpToDate,
    /// The work is on the default branch's commit now.
    Done,
    /// The worker was asked to resolve these conflicts.
    Conflicts(Vec<ConflictedFile>),
    /// A single commit conflicts although the whole work does not, so nothing was done.
    LeftAsItIs,
}

impl Rebased {
    pub fn word(&self) -> &'static str {
        match self {
            Rebased::UpToDate => "up_to_date",
            Rebased::Done => "rebased",
            Rebased::Conflicts(_) => "rebasing",
            Rebased::LeftAsItIs => "left_as_it_is",
        }
    }
}

/// Settings that turn off everything in a person's setup that affects a rebase: signatures, other branches, stashes.
const ISOLATED: [&str; 6] = [
    "advice.mergeConflict=false",
    "commit.gpgSign=false",
    "rebase.updateRefs=false",
    "rebase.autoStash=false",
    "rebase.autoSquash=false",
    "rebase.backend=merge",
];

/// The arguments of a `git rebase` with these settings.
fn isolated<'a>(args: &[&'a str]) -> Vec<&'a str> {
    ISOLATED.iter().flat_map(|setting| ["-c", *setting]).chain(["rebase"]).chain(args.iter().copied()).collect()
}

/// Carries out a plan. The caller holds the worker's lock.
pub fn carry_out(ctx: &Context<'_>, standing: &Standing, plan: Rebase, is_forced: bool) -> Result<Rebased> {
    let (worker, base) = (&standing.worker, standing.base.as_str());
    let Some(work) = &standing.work else { return Ok(Rebased::UpToDate) };
    match plan {
        Rebase::UpToDate => Ok(Rebased::UpToDate),
        Rebase::AskToResolve => ask_to_resolve(ctx, worker, base, &work.sha, is_forced),
        Rebase::Replay => {
            if let Some(sandbox) = sandbox::of(ctx, worker)? {
                let fork = ctx.repo.fork(worker, &work.sha)?;
                require_nothing_lost(ctx, worker.checkout(), &work.sha, base)?;
                if !sandbox.rebase(&ctx.repo.branch, base, &fork)? {
                    return Ok(Rebased::LeftAsItIs);
                }
                sandbox::take_commit(ctx, worker, &sandbox)?;
                return record_done(ctx, worker, base, &work.sha);
            }
            let rebased = run(ctx, worker, base, &work.sha)?;
            if !rebased.status.success() {
                let has_stopped = is_rebasing(worker.tree());
                undo(ctx, worker)?;
                return if has_stopped { Ok(Rebased::LeftAsItIs) } else { Err(not_done("rebase", &rebased)) };
            }
            record_done(ctx, worker, base, &work.sha)
        }
    }
}

/// Rebases work that waits for review and is behind the default branch, unless the worktree has uncommitted changes.
/// `before` is the work that lands before it, if the worker may be asked to resolve conflicts at all: it is not asked
/// while it conflicts with that work too.
///
/// If the worker must be asked to resolve conflicts while a person types there, this fails with the kind `occupied`,
/// and the next patrol tries again.
pub fn refresh(ctx: &Context<'_>, worker: &Worker, base: &str, before: Option<&[String]>) -> Result<()> {
    let has_conflict = worker.has_known_conflict();
    let is_due = is_behind(worker, base) || has_conflict && before.is_some();
    let Some(sha) = worker.work.commit_sha.as_deref().filter(|_| is_due) else { return Ok(()) };
    if is_rebasing(worker.tree()) || !worker.tree().is_dir() {
        return Ok(());
    }
    let mut is_next = before.is_some();
    for other in before.unwrap_or_default() {
        // What cannot be merged, as with a missing object, lands before nobody.
        is_next = is_next && !ctx.repo.merge(other, sha).is_ok_and(|merge| merge == MergeResult::Conflict);
    }
    if has_conflict && !is_next && !is_behind(worker, base) {
        return Ok(());
    }
    // Most work sits on the branch as it is, which one question tells.
    if worker.work.onto_sha.as_deref() == Some(base) && ctx.repo.has(sha, base)? {
        return remember_tried(ctx, worker, Some(base));
    }
    let standing = match Standing::read_on(ctx, worker, base) {
        // The next patrol would wait as long for it.
        Err(failure) if failure.kind == "deadline" => {
            return remember_tried(ctx, worker, Some(base)).and(Err(failure));
        }
        standing => standing?,
    };
    let branch = &ctx.repo.branch;
    let plan = match plan::refresh(&standing, branch, is_next) {
        Refresh::Wait => return Ok(()),
        Refresh::NoteConflicts => {
            let files = ctx.repo.conflicting_files(base, sha)?;
            let input = Input::ConflictSeen { branch: branch.clone(), base: base.to_owned(), files };
            return transition::observe(ctx, worker, &input).map(drop);
        }
        Refresh::Settled => return remember_tried(ctx, worker, Some(base)),
        Refresh::Rebase(plan) => plan,
    };
    // A rebase that stops would change files under the hands of a person who types there.
    let may_stop = standing.work.as_ref().is_some_and(|work| work.merge == MergeResult::Conflict);
    if plan == Rebase::AskToResolve || may_stop {
        deliver::require_free(ctx, worker, false)?;
    }
    // Record the attempt first, so that a failure is not repeated until the default branch moves on.
    remember_tried(ctx, worker, Some(base))?;
    match carry_out(ctx, &standing, plan, false) {
        Ok(Rebased::Conflicts(files)) => {
            ctx.ui.note(format!("{} was asked to resolve conflicts in {} files", worker.name, files.len()));
            Ok(())
        }
        // A person or a question came in between, and nothing was asked.
        Err(failure) if failure::OCCUPIED.is_kind_of(&failure) => {
            remember_tried(ctx, worker, worker.work.base_sha.as_deref())?;
            Err(failure)
        }
        done => done.map(drop),
    }
}

/// Records the base of an attempt, so that it is not repeated until the default branch moves on.
fn remember_tried(ctx: &Context<'_>, worker: &Worker, base: Option<&str>) -> Result<()> {
    ctx.update_worker(&worker.name, |worker| {
        worker.work.base_sha = base.map(str::to_owned);
        worker.notes.retain(|note| !matches!(note, Note::Conflicts { .. }));
    })
}

/// Records that a rebase has succeeded, and whether the work is still the same.
fn record_done(ctx: &Context<'_>, worker: &Worker, base: &str, before: &str) -> Result<Rebased> {
    fs::remove(&mark_file(ctx, worker.tree())?)?;
    let sha = ctx.repo.ask(worker.tree(), &["rev-parse", "HEAD"])?;
    let patch = ctx.repo.work_digest(&sha)?;
    let is_same = worker.task != Task::NeedsReview || is_same_work(ctx, worker, before, &sha, base)?;
    let onto = Some(base.to_owned());
    let input = if is_same { Input::Rebased { sha, patch, onto } } else { Input::WorkChanged { sha, onto } };
    transition::record(ctx, &worker.name, &input)?;
    Ok(Rebased::Done)
}

/// Whether `after` is the work of `before` on another commit. If `before` was reviewed, it must still be what was: an
/// agent can write in the clone's objects.
pub fn is_same_work(ctx: &Context<'_>, worker: &Worker, before: &str, after: &str, base: &str) -> Result<bool> {
    let (work, repo) = (&worker.work, &ctx.repo);
    let reviewed = work.reviewed_patch.as_ref().filter(|_| work.reviewed_sha.as_deref() == Some(before));
    let from = repo.begin_of(worker, before)?;
    let is_sound = reviewed.map_or(Ok(true), |patch| Ok(*patch == repo.work_digest_from(&from, before)?))?;
    Ok(is_sound && repo.is_same_work((&from, before), after, base)?)
}

/// Leaves the conflicting rebase in the worktree, and asks the worker to resolve it.
pub fn ask_to_resolve(ctx: &Context<'_>, worker: &Worker, base: &str, sha: &str, is_forced: bool) -> Result<Rebased> {
    let name = &worker.name;
    let input = |files| Input::Conflict { pre_sha: sha.to_owned(), base: base.to_owned(), files, force: is_forced };
    permit(worker, &input(Vec::new()), ctx.now())?;
    deliver::require_free(ctx, worker, is_forced)?;
    if let Some(sandbox) = sandbox::of(ctx, worker)? {
        // What happens in its repository is the agent's to do.
        sandbox.tell_base(&ctx.repo.branch, base);
        let files = ctx.repo.conflicting_files(base, sha)?;
        let text = prompt::rebase(&ctx.repo.branch, ctx.root.config.given("validate"), &files);
        deliver::deliver(ctx, worker, &input(files.clone()), &text)?;
        let file = |path| ConflictedFile { path, kind: "content".into(), markers: 0, regions: String::new() };
        return Ok(Rebased::Conflicts(files.into_iter().map(file).collect()));
    }
    let tree = worker.tree();
    let rebased = run(ctx, worker, base, sha)?;
    if rebased.status.success() {
        return record_done(ctx, worker, base, sha);
    }
    let files = read_conflicts(&ctx.repo, tree)?;
    if !is_rebasing(tree) || files.is_empty() {
        undo(ctx, worker)?;
        return Err(not_done("rebase", &rebased));
    }
    let paths = files.iter().map(|file| file.path.clone()).collect();
    let text = prompt::conflicts(&ctx.repo.branch, ctx.root.config.given("validate"), &files);
    match deliver::deliver(ctx, worker, &input(paths), &text) {
        Ok(_) => fs::remove(&mark_file(ctx, tree)?).map(|()| Rebased::Conflicts(files)),
        // Where its record says so, the text may have arrived, and the worker may be resolving the conflicts already.
        Err(failure) => {
            ctx.warn_on_failure(name, || finish_open(ctx, &ctx.worker(name)?));
            Err(failure)
        }
    }
}

/// Runs a rebase of the worker's own commits. Commits that the default branch has dropped stay dropped. The work is
/// kept under a ref first, and the rebase is marked as ours until it is over or the worker was asked to resolve it.
fn run(ctx: &Context<'_>, worker: &Worker, base: &str, sha: &str) -> Result<Output> {
    let tree = worker.tree();
    let fork = ctx.repo.fork(worker, sha)?;
    // Once more, just before: an agent may have gone on since the plan was made.
    require_at(ctx.repo.is_at(worker.checkout(), sha)?, worker.checkout(), sha)?;
    require_clean(worker, &dirty(&ctx.repo, tree)?, &[])?;
    require_nothing_lost(ctx, worker.checkout(), sha, base)?;
    ctx.repo.update_ref(&[&format!("refs/shopfloor/pre/{}", worker.name), sha])?;
    require_plain_ref(&ctx.repo.common, &format!("refs/heads/{}", worker.branch))?;
    let mark = mark_file(ctx, tree)?;
    fs::create_private_dir(mark.parent().unwrap_or(tree))?;
    fs::replace(&mark, format!("{sha} {base}\n").as_bytes(), Some(fs::PRIVATE))?;
    step(ctx, tree, (sha, base), || ctx.repo.run(tree, &isolated(&["--quiet", "--onto", base, &fork])))
}

/// Runs a command of git that takes the files of a worktree from one commit to another. If it fails on the way, what it has
/// written is put back.
fn step(
    ctx: &Context<'_>,
    tree: &Path,
    (from, to): (&str, &str),
    run: impl FnOnce() -> Result<Output>,
) -> Result<Output> {
    let (git, root) = (ctx.repo.git_for(tree)?, Root::open(tree)?);
    let files = ChangedFiles::between(&git, tree, from, to)?;
    let present = files.present(&root)?;
    // Where there are changes, git writes nothing.
    let is_clean = ChangedFiles::others(&git, tree, &files.before)?.is_empty();
    // Ctrl-C must not leave half of it.
    let _deferred = proc::defer_signals();
    let ran = run();
    let has_failed = match &ran {
        Ok(output) => matches!(output.status, Status::Exited(1..)),
        Err(_) => true,
    };
    if is_clean && has_failed && !is_rebasing(tree) {
        let put_back = proc::tidy_up(|| match ctx.repo.head(tree)?.1.as_deref() == Some(from) {
            true => {
                let checkout = ctx.repo.reading_source(ctx.repo.cmd(tree)?, &[from, to])?;
                files.put_back(&git, (tree, &root), &present, (checkout, from))
            }
            false => Ok(()),
        });
        put_back.map_err(|failure| {
            // A later command knows nothing of what was written here.
            let aside = format!("`git -C {} stash --include-untracked` puts what is there aside", shell_word(tree));
            let hint = format!("wait for it, or remove `index.lock` if it was killed; then {aside}");
            Failure { hints: vec![hint], ..failure }
        })?;
    }
    ran
}

fn not_done(command: &str, output: &Output) -> Failure {
    failed(command, output).hint("the files are as they were; mend the cause, then run the same command again")
}

/// Exit 1 if git would take something away in a worktree on the way from one commit to another, or if another worktree,
/// whose files stay as they are, is on its branch.
pub fn require_nothing_lost(ctx: &Context<'_>, place: Checkout<'_>, from: &str, to: &str) -> Result<()> {
    let tree = place.tree;
    if from != to {
        refuse_elsewhere(&ctx.repo, place)?;
    }
    ChangedFiles::between(&ctx.repo.git_for(tree)?, tree, from, to)?.require_nothing_lost(tree, failure::DIRTY, true)
}

/// Aborts the rebase in a worktree, if one of the worker's own branch is under way. Returns where its work is kept.
pub fn undo(ctx: &Context<'_>, worker: &Worker) -> Result<Vec<String>> {
    let tree = worker.tree();
    let mut kept = Vec::new();
    if is_rebasing(tree) {
        require_own_rebase(worker.checkout())?;
        kept = trash::keep(ctx, worker, &Losses::read(&ctx.repo, worker)?)?;
        kept.iter().for_each(|place| ctx.ui.detail(format!("kept {place}")));
        ctx.repo.ask(tree, &isolated(&["--abort"]))?;
    }
    fs::remove(&mark_file(ctx, tree)?).map(|()| kept)
}

/// The file that marks a rebase as ours, until it is over or the worker was asked to resolve it.
fn mark_file(ctx: &Context<'_>, tree: &Path) -> Result<PathBuf> {
    Ok(layout::private(&ctx.repo.git_dir(tree)?)?.join("rebasing"))
}

/// Undoes a rebase that a command left whose worker was not asked to resolve it. The caller holds the worker's lock.
pub fn finish_open(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    match (mark_file(ctx, worker.tree()), &worker.task) {
        (Ok(mark), Task::Rebasing { .. }) => fs::remove(&mark),
        (Ok(mark), _) if mark.exists() && is_own(worker.tree(), &mark)? => undo(ctx, worker).map(drop),
        // The git of a killed command may be about to start the rebase, so a young mark stays.
        (Ok(mark), _) if fs::age(&mark, ctx.env.later().now).is_none_or(|age| age > START_LIMIT) => fs::remove(&mark),
        _ => Ok(()),
    }
}

/// The time after which the git of a killed command has started its rebase.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Whether the rebase under way is the one that the mark describes.
fn is_own(tree: &Path, mark: &Path) -> Result<bool> {
    let Some(dir) = private_dir(tree).map(|dir| dir.join("rebase-merge")) else { return Ok(false) };
    let text = |path: &Path| -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(path)?.unwrap_or_default()).trim().to_owned())
    };
    Ok(text(mark)? == format!("{} {}", text(&dir.join("orig-head"))?, text(&dir.join("onto"))?))
}

/// Whether there is something for [`finish_open`] to do.
pub fn is_open(ctx: &Context<'_>, worker: &Worker) -> bool {
    mark_file(ctx, worker.tree()).is_ok_and(|mark| mark.exists())
}

/// Whether the files and the index of a worktree are those of a commit, beside untracked files.
fn has_files_of(repo: &WorkRepo, tree: &Path, sha: &str) -> Result<bool> {
    let (git, entries) = repo.index_entries(tree)?;
    let as_in_index = |code: &[u8], path: &[u8]| match code.last() {
        Some(b' ' | b'?') => true,
        // What sparse patterns leave out is not gone.
        Some(b'D') => entries.left_out().any(|of| of == path),
        // No submodule is moved along.
        Some(b'M') => entries.each().any(|(mode, of)| of == path && mode.starts_with(b"160000 ")),
        _ => false,
    };
    let found = git.status_of(tree, &entries, LOOK_LIMIT)?;
    let index = ["diff-index", "--cached", "--quiet", sha, "--"];
    Ok(found.iter().all(|(code, path)| as_in_index(code, path))
        && repo.cmd(tree)?.args(index).capture()?.status.success())
}

/// Moves a worktree that is at `landed` to `at`, in place. Returns why it stays, with nothing lost, when the worktree is
/// somewhere else or something is in the way. Fails if git was killed; then it can be repeated.
pub fn move_worktree(ctx: &Context<'_>, place: Checkout<'_>, landed: &str, at: &str) -> Result<Option<Failure>> {
    let tree = place.tree;
    let changed = || {
        failure::MOVED
            .failure(format!("{} changed meanwhile", tree.display()))
            .hint(format!("look at it: `git -C {} status`; then run the same command again", shell_word(tree)))
    };
    let (branch, head) = if tree.is_dir() { ctx.repo.head(tree).unwrap_or_default() } else { (None, None) };
    let is_at = |sha: &str| head.as_deref() == Some(sha);
    let is_at_home = !is_rebasing(tree) && branch.as_deref() == Some(place.branch);
    // A killed command may have moved it already.
    if !is_at_home || !is_at(landed) || landed == at {
        let is_moved = is_at_home && is_at(at);
        return Ok((!is_moved).then(changed));
    }
    if let Err(failure) = require_nothing_lost(ctx, place, landed, at) {
        return Ok(Some(failure));
    }
    let worker = ctx.worker(place.worker)?;
    require_plain_ref(&ctx.repo.common, &format!("refs/heads/{}", place.branch))?;
    if let Some(sandbox) = sandbox::of(ctx, &worker)? {
        return match sandbox.move_to(place.branch, (landed, at), &ctx.repo.branch) {
            Err(failure) if ["git", "deadline"].contains(&failure.kind) => Ok(Some(failure)),
            moved => Ok((!moved?).then(changed)),
        };
    }
    // `--keep` refuses when a change is in the way, and forgets what is staged elsewhere. Files that are as at the end are
    // those of a git that was killed before it moved the branch.
    let changes: Vec<String> =
        ctx.repo.changes(tree)?.into_iter().filter(|(is_new, _)| !is_new).map(|(_, path)| path).collect();
    if !changes.is_empty() && !has_files_of(&ctx.repo, tree, at)? {
        return Ok(require_clean(&worker, &changes, &[]).err());
    }
    let cmd = ctx.repo.reading_source(ctx.repo.cmd(tree)?, &[landed, at])?.args(["reset", "--quiet", "--keep", at]);
    let moved = step(ctx, tree, (landed, at), || when_unlocked(&cmd, tree))?;
    match moved.status {
        Status::Exited(0) => {}
        Status::Exited(_) => return Ok(Some(not_done("reset", &moved))),
        // Nothing tells how far it got. The next command does it again, or sees that it is done.
        Status::Signalled(_) => return Err(failed("reset", &moved)),
    }
    // The agent may have committed in between. Then the branch goes back to that commit.
    let before = ctx.repo.ask(tree, &["rev-parse", "HEAD@{1}"])?;
    if before != landed {
        ctx.repo.ask(tree, &["reset", "--quiet", "--keep", &before])?;
    }
    Ok((before != landed).then(changed))
}
