//! `review` and `accept` of the work of a host's worker.

use shopfloor_core::error::{Exit, Failure, Result};

use crate::apply::host_work::{self, name_of, ssh_to};
use crate::apply::land::{self, Landed};
use crate::apply::{check, land_on_parent, landing_lfs, publish};
use crate::commands::on_host::Line;
use crate::commands::{self, accept, review};
use crate::context::Context;
use crate::facts::work_summary::summary;
use crate::facts::worker_state::{Standing, WorkFacts, WorktreeFacts};
use crate::failure;
use crate::hosts::{self, Host, HostWork, PERHAPS, SeenWork};
use crate::layout::RootLock;
use crate::plan::accept::{Accept, Landing, accept as plan_accept, refuse_unseen, require_review, several_bases};
use crate::plan::check::record;
use crate::ssh;
use crate::worker::{Task, Worker};

/// Brings the work here, shows it and records that it was reviewed.
pub fn review(ctx: &Context<'_>, line: &Line, args: &review::Args) -> Result<Exit> {
    let (host, name) = (&line.host, line.worker()?);
    let no_pin = args.no_pin.then_some("--no-pin");
    let how = if ctx.is_dry { Some("--dry-run") } else { no_pin };
    let looking = args.no_pin.then(|| ctx.looking());
    let ctx = looking.as_ref().unwrap_or(ctx);
    if !ctx.is_dry {
        host_work::sync(ctx, host)?;
    }
    // The host brings it up to date first, and knows then that it may be sent back.
    let words: Vec<&str> = ["review", name, "--no-diff"].into_iter().chain(how).collect();
    let said = ssh_to(ctx, host).ask(&words, ssh::LONG)?;
    let sha = said["sha"].as_str().unwrap_or_default().to_owned();
    let row = host_work::row(ctx, host, name)?;
    let mut pinned = None;
    let reviewed = {
        let _lock = hosts::lock(&ctx.root.path, &host.name)?;
        // Other work may have landed since, also where this is a dry run.
        ctx.repo.fetch(&ctx.source())?;
        host_work::fetch(ctx, host, name, &sha)?;
        let mut worker = host_work::worker(ctx, host, &row)?;
        worker.work.commit_sha = Some(sha.clone());
        if ctx.repo.has_several_bases(&ctx.repo.base(), &sha)? {
            return Err(several_bases(&worker.name, &ctx.repo.branch));
        }
        let from = commands::fork(ctx, &sha)?;
        let shown = worker.work.shown_sha.as_ref().and_then(|shown| Some((commands::fork(ctx, shown).ok()?, shown)));
        let shown = shown.as_ref().map(|(from, shown)| (from.as_str(), shown.as_str()));
        let summary = summary(ctx, &worker, &from, &sha, shown)?;
        let agent = land_on_parent::other_agent(ctx, &ctx.repo.branch)?;
        if agent.is_some() {
            ctx.ui.note("an agent looks at it, so it does not count as reviewed");
        } else if !ctx.is_dry && !review::is_too_long(ctx, args, (&from, &sha))? {
            let seen = SeenWork { sha: sha.clone(), patch: ctx.repo.work_digest(&sha)? };
            let before = HostWork::load(&ctx.root.path, &host.name)?.reviews.remove(name);
            host_work::pin(ctx, host, name, seen.clone())?;
            pinned = (before.as_ref() != Some(&seen)).then_some((seen, before));
        }
        review::Reviewed { worker, from, sha, summary, comments: Some(said["comments"].clone()) }
    };
    match (review::show(ctx, &reviewed, args.interface, true), pinned) {
        (Err(failure), Some((seen, before))) => {
            ctx.warn_on_failure(name, || {
                let _lock = hosts::lock(&ctx.root.path, &host.name)?;
                host_work::not_seen(ctx, host, name, &seen, before)
            });
            Err(failure.hint(review::NOT_REVIEWED))
        }
        (shown, _) => shown.map(|()| Exit::Done),
    }
}

/// Lands the work on the source as that of a local worker, and tells the host.
pub fn accept(ctx: &Context<'_>, line: &Line, args: &accept::Args) -> Result<Exit> {
    let (host, there) = (&line.host, line.worker()?);
    let name = name_of(host, there);
    if args.merged || args.push || args.land.is_some() {
        return Err(Failure::usage("the work of a host's worker lands as one commit of the source, and is not pushed")
            .hint("leave `--merged`, `--push` and `--land` out"));
    }
    let read = || host_work::worker(ctx, host, &host_work::row(ctx, host, there)?);
    // What is in the way of a local worktree is in the way there, too.
    let require_settled =
        |sha: &str| ssh_to(ctx, host).ask(&["landed", "--dry-run", there, sha, sha, sha], ssh::LONG).map(drop);
    if ctx.is_dry {
        let worker = read()?;
        require_seen(&worker, args.force)?;
        require_settled(require_review(&worker)?)?;
        return dry_run(ctx, (host, there), worker, args.force);
    }
    let finished = host_work::sync(ctx, host)?;
    ssh_to(ctx, host).ask(&["patrol"], ssh::LONG)?;
    let worker = read()?;
    if let Some(new) = finished.get(&name) {
        return Ok(accept::print_finished(ctx, &worker, new));
    }
    if let Task::Rebasing { pre_sha, .. } = &worker.task {
        return Ok(accept::print_answer(ctx, &worker, pre_sha, &Landed::Rebasing(Vec::new())));
    }
    let sha = require_review(&worker)?.to_owned();
    if args.worker.is_none() && worker.work.reviewed_patch.is_none() {
        return Err(accept::not_reviewed(&name));
    }
    // Both may take long, so nobody waits for them.
    accept::see_unreviewed(ctx, args, &worker)?;
    check_there(ctx, host, there, &worker, args)?;
    let _host = hosts::lock(&ctx.root.path, &host.name)?;
    let mut worker = read()?;
    if worker.task != Task::NeedsReview || worker.work.commit_sha.as_ref() != Some(&sha) {
        return Err(accept::changed_meanwhile(&worker));
    }
    require_seen(&worker, args.force)?;
    host_work::fetch(ctx, host, there, &sha)?;
    host_work::carry_over(ctx, &mut worker, &ctx.repo.fetched(&ctx.source())?)?;
    require_settled(&sha)?;
    let _own = ctx.lock(&name)?;
    let landed = land::while_parent_rests(ctx, &worker, args.force, || publish_work(ctx, &worker, args))?;
    let has_check = check::command(&ctx.root).is_some() || record(&worker).is_some_and(|check| !check.ok);
    accept::tell_unchecked(ctx, has_check && args.no_check, &name, &landed);
    let new = match &landed {
        Landed::Accepted(new) | Landed::Unfinished(new, _) | Landed::NothingToMerge(new) => new,
        Landed::Rebasing(_) => {
            let files = resolve_there(ctx, host, (there, &sha), args.force)?;
            return Ok(accept::print_answer(ctx, &worker, &sha, &Landed::Rebasing(files)));
        }
    };
    // It has landed; what is not done now is done by the next command to the host, or by `up`.
    if let Err(failure) = host_work::tell_landed(ctx, host, there, (&sha, new)) {
        ctx.ui.warn(format!("{name} has landed, and {} does not know it yet: {failure}", host.name));
    }
    Ok(accept::print_answer(ctx, &worker, &sha, &landed))
}

/// Shows how the work would land. As for a review, the commits come here also in a dry run.
fn dry_run(ctx: &Context<'_>, (host, there): (&Host, &str), mut worker: Worker, is_forced: bool) -> Result<Exit> {
    let _lock = hosts::lock(&ctx.root.path, &host.name)?;
    ctx.repo.fetch(&ctx.source())?;
    host_work::fetch(ctx, host, there, require_review(&worker)?)?;
    let (base, branch) = (ctx.repo.require_base()?, &ctx.repo.branch);
    host_work::carry_over(ctx, &mut worker, &base)?;
    let plan = plan(ctx, &worker, base, is_forced)?;
    land::tell_unreviewed(ctx, &plan);
    let (outcome, would) = plan.describe(branch, &ctx.source());
    Ok(ctx.ui.would(&accept::answer(&worker.name, outcome, &plan.sha, branch), &[would]))
}

/// Plans how the work lands on this commit of the branch.
fn plan(ctx: &Context<'_>, worker: &Worker, base: String, is_forced: bool) -> Result<Accept> {
    let sha = require_review(worker)?;
    let worktree =
        WorktreeFacts { branch: Some(worker.branch.clone()), head: Some(sha.to_owned()), ..WorktreeFacts::default() };
    let work = Some(WorkFacts::read(&ctx.repo, worker, &base, sha.to_owned())?);
    plan_accept(&Standing { worker: worker.clone(), base, worktree, work }, &ctx.repo.branch, is_forced)
}

/// Exit 1 for work that may have been sent back and was not reviewed since, unless that is forced.
fn require_seen(worker: &Worker, is_forced: bool) -> Result<()> {
    let is_doubtful = !is_forced && worker.work.changes.as_deref() == Some(PERHAPS);
    if is_doubtful { refuse_unseen(worker) } else { Ok(()) }
}

/// Sees that the host has found the work good, where `config.toml` here asks for a check, and that it has not found it bad.
fn check_there(ctx: &Context<'_>, host: &Host, there: &str, worker: &Worker, args: &accept::Args) -> Result<()> {
    let (name, is_good) = (&worker.name, record(worker).map(|check| check.ok));
    // A host may have a check of its own.
    if args.no_check || check::command(&ctx.root).is_none() && is_good != Some(false) {
        return Ok(());
    }
    match is_good {
        Some(true) => Ok(()),
        Some(false) => Err(failure::CHECK_FAILED
            .failure(format!("the check of the work of {name} failed on {}", host.name))
            .hint(format!(
                "`worker-ctl check {name}` runs it again there, and `worker-ctl accept {name} --no-check` lands the work all \
                 the same"
            ))),
        None => ssh_to(ctx, host).ask(&["check", there], ssh::LONG).map(drop),
    }
}

/// Plans and publishes, once more if the branch moves meanwhile.
fn publish_work(ctx: &Context<'_>, worker: &Worker, args: &accept::Args) -> Result<Landed> {
    let _publishing = ctx.lock_root(RootLock::Publish)?;
    publish::require_put_back(ctx, &publish::list_journals(&ctx.root.path)?)?;
    for _ in 0..3 {
        let plan = plan(ctx, worker, ctx.repo.fetched(&ctx.source())?, args.force)?;
        land::tell_unreviewed(ctx, &plan);
        match &plan.landing {
            Landing::Commit { tree } => {
                landing_lfs::copy(ctx, &landing_lfs::read(ctx, None, &plan.base, tree)?)?;
                let new = publish::commit(ctx, worker, &plan, tree, args.message.as_deref())?;
                if publish::publish(ctx.ui, &ctx.repo, &ctx.source(), &plan, &new)? {
                    return Ok(Landed::Accepted(new));
                }
            }
            Landing::Nothing => {
                publish::write_journal(&ctx.repo, &plan, &plan.base)?;
                return Ok(Landed::NothingToMerge(plan.base));
            }
            _ => return Ok(Landed::Rebasing(Vec::new())),
        }
    }
    Err(failure::NOT_PUBLISHED
        .failure(format!("the branch {} of the source changes all the time", ctx.repo.branch))
        .hint("run the same command again"))
}

/// Lets the host ask its worker to resolve the conflicts with the branch as it is here. Returns the files.
fn resolve_there(ctx: &Context<'_>, host: &Host, (there, sha): (&str, &str), is_forced: bool) -> Result<Vec<String>> {
    host_work::push_base(ctx, host)?;
    let words: &[&str] = if is_forced { &["rebase", there, "--force"] } else { &["rebase", there] };
    let said = ssh_to(ctx, host).ask(words, ssh::LONG)?;
    match said["outcome"].as_str() {
        Some("rebasing") => ctx.repo.conflicting_files(&ctx.repo.require_base()?, sha),
        _ => Err(failure::MOVED
            .failure(format!("{} was rebased and merges now", name_of(host, there)))
            .hint("run the same command again")),
    }
}
