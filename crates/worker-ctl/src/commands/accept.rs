//! `accept`: lands a worker's work on the source's default branch.

use std::path::Path;

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::printable;

use crate::apply::check;
use crate::apply::land::{self, Checked, Landed};
use crate::commands::{self, about, look};
use crate::context::Context;
use crate::failure;
use crate::plan::accept::refuse_unseen;
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
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,
    /// Land the work of an adopted worktree as one commit, or as its own [default: as `add` was told]
    #[arg(long, value_name = "HOW")]
    pub land: Option<LandAs>,
}

/// The answer with `--json`.
fn answer(name: &str, outcome: &str, sha: &str, branch: &str) -> Value {
    about(name, json!({ "outcome": outcome, "sha": sha, "commit": sha, "branch": branch }))
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let finished = commands::recover(ctx)?;
    look(ctx)?;
    let worker = choose(ctx, args.worker.as_deref())?;
    let name = worker.name.clone();
    // The front door promises more than a tool that scripts run. The commit about which a person was asked:
    let mut asked = None;
    if ctx.env.is_behind_front && !args.force {
        refuse_unseen(&worker)?;
        let is_seen = worker.task != Task::NeedsReview || worker.work.reviewed_patch.is_some();
        let target = worker.target().unwrap_or(ctx.root.config.text("branch"));
        if !is_seen && !ctx.ui.can_ask() && !ctx.is_dry {
            refuse_agent(ctx, &name, target)?;
        }
        if !is_seen && ctx.ui.can_ask() && !ctx.is_dry {
            let question = format!("Nobody has reviewed the work of {name}. Land it on {target} all the same?");
            ctx.ui.require_yes(args.yes, &question, "nothing landed")?;
            asked = worker.work.commit_sha;
        }
    }
    let lock = ctx.lock(&name)?;
    let worker = ctx.worker(&name)?;
    if ctx.env.is_behind_front && !args.force {
        // A person may have thought about it for long.
        refuse_unseen(&worker)?;
        if asked.is_some() && worker.work.commit_sha != asked {
            return Err(changed_meanwhile(&name));
        }
    }
    let ctx = &ctx.of(&worker)?;
    let lands_commits = args.land.unwrap_or(worker.land()) == LandAs::Commits;
    if worker.adopted.is_none() && lands_commits {
        return Err(Failure::usage(format!("the work of {name}, in the root's clone, lands as one commit"))
            .hint("leave `--land` out"));
    }
    if lands_commits && worker.land() == LandAs::Squash && worker.work.reviewed_sha.is_some() {
        let path = shell_word(Path::new(&worker.worktree_path));
        return Err(Failure::usage(format!("the work of {name} was reviewed as one commit")).hint(format!(
            "to review each commit: `worker-ctl nuke {name}`, then `worker-ctl add {name} --worktree {path} --land commits`"
        )));
    }
    if lands_commits && args.message.is_some() {
        return Err(Failure::usage("commits that land as they are keep their messages")
            .hint("leave `--message` out, or use `--land squash`"));
    }
    if let Task::Rebasing { pre_sha, .. } = &worker.task {
        // The worker was asked to resolve the conflicts earlier, when the default branch moved on.
        return Ok(print_answer(ctx, &worker, pre_sha, &Landed::Rebasing(worker.work.conflicted.clone())));
    }
    if let Some(new) = finished.get(&name).filter(|_| worker.task == Task::Idle) {
        return Ok(print_answer(ctx, &worker, new, &Landed::Accepted(new.clone())));
    }
    if ctx.is_dry {
        return dry_run(ctx, &name, args);
    }
    drop(lock);
    let checked = check_first(ctx, &worker, args)?;
    let _lock = ctx.lock(&name)?;
    if asked.is_some() && ctx.worker(&name)?.work.commit_sha != asked {
        return Err(changed_meanwhile(&name));
    }
    let landed = land::land(ctx, &name, args.force, (args.message.as_deref(), args.land), &checked)?;
    Ok(print_answer(ctx, &worker, worker.work.commit_sha.as_deref().unwrap_or_default(), &landed))
}

fn dry_run(ctx: &Context<'_>, name: &str, args: &Args) -> Result<Exit> {
    let (plan, _) = land::plan(ctx, name, args.force, args.land)?;
    land::tell_unreviewed(ctx, &plan);
    let branch = ctx.repo.branch.as_str();
    let would = plan.describe(branch, &ctx.source());
    Ok(commands::show(ctx.ui, answer(name, plan.landing.outcome(), &plan.sha, branch), &[would]))
}

/// Exit 1: the commit about which a person was asked is not the one any more.
fn changed_meanwhile(name: &str) -> Failure {
    failure::CHANGED.failure(format!("{name} has another commit by now")).hint("run the same command again")
}

/// Checks the work first, if that is wanted.
fn check_first(ctx: &Context<'_>, worker: &Worker, args: &Args) -> Result<Checked> {
    if check::command(ctx).is_none() {
        return Ok(Checked::Unwanted);
    }
    if args.no_check {
        ctx.ui.note(format!("the work of {} lands without its check", worker.name));
        return Ok(Checked::Unwanted);
    }
    land::check_first(ctx, &worker.name, args.force, args.land)
}

/// Exit 3 where an agent's own program wants to land work that nobody has reviewed, but on that agent's own branch.
fn refuse_agent(ctx: &Context<'_>, name: &str, target: &str) -> Result<()> {
    let Some(agent) = ctx.env.var("WORKER_CTL_WORKER").and_then(|agent| agent.to_str()) else { return Ok(()) };
    if ctx.worker(agent).is_ok_and(|agent| agent.branch == target) {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Decide,
        "undecided",
        format!("nobody has reviewed the work of {name}, and the agent {} wants to land it", printable(agent)),
    )
    .hint(format!("a person lands it: `worker-ctl review {name}`, then `worker-ctl accept {name}`")))
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
        return refuse(
            &format!("the current work of {name} was not reviewed"),
            &format!("review it with `worker-ctl review {name}`, or name the worker: `worker-ctl accept {name}`"),
        );
    }
    Ok(worker.clone())
}

fn print_answer(ctx: &Context<'_>, worker: &Worker, sha: &str, landed: &Landed) -> Exit {
    let (name, branch) = (&worker.name, &ctx.repo.branch);
    let (outcome, sha, exit) = match landed {
        Landed::Accepted(new) => ("accepted", new.as_str(), Exit::Done),
        Landed::NothingToMerge(base) => ("nothing_to_merge", base.as_str(), Exit::Done),
        Landed::Rebasing(_) => ("rebasing", sha, Exit::No),
    };
    match landed {
        _ if ctx.ui.is_json() => ctx.ui.json(&answer(name, outcome, sha, branch)),
        Landed::Accepted(new) => ctx.ui.line(new),
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
