//! Removes a worker, or takes its task away. Work that exists nowhere else is refused, or kept on demand.

use std::path::Path;

use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::git::{
    FreshIndex, ListedWorktree, failed, require_lasting_objects, require_plain_ref, require_writable_objects,
};
use shopfloor_core::path::RelPath;
use shopfloor_core::pre_remove;
use shopfloor_core::proc::processes;
use shopfloor_core::text::shell_word;

use crate::apply::{jobs, new_worker, publish, runner, sandbox, session, transition, trash};
use crate::context::Context;
use crate::facts::adoption;
use crate::facts::losses::Losses;
use crate::facts::worker_state::changes;
use crate::failure;
use crate::plan::machine::Input;
use crate::plan::removal::{branch_stays, refuse_loss};
use crate::tmux::typing;
use crate::work_repo::{WorkRepo, require_own_rebase};
use crate::worker::{Checkout, Program, Session, Worker};
use crate::worker_notes::Note;

/// Removes workers one by one, each under its lock, unless `refuse` finds a reason in its record as it is then.
pub fn nuke_each(
    ctx: &Context<'_>,
    workers: &[Worker],
    (is_forced, with_worktree, reaps): (bool, bool, bool),
    refuse: &dyn Fn(&Worker) -> Result<()>,
    when_done: &dyn Fn(&Worker, &[String]),
) -> Result<()> {
    for before in workers {
        let (name, _lock) = (&before.name, ctx.lock(&before.name)?);
        let Some(worker) = ctx.state()?.workers.remove(name) else {
            if is_forced {
                // Where the line of the same command was cut, that goes on, and tells nobody what it has kept.
                let kept = ctx.of(before).and_then(|ctx| trash::kept_of(&ctx, name, before.created_at_unix));
                when_done(before, &kept.unwrap_or_default());
            }
            continue;
        };
        refuse(&worker)?;
        // A source that is gone for good has nothing to put back.
        if !is_forced || ctx.source().is_dir() {
            publish::require_put_back(ctx, std::slice::from_ref(name))?;
        }
        let ctx = &ctx.of(&worker)?;
        let kept = if stays(&worker, with_worktree) {
            forget(ctx, &worker, is_forced)?
        } else {
            nuke(ctx, &worker, (is_forced, reaps))?
        };
        when_done(&worker, &kept);
    }
    Ok(())
}

/// Whether a worker's worktree and branch are the person's own and stay.
pub fn stays(worker: &Worker, with_worktree: bool) -> bool {
    worker.adopted.is_some() && !with_worktree
}

/// Forgets a worker under its lock, whose worktree and branch stay as they are. Returns where the work is kept that nothing
/// else has.
pub fn forget(ctx: &Context<'_>, worker: &Worker, is_forced: bool) -> Result<Vec<String>> {
    check_pinned(ctx, worker, is_forced)?;
    session::end_one(ctx, worker, is_forced)?;
    let mut kept = trash::keep_tips(ctx, worker, &check_pinned(ctx, worker, is_forced)?.tips)?;
    trash::note_kept(ctx, worker, &kept)?;
    with_kept(&kept, remove_record(ctx, worker))?;
    kept.extend(kept_before(worker));
    Ok(kept)
}

/// Removes what we keep of a worker. The state is written last.
fn remove_record(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    // A repository that is gone has no refs of ours.
    if ctx.repo.common.is_dir() {
        publish::drop_journal(&ctx.repo, &worker.name)?;
        transition::unpin(ctx, &worker.name)?;
    }
    typing::remove_text_files(&ctx.root.path, &worker.name)?;
    new_worker::edit_config(ctx, |document| {
        let workers = document.get_mut("workers").and_then(|workers| workers.as_table_like_mut());
        workers.into_iter().for_each(|workers| drop(workers.remove(&worker.name)));
    })?;
    ctx.update(|state| {
        state.workers.remove(&worker.name);
        let children = state.workers.values_mut().filter_map(|child| child.adopted.as_mut());
        children
            .filter(|child| child.target == worker.branch)
            .for_each(|child| child.after_target = worker.target().map(str::to_owned));
        state.last_reviewed.take_if(|last| *last == worker.name);
        Ok(())
    })
}

/// Removes a worker under its lock: ends its session, keeps its work, then removes everything. The state is written
/// last, so that the same command continues after a kill. Returns where the work is kept.
fn nuke(ctx: &Context<'_>, worker: &Worker, (is_forced, reaps): (bool, bool)) -> Result<Vec<String>> {
    refuse_others_inside(&ctx.repo, worker, false)?;
    let nested = check_losses(ctx, worker, None, is_forced)?.nested;
    trash::refuse_locked(ctx, worker)?;
    // Share before the program is ended, and again afterwards for the last files that it wrote. Only then what it works with is
    // taken down.
    // What tmux runs there at a session's end is no program of anybody's.
    let before = processes::working_in(ctx.env, worker.tree());
    let first = trash::run_pre_remove(ctx, worker, &["overlay-sync"], is_forced)?;
    first.require(worker.tree(), is_forced)?;
    session::end_one(ctx, worker, is_forced)?;
    if !is_forced && !reaps {
        session::refuse_others(worker, &ctx.root)?;
    }
    let saved = trash::run_pre_remove(ctx, worker, pre_remove::TOOLS, is_forced)?;
    saved.require(worker.tree(), is_forced)?;
    let mut others = processes::working_in(ctx.env, worker.tree());
    others.retain(|process| before.contains(process));
    let others = processes::reap_these(ctx.env, others, |_| reaps);
    others.notes(worker.tree()).iter().for_each(|note| ctx.ui.note(note));
    first.notes.iter().filter(|note| !saved.notes.contains(note)).for_each(|note| ctx.ui.note(note));
    saved.notes.iter().chain(&saved.refused).for_each(|note| ctx.ui.note(note));
    let seen = trash::files(ctx, worker, nested.into_iter())?;
    let losses = check_losses(ctx, worker, None, is_forced)?;
    let branch = format!("refs/heads/{}", worker.branch);
    let mut kept = keep(ctx, worker, &losses, is_forced)?;
    let removed = || -> Result<Vec<String>> {
        let aside = trash::remove_worktree(ctx, worker, !kept.is_empty(), seen.as_ref())?;
        if branch_stays(worker, &losses) {
            let into = &ctx.repo.branch;
            ctx.ui.note(format!("the branch {} stays: it has commits that {into} lacks", worker.branch));
        } else if let Some(tip) = &losses.branch_tip {
            // Delete the branch only if it is still at the commit that was kept, and nobody works on it.
            let all = ctx.repo.git.list_worktrees(&ctx.repo.common)?;
            if let Some(other) = all.iter().find(|other| other.branch.as_ref() == Some(&worker.branch)) {
                ctx.ui.warn(format!("{} stays: it is checked out in {}", worker.branch, other.path.display()));
                remove_record(ctx, worker)?;
                return Ok(aside);
            }
            // In the person's own repository an agent can move the branch that has the work, if only for a moment.
            if ctx.repo.is_own && kept.is_empty() {
                trash::keep_commit(ctx, &worker.name, tip)?;
            }
            ctx.repo.update_ref(&["-d", &branch, tip])?;
            // A worker's clone has no branches of a person's.
            if ctx.repo.is_own {
                ctx.ui.note(format!("deleted the branch {}, all of which is merged or kept", worker.branch));
            }
        }
        remove_record(ctx, worker)?;
        Ok(aside)
    };
    let aside = with_kept(&kept, removed())?;
    kept.extend(aside.into_iter().chain(kept_before(worker)));
    Ok(kept)
}

/// Keeps what would be lost with a worker or its task, and removes what its program had outside of the worktree. The record
/// says where it is kept until the command has ended. Returns where.
fn keep(ctx: &Context<'_>, worker: &Worker, losses: &Losses, is_forced: bool) -> Result<Vec<String>> {
    let in_sandbox = sandbox::keep_losses(ctx, worker, is_forced)?;
    let mut kept = trash::keep(ctx, worker, losses)?;
    kept.extend(in_sandbox);
    trash::note_kept(ctx, worker, &kept)?;
    sandbox::remove(ctx, worker)?;
    runner::empty(ctx, worker)?;
    Ok(kept)
}

/// Where commands that did not end have kept what they took away.
fn kept_before(worker: &Worker) -> impl Iterator<Item = String> {
    let kept = |note: &Note| if let Note::Kept(place) = note { Some(place.clone()) } else { None };
    worker.notes.iter().filter_map(kept)
}

/// Exit 1, forced or not, while another worktree of the repository lies inside, as a child's does: it would go along.
/// With a reset, one that git ignores stays.
fn refuse_others_inside(repo: &WorkRepo, worker: &Worker, is_reset: bool) -> Result<()> {
    let tree = worker.tree();
    if !tree.is_dir() {
        return Ok(());
    }
    let others = repo.trees()?.into_keys().filter(|path| path != tree && path.is_dir());
    let inside: Vec<_> = others.filter_map(|path| path.strip_prefix(tree).ok().map(Path::to_path_buf)).collect();
    let stay = if is_reset { repo.git_for(tree)?.ignored(tree, &inside, None)? } else { Vec::new() };
    match inside.iter().find(|path| !stay.contains(path)) {
        None => Ok(()),
        Some(inside) => Err(failure::WRONG_STATE
            .failure(format!("the worktree {} lies inside of {}", tree.join(inside).display(), tree.display()))
            .hint("remove that one first, or move it out: `git worktree move`")),
    }
}

/// Makes a worker idle under its lock, on the default branch's commit `base`. A program that was up is restarted, so
/// that it does not know the task any more; with `requeue`, the task goes back to the queue. Returns where the work is kept.
pub fn reset(
    ctx: &Context<'_>,
    worker: &Worker,
    base: &str,
    (is_forced, requeue): (bool, bool),
) -> Result<Vec<String>> {
    let name = &worker.name;
    worker.require_tree(&ctx.source())?;
    let Program { session, job_waits_for, is_stopped, is_to_restart, .. } = &worker.program;
    let is_up = *session == Session::Up || job_waits_for.is_some() || *is_to_restart && !is_stopped;
    let nested = check_losses(ctx, worker, Some(base), is_forced)?.nested;
    if is_up {
        ctx.update_worker(name, |worker| worker.program.is_to_restart = true)?;
        session::end(ctx, std::slice::from_ref(worker), is_forced)?;
    } else {
        // One that nobody could end before may still run.
        jobs::end_or_warn(ctx, &[name], is_forced)?;
    }
    session::refuse_others(worker, &ctx.root)?;
    // Ignored files stay in the worktree, so nothing is lost when this fails.
    let saved = trash::run_pre_remove(ctx, worker, &["overlay-sync"], false)?;
    saved.notes.iter().chain(&saved.refused).for_each(|note| ctx.ui.note(note));
    let seen = trash::files(ctx, worker, nested.into_iter())?;
    let losses = check_losses(ctx, worker, Some(base), is_forced)?;
    let mut kept = keep(ctx, worker, &losses, is_forced)?;
    let aside = with_kept(&kept, clean_worktree(ctx, worker, base, seen.as_ref()))?;
    kept.extend(aside.into_iter().chain(kept_before(worker)));
    transition::record(ctx, name, &Input::Reset { requeue })?;
    if is_up {
        match ctx.state()?.require(name).and_then(|worker| session::start(ctx, worker)) {
            Err(failure) if failure::QUEUED.is_kind_of(&failure) => ctx.ui.note(failure.message),
            started => drop(with_kept(&kept, started)?),
        }
    }
    Ok(kept)
}

/// Exit 1 while an agent program works in the worktree that was not started here. Where a runner of a person's own is up,
/// what it runs cannot be told from one.
pub fn refuse_at_work(ctx: &Context<'_>, worker: &Worker) -> Result<()> {
    let is_hidden = worker.program.session == Session::Up && runner::table(ctx, worker).is_some();
    if is_hidden { Ok(()) } else { session::refuse_others(worker, &ctx.root) }
}

/// Reads the losses, for a branch that goes `back_to` a commit or goes away, and refuses them unless they are to be kept,
/// and always what cannot be kept or removed. An agent may have closed its worktree.
pub fn check_losses(ctx: &Context<'_>, worker: &Worker, back_to: Option<&str>, is_forced: bool) -> Result<Losses> {
    if let Some(path) = adoption::moved(ctx, worker) {
        return Err(failure::WRONG_STATE
            .failure(format!("the worktree of {} was moved to {path}", worker.name))
            .hint("have it go on there: `worker-ctl patrol`"));
    }
    if worker.is_replaced(&ctx.source()) {
        worker.require_tree(&ctx.source())?;
    }
    trash::refuse_mounted(worker.tree())?;
    if is_forced && !ctx.is_dry {
        fs::open_up(worker.tree());
    }
    let repo = &ctx.of(worker)?.repo;
    if back_to.is_some() {
        refuse_elsewhere(repo, worker.checkout())?;
        refuse_others_inside(repo, worker, true)?;
    } else if worker.tree().is_dir() {
        worker.tree().parent().map_or(Ok(()), fs::require_writable)?;
    }
    require_lasting_objects(&repo.common)?;
    let losses = Losses::read_beyond(repo, worker, back_to)?;
    refuse_loss(worker, &losses, is_forced)?;
    if !losses.is_empty() {
        require_writable_objects(&repo.common)?;
    }
    Ok(losses)
}

/// Exit 1 while a worker's branch is checked out in another worktree, too: git would not put it back, and what moves the
/// branch would look there like a change that takes it back.
pub fn refuse_elsewhere(repo: &WorkRepo, Checkout { branch, tree, .. }: Checkout<'_>) -> Result<()> {
    let is_its = |other: &ListedWorktree| other.branch.as_deref() == Some(branch) && other.path != tree;
    let Some(other) = repo.trees()?.into_values().find(is_its) else { return Ok(()) };
    let way = match other.path.is_dir() {
        true => {
            format!("check out another branch there, or none: `git -C {} switch --detach`", shell_word(&other.path))
        }
        false => format!(
            "where nothing is, have git forget it: `git -C {0} worktree unlock {1}; git -C {0} worktree prune`",
            shell_word(&repo.top),
            shell_word(&other.path)
        ),
    };
    Err(failure::WRONG_STATE
        .failure(format!("{branch} is checked out in {}", other.path.display()))
        .hint(format!("{way}; then run the same command again")))
}

/// The same for a worker whose worktree and branch stay: of what only refs of ours and the record have.
pub fn check_pinned(ctx: &Context<'_>, worker: &Worker, is_forced: bool) -> Result<Losses> {
    let losses = Losses::only_pinned(&ctx.of(worker)?.repo, worker)?;
    refuse_loss(worker, &losses, is_forced)?;
    Ok(losses)
}

/// Adds to a failure where the work is kept.
fn with_kept<T>(kept: &[String], result: Result<T>) -> Result<T> {
    result.map_err(|failure| kept.iter().fold(failure, |failure, place| failure.hint(format!("kept: {place}"))))
}

/// Puts a worktree on its branch at `base`, without other files than those that set-up has placed. Exit 1 if its files are
/// not those that were `seen`. Returns where directories were moved to that git cannot keep.
fn clean_worktree(ctx: &Context<'_>, worker: &Worker, base: &str, seen: Option<&FreshIndex>) -> Result<Vec<String>> {
    let tree = worker.tree();
    let mut kept = trash::move_deep(ctx, worker)?;
    kept.extend(trash::move_nested(ctx, worker, base)?);
    require_own_rebase(worker.checkout())?;
    let record = ctx.repo.git_dir(tree)?;
    require_plain_ref(&ctx.repo.common, &format!("refs/heads/{}", worker.branch))?;
    ctx.repo.unhide(tree)?;
    let switch = ["checkout", "--quiet", "--force", "--no-track", "-B", &worker.branch, base];
    let switch = ctx.repo.reading_source(ctx.repo.cmd(tree)?, &[base])?.args(switch);
    // Nothing that takes long is between this look and the checkout.
    if seen.map_or(Ok(false), FreshIndex::is_outdated)? {
        return Err(trash::changed(tree, Vec::new()));
    }
    // The commits are kept, and the checkout below resets the files. `git rebase --quit` would follow a link.
    let under_way = ["rebase-merge", "rebase-apply", "sequencer"];
    under_way.iter().try_for_each(|name| fs::remove_tree(&record.join(name)))?;
    let switched = switch.capture()?;
    if !switched.status.success() {
        return Err(failed("checkout", &switched));
    }
    kept.extend(trash::move_nested(ctx, worker, base)?);
    // Nothing places again what set-up has placed. What came after the look stays, because it is kept nowhere.
    let (left, placed) = changes(&ctx.repo, tree)?;
    let is_new = |path: &&String| seen.is_some_and(|seen| seen.is_before(&tree.join(path)));
    let new = left.iter().filter(is_new).filter_map(|path| RelPath::parse(path).ok());
    let stay: Vec<String> = placed.into_iter().chain(new).map(|path| format!("--exclude={}", path.pattern())).collect();
    let args = ["clean", "--quiet", "-f", "-d"].into_iter().chain(stay.iter().map(String::as_str));
    ctx.repo.ask(tree, &args.collect::<Vec<_>>())?;
    Ok(kept)
}
