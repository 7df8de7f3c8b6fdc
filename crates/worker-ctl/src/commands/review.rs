//! `review`: shows a worker's work and records that it was reviewed.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::Ordering;

use clap::{Args as ClapArgs, ValueEnum};
use serde_json::{Value, json};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::Temporary;
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::proc::{self, Cmd, Status};
use shopfloor_core::text::{printable, printable_lines, shell_word};

use crate::apply::{host_status, land, land_on_parent, patrol, rebase, transition};
use crate::commands::{self, WHOLE, comment, look};
use crate::context::Context;
use crate::facts::clashes::last;
use crate::facts::work_summary::{Summary, summary};
use crate::failure;
use crate::hosts;
use crate::layout;
use crate::plan::accept::{require_review, several_bases};
use crate::plan::check::record;
use crate::plan::machine::Input;
use crate::worker::{LandAs, Task, Work, Worker};
use crate::worker_notes::few;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker [default: the one that has waited longest]
    pub worker: Option<String>,
    /// Show the diff with PROGRAM [default: difftastic if it is installed, else git]
    #[arg(long, value_name = "PROGRAM")]
    pub interface: Option<Interface>,
    /// Leave the diff out of the answer, for a hub that makes its own
    #[arg(long, hide = true)]
    pub no_diff: bool,
    /// Record no review, for a front door that shows it to nobody who reviews
    #[arg(long, hide = true)]
    pub no_pin: bool,
    /// Record no review of a diff with more lines, for a front door that shows no more of them
    #[arg(long, value_name = "LINES", hide = true)]
    pub pin_up_to: Option<usize>,
}

/// The program that shows a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Interface {
    Git,
    Difftastic,
    Vscode,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    commands::recover(ctx)?;
    look(ctx)?;
    let looking = args.no_pin.then(|| ctx.looking());
    let ctx = looking.as_ref().unwrap_or(ctx);
    let name = choose(ctx, args.worker.as_deref())?;
    let ctx = &ctx.of(&land_on_parent::retargeted(ctx, ctx.worker(&name)?)?)?;
    let (reviewed, patch) = {
        let _lock = ctx.lock(&name)?;
        if !ctx.is_dry {
            // If the source is missing, show the work as it is.
            ctx.warn_on_failure(&name, || {
                let base = ctx.repo.fetched(&ctx.source())?;
                // Only whom the person names is asked to resolve conflicts.
                let before = args.worker.as_ref().map(|_| &[][..]);
                rebase::refresh(ctx, &ctx.worker(&name)?, &base, before)
            });
        }
        mark_reviewed(ctx, &name, args)?
    };
    // No worker's lock is held while a person reads. Meanwhile the other reviews are brought up to date.
    let shown = std::thread::scope(|scope| {
        if !ctx.is_dry {
            let refresh = || ctx.warn_on_failure("other workers", || patrol::refresh(ctx, false).map(drop));
            // Without a thread it is left to the patrol.
            let _ = std::thread::Builder::new().spawn_scoped(scope, refresh);
        }
        let shown = show(ctx, &reviewed, args.interface, !args.no_diff);
        // Ask the refresh to end after the current worker.
        ctx.ending.store(true, Ordering::SeqCst);
        shown
    });
    shown.map(|()| Exit::Done).map_err(|failure| match &patch {
        Some(patch) => {
            let _lock = ctx.lock(&name);
            not_seen(ctx, &reviewed.worker, (&reviewed.sha, patch), failure)
        }
        None => failure,
    })
}

/// What a review that failed ends with.
pub const NOT_REVIEWED: &str = "it does not count as reviewed";

/// Takes back that the work on `sha` was reviewed, as nobody has seen it, unless it was before, or something newer is
/// recorded. A rebase meanwhile changes the commit that counts, and not the one that was shown.
fn not_seen(ctx: &Context<'_>, before: &Worker, (sha, patch): (&str, &str), failure: Failure) -> Failure {
    let Work { reviewed_sha, reviewed_patch, .. } = &before.work;
    if reviewed_sha.as_deref() == Some(sha) && reviewed_patch.as_deref() == Some(patch) {
        return failure;
    }
    let counts = |work: &Work| work.reviewed_sha.is_some() && work.shown_sha.as_deref() == Some(sha);
    let taken_back = ctx.update(|state| {
        let Some(worker) = state.workers.get_mut(&before.name).filter(|worker| counts(&worker.work)) else {
            return Ok(false);
        };
        let Work { reviewed_sha, reviewed_patch, shown_sha, shown_from, .. } = before.work.clone();
        worker.work = Work { reviewed_sha, reviewed_patch, shown_sha, shown_from, ..worker.work.clone() };
        state.last_reviewed.take_if(|last| *last == before.name);
        Ok(true)
    });
    if !taken_back.unwrap_or(false) {
        return failure;
    }
    let pin = format!("refs/shopfloor/review/{}", before.name);
    let _ = match &before.work.reviewed_sha {
        Some(sha) => ctx.repo.update_ref(&[&pin, sha]),
        None => ctx.repo.drop_refs(&[pin]),
    };
    failure.hint(NOT_REVIEWED)
}

/// The named worker, or else the one that has waited longest.
fn choose(ctx: &Context<'_>, name: Option<&str>) -> Result<String> {
    let state = ctx.state()?;
    if let Some(name) = name {
        return Ok(state.require(name)?.name.clone());
    }
    let waiting = state.workers.values().filter(|worker| worker.task == Task::NeedsReview);
    waiting.min_by_key(|worker| worker.place_in_line()).map(|worker| worker.name.clone()).ok_or_else(|| {
        failure::WRONG_STATE
            .failure("no worker needs review")
            .details(waiting_on_hosts(ctx))
            .hint("`worker-ctl status` shows the state of each worker")
    })
}

/// Whose work waits on hosts, as they said last.
fn waiting_on_hosts(ctx: &Context<'_>) -> Vec<String> {
    let rows = host_status::rows(&host_status::last(ctx));
    let waiting = rows.iter().filter(|row| row["task"] == "needs_review").filter_map(|row| row["id"].as_str());
    waiting.map(|id| format!("  on a host: `worker-ctl review {id}`")).collect()
}

/// The work that is shown.
pub struct Reviewed {
    pub worker: Worker,
    /// Where it begins and ends.
    pub from: String,
    pub sha: String,
    pub summary: Summary,
    /// The comments at it, where a host has them.
    pub comments: Option<Value>,
}

/// Records under the worker's lock which commit is shown. Returns with it the digest that is recorded.
fn mark_reviewed(ctx: &Context<'_>, name: &str, args: &Args) -> Result<(Reviewed, Option<String>)> {
    let worker = land_on_parent::retargeted(ctx, ctx.worker(name)?)?;
    let sha = require_review(&worker)?.to_owned();
    if ctx.repo.has_several_bases(&ctx.repo.base(), &sha)? {
        return Err(several_bases(name, &ctx.repo.branch));
    }
    let own = ctx.repo.begin_of(&worker, &sha).ok();
    // The commits of a parent that has landed as another are left out before its child lands.
    let is_child = land::sits_on_parent(ctx, &worker)?;
    let from = own.clone().filter(|_| is_child).map_or_else(|| commands::fork(ctx, &sha), Ok)?;
    let shown = worker.work.shown_sha.as_ref().and_then(|shown| {
        // It may be gone.
        let before = worker.work.shown_from.clone().or_else(|| commands::fork(ctx, shown).ok())?;
        Some((before, shown))
    });
    let shown = shown.as_ref().map(|(from, shown)| (from.as_str(), shown.as_str()));
    let summary = summary(ctx, &worker, &from, &sha, shown)?;
    let patch = ctx.repo.work_digest_from(&from, &sha)?;
    let agent = land_on_parent::other_agent(ctx, &ctx.repo.branch)?;
    let mut recorded = None;
    if agent.is_some() {
        ctx.ui.note("an agent looks at it, so it does not count as reviewed");
    } else if !ctx.is_dry && !is_too_long(ctx, args, (&from, &sha))? {
        let input = Input::Reviewed { sha: sha.clone(), from: own, patch: patch.clone() };
        let note_last = || {
            ctx.update(|state| {
                (state.last_reviewed, state.landed_since) = (Some(name.to_owned()), None);
                Ok(())
            })
        };
        let done = transition::record(ctx, name, &input).and_then(|_| note_last());
        done.map_err(|failure| not_seen(ctx, &worker, (&sha, &patch), failure))?;
        recorded = Some(patch);
    }
    Ok((Reviewed { worker, from, sha, summary, comments: None }, recorded))
}

/// Whether the diff has more lines than are shown.
pub fn is_too_long(ctx: &Context<'_>, args: &Args, (from, sha): (&str, &str)) -> Result<bool> {
    Ok(match args.pin_up_to {
        Some(most) => commands::diff_from(ctx, from, sha)?.lines().count() > most,
        None => false,
    })
}

/// Shows the work; fails where that could not be written.
pub fn show(ctx: &Context<'_>, reviewed: &Reviewed, interface: Option<Interface>, has_diff: bool) -> Result<()> {
    print(ctx, reviewed, interface, has_diff)?;
    ctx.ui.unwritten().map_or(Ok(()), Err)
}

/// Runs git or the program that was chosen, and shows its diff without what a terminal would obey: on a terminal, in the
/// person's pager.
fn print(ctx: &Context<'_>, reviewed: &Reviewed, interface: Option<Interface>, has_diff: bool) -> Result<()> {
    let Reviewed { worker, from, sha, summary: Summary { author, message, stat, since }, comments } = reviewed;
    if ctx.ui.is_json() {
        let diff = if has_diff { commands::diff_from(ctx, from, sha)? } else { String::new() };
        let comments = comments.clone().map_or_else(|| comment::answer(ctx, worker), Ok)?;
        let keys = json!({ "sha": sha, "commit": sha, "prompt": worker.work.prompt, "author": author,
            "message": message, "stat": stat, "range_diff": since, "check": record(worker), "comments": comments, "diff": diff });
        ctx.ui.json(&commands::about(&worker.name, keys));
        return Ok(());
    }
    let head = printable_lines(head(ctx, reviewed).as_bytes(), false);
    let has = |program: &str| proc::find(ctx.env, program).is_some();
    let interface = interface.unwrap_or(if has("difft") { Interface::Difftastic } else { Interface::Git });
    let missing = |program: &str| {
        Failure::failed(format!("{program} is not on the PATH")).hint("install it, or use `--interface git`")
    };
    let own = |text: &str| text.to_owned();
    let args: Vec<String> = match interface {
        Interface::Git => commands::shown(ctx, from, sha, &["--no-ext-diff", "--no-textconv"]),
        Interface::Difftastic if !has("difft") => return Err(missing("difft")),
        Interface::Difftastic => {
            let shown = commands::shown(ctx, from, sha, &["--ext-diff"]);
            ["-c", "diff.external=difft"].map(own).into_iter().chain(shown).collect()
        }
        Interface::Vscode if !has("code") => return Err(missing("code")),
        Interface::Vscode if ctx.repo.lands_each => {
            return Err(Failure::usage("a difftool shows one diff, and these commits land as they are")
                .hint("use `--interface git`"));
        }
        Interface::Vscode => {
            ["difftool", "--no-prompt", "--extcmd=code --wait --diff", WHOLE, from, sha].map(own).into()
        }
    };
    // Run in the clone, not in the worktree, because the agent can write the worktree's attributes and configuration.
    let cmd = ctx.repo.git.shown(&ctx.repo.top);
    let failed =
        |status: Status| Failure::failed(format!("the diff viewer failed with {status}")).hint("try `--interface git`");
    if interface == Interface::Vscode {
        ctx.ui.answer(&head);
        let status = cmd.args(args).foreground()?;
        return if status.success() { Ok(()) } else { Err(failed(status)) };
    }
    let is_paged = std::io::stdout().is_terminal();
    let cmd = match is_paged {
        // Of the colours in git's own diff nobody could tell which are the text's.
        true if interface == Interface::Difftastic => cmd.var("GIT_PAGER_IN_USE", "true"),
        _ => cmd.args(["-c", "color.ui=false", "-c", "color.diff=false"]),
    };
    let diff = ctx.repo.bounded(cmd.args(args), &[from, sha])?;
    let text = printable_lines(&diff.stdout, is_paged && interface == Interface::Difftastic);
    if is_paged && !text.is_empty() {
        let text = if interface == Interface::Git { coloured(&text) } else { text };
        return page(ctx, &[head, text].concat());
    }
    ctx.ui.answer(&[head, text].concat());
    Ok(())
}

/// What stands above the diff: what has changed since the last review comes first.
fn head(
    ctx: &Context<'_>,
    Reviewed { worker, sha, summary: Summary { author, message, stat, since }, .. }: &Reviewed,
) -> String {
    let mut text = String::new();
    if let Some(since) = since {
        text += &format!("Since the last review:\n\n{}\n", indented(since));
    }
    text += &format!("Worker: {} ({})\n", worker.name, ctx.root.agent_name(worker));
    let mut prompt = worker.work.prompt.as_deref().unwrap_or_default().lines();
    if let Some(first) = prompt.next() {
        text += &format!("Task:   {first}{}\n", if prompt.next().is_some() { " ..." } else { "" });
    }
    text += &format!("Commit: {sha}\n");
    text += &format!("Author: {author}\n");
    if let Some(target) = worker.target() {
        let how = if worker.land() == LandAs::Commits { ", as its own commits with their messages" } else { "" };
        text += &format!("Lands:  on {target}{how}\n");
    }
    if let Some(check) = record(worker) {
        let log = layout::check_log(&ctx.root.path, &worker.name);
        let is_there = hosts::split(&worker.name).is_some();
        let result = match check.ok {
            true => "green".to_owned(),
            false if is_there => "red".to_owned(),
            false => format!("red, see {}", log.display()),
        };
        text += &format!("Check:  {result}\n");
    }
    for clash in last(&ctx.root.path) {
        if let Some(other) = clash.other(&worker.name) {
            text += &format!("Clash:  with {} in {}\n", printable(other), printable(&few(&clash.paths)));
        }
    }
    worker.notes.iter().for_each(|note| text += &format!("Note:   {note}\n"));
    text + &format!("\n{}\n{stat}\n\n", indented(message))
}

/// The lines of a text, each four columns further in, as git shows messages.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect()
}

/// The lines of a diff in the colours that git gives them by default.
fn coloured(diff: &[u8]) -> Vec<u8> {
    let mut is_head = true;
    let colour = |line: &[u8]| {
        is_head = (is_head || line.starts_with(b"diff ")) && !line.starts_with(b"@@");
        let code: &[u8] = match line.first() {
            _ if is_head => b"\x1b[1m",
            Some(b'@') => b"\x1b[36m",
            Some(b'+') => b"\x1b[32m",
            Some(b'-') => b"\x1b[31m",
            _ => return line.to_vec(),
        };
        let end = line.trim_ascii_end().len();
        [code, &line[..end], b"\x1b[m", &line[end..]].concat()
    };
    diff.split_inclusive(|byte| *byte == b'\n').flat_map(colour).collect()
}

/// Shows a text in the person's pager for diffs, as their own configuration names it.
fn page(ctx: &Context<'_>, text: &[u8]) -> Result<()> {
    // An agent can write the repository's own configuration.
    let ask = |args: &[&str]| -> Result<String> {
        Ok(ctx.repo.git.shown(Path::new("/")).args(args.iter().copied()).capture()?.text())
    };
    let named = ask(&["config", "--get", "pager.diff"])?;
    let pager = match named.as_str() {
        "false" => "cat".to_owned(),
        "" | "true" => ask(&["var", "GIT_PAGER"])?,
        _ => named,
    };
    let sh = proc::find(ctx.env, "sh").ok_or_else(|| Failure::failed("sh is not on the PATH"))?;
    let file = Temporary::with(ctx.env, text)?;
    let mut cmd = Cmd::new(&sh, ctx.env).without_vars(LOCAL_VARS).dir(Path::new("/"));
    // As git does.
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if ctx.env.var(name).is_none() {
            cmd = cmd.var(name, value);
        }
    }
    let status = cmd.arg("-c").arg(format!("{pager} < {}", shell_word(file.path()))).foreground()?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::failed(format!("the pager `{pager}` failed with {status}"))
            .hint("name one that works: `GIT_PAGER=less`; git takes it from `core.pager` and `pager.diff`, too")),
    }
}
