//! `accept`: lands a worker's work on the source's default branch.

use std::path::Path;

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::forge::shown_url;
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::printable;

use crate::apply::check;
use crate::apply::land::{self, Checked, Landed};
use crate::apply::land_on_parent;
use crate::apply::push::{merged, push, require_person, take_in};
use crate::apply::rebase;
use crate::commands::hosted::require_no_hub;
use crate::commands::{self, about, joined, look};
use crate::context::Context;
use crate::facts::request::{Own, Remote};
use crate::facts::work_summary::{commits, summary};
use crate::facts::worker_state::Standing;
use crate::failure;
use crate::plan::accept::{Landing, refuse_unseen, require_review};
use crate::plan::rebase::{rebase as plan_rebase, require_resolving};
use crate::plan::request::require_one_place;
use crate::requests::Requests;
use crate::worker::{LandAs, Task, Worker};

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker [default: the one reviewed last]
    pub worker: Option<String>,
    /// Accept work even if it changed since its review or has conflict markers, somebody types in the worker's
    /// terminal, or its program asks a question
    #[arg(long)]
    pub force: bool,
    /// Do not ask about work that nobody has reviewed
    #[arg(long)]
    pub yes: bool,
    /// Land work that the check of config.toml has not found good
    #[arg(long)]
    pub no_check: bool,
    /// Use TEXT as the commit message [default: the message of the work]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = visible)]
    pub message: Option<String>,
    /// Land the work of an adopted worktree as one commit, or as its own [default: as `add` was told]
    #[arg(long, value_name = "HOW")]
    pub land: Option<LandAs>,
    /// Only take in what was merged on the forge, and land nothing
    #[arg(long, conflicts_with_all = ["push", "land", "message", "no_check"])]
    pub merged: bool,
    /// Push the branch afterwards, to the remote that is shown first
    #[arg(long)]
    pub push: bool,
}

/// A text in which there is something to read.
fn visible(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("the text is empty; to land the message of the work, leave the option out"),
        text => Ok(text.to_owned()),
    }
}

/// The answer with `--json`.
pub fn answer(name: &str, outcome: &str, sha: &str, branch: &str) -> Value {
    about(name, json!({ "outcome": outcome, "sha": sha, "commit": sha, "branch": branch }))
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    require_no_hub(ctx)?;
    let finished = commands::recover(ctx)?;
    look(ctx)?;
    let worker = choose(ctx, args.worker.as_deref())?;
    let name = worker.name.clone();
    if let Some(exit) = merged_there(ctx, args, &worker)? {
        return Ok(exit);
    }
    if let Some(new) = finished.get(&name) {
        if args.push {
            ctx.ui.warn(format!("nothing was pushed: `git push` in {} pushes it", ctx.source().display()));
        }
        return Ok(print_finished(&ctx.of(&worker)?, &worker, new));
    }
    let worker = follow_parent(ctx, worker)?;
    let asked = see_unreviewed(ctx, args, &worker)?;
    let lock = ctx.lock(&name)?;
    let worker = land_on_parent::retargeted(ctx, ctx.worker(&name)?)?;
    if ctx.env.is_behind_front && !args.force {
        // A person may have thought about it for long.
        refuse_unseen(&worker)?;
        if asked.is_some() && worker.work.commit_sha != asked {
            return Err(changed_meanwhile(&worker));
        }
    }
    let ctx = &ctx.of(&worker)?;
    require_way(args, &worker)?;
    if let Task::Rebasing { pre_sha, .. } = &worker.task {
        // The worker was asked to resolve the conflicts earlier, when the default branch moved on.
        require_resolving(&worker, &ctx.repo.branch)?;
        return Ok(print_answer(ctx, &worker, pre_sha, &Landed::Rebasing(worker.work.conflicted.clone())));
    }
    if ctx.is_dry {
        return dry_run(ctx, &worker, args);
    }
    drop(lock);
    let checked = check_first(ctx, &worker, args)?;
    let (pushed, asked) = match args.push {
        // The check may have put the work on the branch.
        true => {
            let worker = ctx.worker(&name)?;
            (Some(see_push(ctx, &worker, args)?), worker.work.commit_sha)
        }
        false => (None, asked),
    };
    let (_lock, now) = (ctx.lock(&name)?, ctx.worker(&name)?);
    if asked.is_some() && now.work.commit_sha != asked {
        return Err(changed_meanwhile(&now));
    }
    let landed = land::land(ctx, &name, args.force, (args.message.as_deref(), args.land), &checked)?;
    tell_unchecked(ctx, args.no_check && check::command(&ctx.root).is_some(), &name, &landed);
    let landed = match (pushed, landed) {
        (Some(pushed), Landed::Accepted(new)) => match push_landed(ctx, &pushed, &new) {
            Ok(()) => Landed::Accepted(new),
            Err(failure) => Landed::Unfinished(new, failure),
        },
        (Some(_), landed) => {
            ctx.ui.note("nothing was pushed");
            landed
        }
        (None, landed) => landed,
    };
    Ok(print_answer(ctx, &worker, worker.work.commit_sha.as_deref().unwrap_or_default(), &landed))
}

/// Takes in the worker's request if it was merged on the forge.
fn merged_there(ctx: &Context<'_>, args: &Args, worker: &Worker) -> Result<Option<Exit>> {
    let (ctx, name) = (&ctx.of(worker)?, &worker.name);
    let Some((forge, request)) = merged(ctx, worker, (args.merged, args.yes))? else {
        // A dry run asks nobody.
        let known = Requests::last(&ctx.root.path);
        if let Some(request) = known.of(&worker.branch).filter(|request| ctx.is_dry && request.state == "merged") {
            let would = format!("take in request {} of {name}, as it was known last", request.number);
            return Ok(Some(ctx.ui.would(&answer(name, "merged", "", &ctx.repo.branch), &[would])));
        }
        if !args.merged {
            return Ok(None);
        }
        // One that was merged while it works.
        if worker.has_request() && known.of(&worker.branch).is_some_and(|request| request.state == "merged") {
            require_review(worker)?;
        }
        return Err(Failure::not_found(format!("no request of {name} was merged that was not taken in yet"))
            .hint("`worker-ctl status --requests` shows the requests"));
    };
    let (_lock, now) = (ctx.lock(name)?, ctx.worker(name)?);
    if now.work.commit_sha != worker.work.commit_sha {
        return Err(changed_meanwhile(&now));
    }
    let new = take_in(ctx, name, &forge)?;
    let branch = &ctx.repo.branch;
    match ctx.ui.is_json() {
        true => ctx.ui.json(&answer(name, "merged", &new, branch)),
        false => {
            ctx.ui.line(&new);
            ctx.ui.note(format!("request {} of {name} was merged into {branch}", request.number));
        }
    }
    Ok(Some(Exit::Done))
}

/// The standing of a child whose work sits on commits that the branch on which it lands does not have, as once its parent
/// has landed as one commit. A rebase leaves them out.
fn left_behind(ctx: &Context<'_>, worker: &Worker) -> Result<Option<Standing>> {
    if worker.task != Task::NeedsReview || !land::sits_on_parent(ctx, worker)? {
        return Ok(None);
    }
    let standing = Standing::read(ctx, worker)?;
    Ok(Some(standing).filter(|standing| standing.work.as_ref().is_some_and(|work| work.was_moved_back)))
}

/// Has such a child follow its parent first, as a review does. Returns its record.
fn follow_parent(ctx: &Context<'_>, worker: Worker) -> Result<Worker> {
    let ctx = &ctx.of(&worker)?;
    if ctx.is_dry || left_behind(ctx, &worker)?.is_none() {
        return Ok(worker);
    }
    let (worker, _lock) = commands::locked(ctx, &worker.name)?;
    if let Some(standing) = left_behind(ctx, &worker)? {
        let plan = plan_rebase(&standing, &ctx.repo.branch)?;
        rebase::carry_out(ctx, &standing, plan, false)?;
    }
    ctx.worker(&worker.name)
}

/// The front door promises more than a tool that scripts run: it asks about work that nobody has reviewed. Returns the commit
/// about which a person was asked.
pub fn see_unreviewed(ctx: &Context<'_>, args: &Args, worker: &Worker) -> Result<Option<String>> {
    let is_seen = worker.task != Task::NeedsReview || worker.work.reviewed_patch.is_some();
    let (name, target) = (&worker.name, worker.target().unwrap_or(&ctx.clone.branch));
    // Also on a terminal: agents work in one.
    if !is_seen && !args.force && !ctx.is_dry {
        refuse_agent(ctx, name, target)?;
    }
    if !ctx.env.is_behind_front || args.force {
        return Ok(None);
    }
    refuse_unseen(worker)?;
    if is_seen || ctx.is_dry || !ctx.ui.can_ask() {
        return Ok(None);
    }
    let question = format!("Nobody has reviewed the work of {name}. Land it on {target} all the same?");
    ctx.ui.require_yes(args.yes, &question, "nothing landed")?;
    Ok(worker.work.commit_sha.clone())
}

/// Exit 2 if the work cannot land in the way that the arguments name.
fn require_way(args: &Args, worker: &Worker) -> Result<()> {
    let name = &worker.name;
    let lands_commits = args.land.unwrap_or(worker.land()) == LandAs::Commits;
    if worker.adopted.is_none() && lands_commits {
        return Err(Failure::usage(format!("the work of {name}, in the root's clone, lands as one commit"))
            .hint("leave `--land` out"));
    }
    if lands_commits && worker.land() == LandAs::Squash && worker.work.reviewed_sha.is_some() {
        let path = shell_word(Path::new(&worker.worktree_path));
        return Err(Failure::usage(format!("the work of {name} was reviewed as one commit")).hint(format!(
            "to review each commit: `worker-ctl add --worktree {path} --land commits`, then review it once more"
        )));
    }
    if lands_commits && args.message.is_some() {
        return Err(Failure::usage("commits that land as they are keep their messages")
            .hint("leave `--message` out, or use `--land squash`"));
    }
    Ok(())
}

fn word(text: &str) -> String {
    shell_word(text.as_ref())
}

/// What a person has agreed to push.
struct SeenPush {
    own: Own,
    remote: Remote,
    /// The branch's commit when they were asked, and how many commits land.
    base: String,
    count: usize,
}

/// Shows what would be pushed to which remote, and asks.
fn see_push(ctx: &Context<'_>, worker: &Worker, args: &Args) -> Result<SeenPush> {
    let (own, branch) = (Own::of(ctx)?, &ctx.repo.branch);
    let (base, sha) = (ctx.repo.fetched(&ctx.source())?, require_review(worker)?);
    let remote = own.remote(branch)?;
    let work = commits(&ctx.repo, &ctx.repo.range(&base, sha))?;
    let url = require_one_place(&remote)?;
    let mut lines = vec![format!(
        "this leaves the machine, to the branch {branch} of {}, which is {}:",
        remote.name,
        shown_url(url)
    )];
    lines.extend(work.iter().map(|[_, author, _, _, text]| format!("the work of {} ({author}): {text}", worker.name)));
    let whole = commands::fork(ctx, sha)?;
    lines.push(summary(ctx, worker, &whole, sha, None)?.stat);
    let mut lines: Vec<String> =
        lines.iter().flat_map(|line| line.lines()).map(|line| line.trim_end().to_owned()).collect();
    let mut heads = own.heads(url)?;
    if let Some(there) = heads.get(branch).filter(|there| !own.has(&base, there).unwrap_or(false)) {
        return Err(failure::PUSHED
            .failure(format!("{branch} at {} has commits that {branch} here lacks", printable(&remote.name)))
            .details([format!("  {there}")])
            .hint(format!("take them in first: `git pull {} {}`", word(&remote.name), word(branch))));
    }
    // What another branch there has, this one gets by the push all the same.
    if heads.contains_key(branch) {
        heads.retain(|name, _| name == branch);
    }
    lines.extend(own.lacking(&base, &heads)?);
    ctx.ui.show(&lines);
    require_person(ctx, args.yes, "Land it and push that?", "nothing landed or was pushed")?;
    let lands_commits = args.land.unwrap_or(worker.land()) == LandAs::Commits;
    Ok(SeenPush { own, remote, base, count: if lands_commits { work.len() } else { 1 } })
}

/// Pushes what has landed, but nothing that came between.
fn push_landed(ctx: &Context<'_>, SeenPush { own, remote, base, count }: &SeenPush, new: &str) -> Result<()> {
    let (branch, name) = (&ctx.repo.branch, printable(&remote.name));
    let push_it = format!("git push {} {}", word(&remote.name), word(branch));
    let then = format!("it has landed; look at {branch}, then push it yourself: `{push_it}`");
    if own.count(base, new)? > *count {
        return Err(failure::MOVED.failure(format!("{branch} moved meanwhile, so it was not pushed")).hint(then));
    }
    if own.remote(branch)? != *remote {
        return Err(failure::MOVED.failure(format!("{name} leads elsewhere by now, so nothing was pushed")).hint(then));
    }
    // Half of it is done.
    push(own, remote, (new, branch), None, &then).map_err(|failure| Failure { exit: Exit::Failed, ..failure })?;
    ctx.ui.note(format!("{branch} was pushed to {name}"));
    Ok(())
}

fn dry_run(ctx: &Context<'_>, worker: &Worker, args: &Args) -> Result<Exit> {
    let (name, branch) = (&worker.name, ctx.repo.branch.as_str());
    if let Some(standing) = left_behind(ctx, worker)? {
        plan_rebase(&standing, branch)?;
        let would = format!("rebase {name} onto {}, and land it there", standing.base);
        let sha = worker.work.commit_sha.as_deref().unwrap_or_default();
        return Ok(ctx.ui.would(&answer(name, "accepted", sha, branch), &[would]));
    }
    let (plan, _) = land::plan(ctx, name, args.force, args.land)?;
    land::tell_unreviewed(ctx, &plan);
    let (outcome, lands) = plan.describe(branch, &ctx.source());
    let mut would = vec![lands];
    if args.push && !matches!(plan.landing, Landing::Nothing | Landing::Conflict) {
        let remote = Own::of(ctx)?.remote(branch)?;
        let place = shown_url(require_one_place(&remote)?);
        would.push(format!("push {branch} to {}, which is {place}, after asking", remote.name));
    }
    Ok(ctx.ui.would(&answer(name, outcome, &plan.sha, branch), &would))
}

/// Exit 1: the commit about which a person was asked is not the one any more. Somebody else may have landed it.
pub fn changed_meanwhile(worker: &Worker) -> Failure {
    let changed = format!("{} has another commit by now", worker.name);
    require_review(worker).err().unwrap_or_else(|| failure::CHANGED.failure(changed).hint("run the same command again"))
}

/// Checks the work first, if that is wanted.
fn check_first(ctx: &Context<'_>, worker: &Worker, args: &Args) -> Result<Checked> {
    match args.no_check || check::command(&ctx.root).is_none() {
        true => Ok(Checked::Unwanted),
        false => land::check_first(ctx, &worker.name, args.force, args.land),
    }
}

/// Says so where work has landed without the check that it has.
pub fn tell_unchecked(ctx: &Context<'_>, is_unchecked: bool, name: &str, landed: &Landed) {
    if is_unchecked && matches!(landed, Landed::Accepted(_) | Landed::Unfinished(..)) {
        ctx.ui.note(format!("the work of {name} lands without its check"));
    }
}

/// Exit 3 where an agent's own program wants to land work that nobody has reviewed, but on that agent's own branch.
fn refuse_agent(ctx: &Context<'_>, name: &str, target: &str) -> Result<()> {
    let Some(agent) = land_on_parent::other_agent(ctx, target)? else { return Ok(()) };
    Err(Failure::new(
        Exit::Decide,
        "undecided",
        format!("nobody has reviewed the work of {name}, and the agent {} wants to land it", printable(&agent)),
    )
    .hint(format!("a person lands it: `worker-ctl review {name}`, then `worker-ctl accept {name}`")))
}

/// The refusal of work that nobody has reviewed as it is, where nobody named it.
pub fn not_reviewed(name: &str) -> Failure {
    failure::WRONG_STATE
        .failure(format!("the current work of {name} was not reviewed"))
        .hint(format!("review it with `worker-ctl review {name}`, or name the worker: `worker-ctl accept {name}`"))
}

/// The named worker, or else the one reviewed last, provided that its work has not changed since.
fn choose(ctx: &Context<'_>, name: Option<&str>) -> Result<Worker> {
    let state = ctx.state()?;
    if let Some(name) = name {
        return state.require(name).cloned();
    }
    let refuse = |why: &str, hint: &str| Err(failure::WRONG_STATE.failure(why).hint(hint));
    let Some(worker) = state.last_reviewed.as_ref().and_then(|name| state.workers.get(name)) else {
        return refuse("nothing was reviewed", "name the worker, or review its work first: `worker-ctl review`");
    };
    let name = &worker.name;
    if worker.task == Task::NeedsReview && worker.work.reviewed_sha != worker.work.commit_sha {
        return Err(not_reviewed(name));
    }
    Ok(worker.clone())
}

/// The answer of a command that has finished an accept that was cut off. It lands nothing more, as nobody has seen what came
/// since.
pub fn print_finished(ctx: &Context<'_>, worker: &Worker, new: &str) -> Exit {
    if worker.task == Task::NeedsReview {
        let name = &worker.name;
        ctx.ui.note(format!("{name} has landed; what it has now waits for a review: `worker-ctl review {name}`"));
    }
    print_answer(ctx, worker, new, &Landed::Accepted(new.to_owned()))
}

pub fn print_answer(ctx: &Context<'_>, worker: &Worker, sha: &str, landed: &Landed) -> Exit {
    let (name, branch) = (&worker.name, &ctx.repo.branch);
    let (outcome, sha, exit) = match landed {
        Landed::Accepted(new) => ("accepted", new.as_str(), Exit::Done),
        Landed::Unfinished(new, failure) => ("accepted", new.as_str(), failure.exit),
        Landed::NothingToMerge(base) => ("nothing_to_merge", base.as_str(), Exit::Done),
        Landed::Rebasing(_) => ("rebasing", sha, Exit::No),
    };
    let answer = answer(name, outcome, sha, branch);
    match landed {
        Landed::Unfinished(_, failure) if ctx.ui.is_json() => {
            ctx.ui.json(&joined(answer, ctx.ui.error_key(failure)));
        }
        _ if ctx.ui.is_json() => ctx.ui.json(&answer),
        Landed::Accepted(new) => ctx.ui.line(new),
        Landed::Unfinished(new, failure) => {
            ctx.ui.line(new);
            ctx.ui.error(failure);
        }
        Landed::NothingToMerge(_) => {
            ctx.ui.note(format!("there is nothing to merge: {branch} has all of {name}'s work"));
        }
        Landed::Rebasing(files) => {
            ctx.ui.note(format!("{name} conflicts with {branch} and was asked to resolve the conflicts"));
            files.iter().for_each(|file| ctx.ui.note(printable(file)));
        }
    }
    exit
}
