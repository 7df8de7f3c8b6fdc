//! `request`: pushes a worker's work, and makes a request for it on the forge.

use clap::Args as ClapArgs;
use serde_json::json;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::forge::{Forge, Request, cleaned, shown_url};
use shopfloor_core::git::require_lasting_objects;
use shopfloor_core::text::printable;

use crate::apply::push::{bring, push, require_person};
use crate::commands::{self, about, joined, look};
use crate::context::Context;
use crate::facts::request::{Outgoing, Own};
use crate::facts::work_summary::{Authored, Summary, authored, summary};
use crate::facts::worker_state::Standing;
use crate::failure;
use crate::plan::accept::require_review;
use crate::plan::check::record;
use crate::plan::request::{Push, request};
use crate::plan::require_clean;
use crate::requests::Requests;
use crate::work_repo::{MergeResult, common_dir};
use crate::worker::Worker;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker
    pub worker: String,
    /// Make it a draft
    #[arg(long)]
    pub draft: bool,
    /// Use TEXT as the title [default: the first line of the message with which the work would land]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub title: Option<String>,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    commands::recover(ctx)?;
    look(ctx)?;
    let worker = ctx.worker(&args.worker)?;
    let ctx = &ctx.of(&worker)?;
    let sha = require_review(&worker)?.to_owned();
    require_lasting_objects(&common_dir(&ctx.source()))?;
    let standing = Standing::read(ctx, &worker)?;
    require_clean(&worker, &standing.worktree.dirty, &standing.worktree.always_dirty)?;
    if standing.work.is_some_and(|work| work.merge == MergeResult::Nothing) {
        return Err(failure::WRONG_STATE
            .failure(format!("{} has nothing that {} lacks", worker.name, ctx.repo.branch))
            .hint(format!("`worker-ctl accept {}` makes it idle", worker.name)));
    }
    let own = Own::of(ctx)?;
    let forge = own.forge(ctx)?;
    if !ctx.is_dry {
        bring(ctx, &own, &worker.name, &sha)?;
    }
    let (title, body) = texts(ctx, &worker, &sha, args)?;
    let texts = (title.as_str(), body.as_str(), args.draft);
    let look = || -> Result<(Outgoing, Push, Vec<String>)> {
        let facts = Outgoing::read(ctx, &own, &forge, &worker, &sha)?;
        let plan = request(&facts)?;
        let shown = shown(ctx, &own, &worker, &facts, (&plan, texts))?;
        Ok((facts, plan, shown))
    };
    let (facts, plan, shown) = look()?;
    if ctx.is_dry {
        if ctx.ui.is_json() {
            let not_done = json!({ "pushed": false, "created": false, "would": shown });
            ctx.ui.json(&joined(answer(&facts, &plan, ""), not_done));
        } else {
            ctx.ui.line("this would leave the machine:");
            shown.iter().for_each(|line| ctx.ui.line(format!("  {}", printable(line))));
        }
        return Ok(Exit::Done);
    }
    // Also where the request is elsewhere than a person has seen it.
    let is_seen = worker.pushed.as_ref().is_some_and(|pushed| pushed.place == facts.into.to_string());
    if plan != Push::Nothing || facts.request.is_none() || !is_seen {
        ctx.ui.show(&[&["this leaves the machine:".to_owned()], &shown[..]].concat());
        require_person(ctx, args.yes, "Is that right?", "nothing was pushed")?;
    }
    let _lock = ctx.lock(&worker.name)?;
    let is_same = ctx.worker(&worker.name)?.work.commit_sha.as_ref() == Some(&sha);
    let (facts, plan_now, shown_now) = look()?;
    if !is_same || plan_now != plan || shown_now != shown {
        return Err(failure::MOVED
            .failure("something else was pushed or committed meanwhile, so nothing was pushed")
            .hint("run the same command again"));
    }
    carry_out(ctx, &own, &forge, &facts, (&plan, texts))
}

/// Pushes, records that, and makes the request.
fn carry_out(
    ctx: &Context<'_>,
    own: &Own,
    forge: &Forge,
    facts: &Outgoing,
    (plan, (title, body, is_draft)): (&Push, (&str, &str, bool)),
) -> Result<Exit> {
    let Outgoing { name, sha, branch, target, remote, to, into, .. } = facts;
    let before = ctx.worker(name)?;
    // First: a commit that was pushed and is not known would count as somebody else's.
    ctx.update_worker(name, |worker| {
        let pushed = worker.pushed.get_or_insert_default();
        (pushed.place, pushed.is_over) = (into.to_string(), false);
        pushed.tips.retain(|tip| tip != sha);
        pushed.tips.push(sha.clone());
    })?;
    let replaces = if let Push::Replace(old) = plan { Some(old.as_str()) } else { None };
    if *plan != Push::Nothing {
        let then = "mend what it says, then run the same command again";
        if let Err(failure) = push(own, remote, (sha, branch), replaces, then) {
            ctx.warn_on_failure(name, || ctx.update_worker(name, |worker| worker.pushed = before.pushed));
            return Err(failure);
        }
    }
    let created = || match forge.create((to, branch), target, (title, body), is_draft) {
        Ok(url) if url.is_empty() => {
            Err(Failure::failed(format!("{branch} was pushed to {}, which named no request", printable(&remote.name)))
                .hint("look at the forge first; if it has none, run the same command again"))
        }
        Ok(url) => Ok(url),
        Err(failure) => {
            let why = format!("{branch} was pushed to {}, and no request was made", printable(&remote.name));
            Err(Failure::failed(why)
                .details(failure.details.clone().into_iter().chain(failure.causes()))
                .hint(format!("the same command goes on: `worker-ctl request {name}`")))
        }
    };
    let made = facts.request.as_ref().map_or_else(created, |request| Ok(request.url.clone()));
    let url = match made {
        Err(failure) if ctx.ui.is_json() => {
            let not_made = joined(answer(facts, plan, ""), json!({ "created": false }));
            ctx.ui.json(&joined(not_made, ctx.ui.error_key(&failure)));
            return Ok(failure.exit);
        }
        made => made?,
    };
    let upstream = if ctx.repo.is_own { set_upstream(own, &before.branch, (&remote.name, branch)) } else { Ok(()) };
    // A failure would say that no request was made.
    if let Err(failure) = upstream.and(Requests::learn(&ctx.root.path, &before.branch, known(facts, &url))) {
        let again = "the same command records it";
        ctx.ui.warn(format!("the request of {name} is there, but this could not be recorded: {failure}; {again}"));
    }
    ctx.ui.json_or_line(&answer(facts, plan, &url), printable(&url));
    Ok(Exit::Done)
}

fn answer(facts: &Outgoing, plan: &Push, url: &str) -> serde_json::Value {
    let Outgoing { name, sha, branch, target, remote, request, .. } = facts;
    let number = known(facts, url).map(|request| request.number);
    about(
        name,
        json!({ "url": url, "number": number, "sha": sha, "commit": sha, "branch": branch, "target": target,
            "remote": remote.name, "pushed": *plan != Push::Nothing, "created": request.is_none() }),
    )
}

/// The request, as far as that is known without asking again.
fn known(Outgoing { sha, branch, target, to, into, request, .. }: &Outgoing, url: &str) -> Option<Request> {
    let made = |number| Request {
        number,
        url: url.to_owned(),
        state: "open".into(),
        head: branch.clone(),
        oid: sha.clone(),
        base: target.clone(),
        is_cross: to != into,
        owner: to.owner().to_owned(),
        can_push_to: None,
        ci: "none".into(),
        review: "none".into(),
    };
    request.clone().or_else(|| url.rsplit('/').next()?.parse().ok().map(made))
}

/// Lets git know the branch at the remote, if nothing else is known.
fn set_upstream(own: &Own, branch: &str, (remote, head): (&str, &str)) -> Result<()> {
    let key = |key: &str| format!("branch.{branch}.{key}");
    let config = |args: &[&str]| own.git.cmd(&own.source).arg("config").args(args.iter().copied()).capture();
    if config(&["--get", &key("merge")])?.status.success()
        || !config(&["--get", &format!("remote.{remote}.url")])?.status.success()
    {
        return Ok(());
    }
    config(&[&key("remote"), remote])?;
    config(&[&key("merge"), &format!("refs/heads/{head}")]).map(drop)
}

/// The title and the body of the request: the message with which the work would land.
fn texts(ctx: &Context<'_>, worker: &Worker, sha: &str, args: &Args) -> Result<(String, String)> {
    let Authored { message, .. } = authored(ctx, worker, &commands::fork(ctx, sha)?, sha)?;
    let (title, body) = message.split_once('\n').unwrap_or((&message, ""));
    let title = args.title.as_deref().unwrap_or(title).trim();
    if title.is_empty() || title.contains(char::is_control) {
        return Err(Failure::usage("the title has to be one line of text").hint("give another one: `--title TEXT`"));
    }
    Ok((title.to_owned(), cleaned(body.trim())))
}

/// What a person has to see: what goes where.
fn shown(
    ctx: &Context<'_>,
    own: &Own,
    worker: &Worker,
    facts: &Outgoing,
    (plan, (title, body, is_draft)): (&Push, (&str, &str, bool)),
) -> Result<Vec<String>> {
    let Outgoing { sha, branch, target, remote, into, .. } = facts;
    let url = shown_url(remote.push_urls.first().map(String::as_str).unwrap_or_default());
    let mut lines = Vec::new();
    let from = commands::fork(ctx, sha)?;
    if *plan == Push::Nothing {
        lines.push(format!("{branch} is at {sha} at {} already", remote.name));
    } else {
        lines.push(format!("push {sha} to the branch {branch} of {}, which is {url}", remote.name));
        if url != shown_url(&remote.fetch_url) {
            lines.push(format!("note: {} fetches from {}", remote.name, shown_url(&remote.fetch_url)));
        }
    }
    let before = match plan {
        Push::Replace(old) => Some((commands::fork(ctx, old)?, old)),
        _ => None,
    };
    let before = before.as_ref().map(|(from, old)| (from.as_str(), old.as_str()));
    let Summary { since, .. } = summary(ctx, worker, &from, sha, before)?;
    if let Push::Replace(old) = plan {
        lines.push(format!("replace {old}, which was pushed before:"));
        lines.extend(since.unwrap_or_default().lines().map(|line| format!("  {line}")));
    }
    // What `strip` takes out of a message that lands here goes along in a commit that is pushed.
    lines.extend(own.lacking(sha, &facts.heads)?);
    lines.push(match record(worker) {
        None => "its work was not checked".to_owned(),
        Some(check) => format!("its check is {}", if check.ok { "green" } else { "red" }),
    });
    if worker.work.reviewed_sha.as_ref() != Some(sha) {
        let was_reviewed = worker.work.reviewed_patch.is_some();
        let why = if was_reviewed { "its review counts no more" } else { "nobody has reviewed it" };
        lines.push(why.to_owned());
    }
    match &facts.request {
        Some(request) => lines.push(format!("the request {} is open", request.url)),
        None => {
            let kind = if is_draft { "draft of a request" } else { "request" };
            lines.push(format!("make a {kind} to {} on {}, into {target}: {title}", into.path, into.host));
            lines.extend(body.lines().map(|line| format!("  {line}")));
        }
    }
    Ok(lines)
}
