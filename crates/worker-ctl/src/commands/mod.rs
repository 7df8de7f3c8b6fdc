//! One file per subcommand, and the functions that they share: to recover, to read texts, and to print answers.

pub mod accept;
pub mod add;
pub mod adopt;
pub mod answer;
pub mod attach;
pub mod check;
pub mod clashes;
pub mod comment;
pub mod cost;
pub mod deinit;
pub mod doctor;
pub mod down;
pub mod events;
pub mod hook;
pub mod host;
pub mod hosted;
pub mod init;
pub mod login;
pub mod message;
pub mod nuke;
pub mod of_host;
pub mod on_host;
pub mod patrol;
pub mod peek;
pub mod queue;
pub mod rebase;
pub mod reject;
pub mod request;
pub mod reset;
pub mod resume;
pub mod review;
pub mod root;
pub mod run_in_sandbox;
pub mod start;
pub mod status;
pub mod up;
pub mod wait;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::sandbox::NO_SANDBOX;
use shopfloor_core::ui::printable;

use crate::apply::deliver::deliver;
use crate::apply::patrol::{PatrolScope, foresee, tick};
use crate::apply::recover::{FinishedAccepts, finish_all};
use crate::context::{Context, WorkerLock};
use crate::failure;
use crate::hosts;
use crate::plan;
use crate::plan::machine::Input;
use crate::store::State;
use crate::tmux::Pane;
use crate::tmux::typing::{self, DeliveryVerdict};
use crate::work_identity::NO_ATTRIBUTES;
use crate::worker::Worker;

pub use shopfloor_core::text::both as joined;

/// An answer about a worker with `--json`: its name, which is its whole id but on a host, because a root has each name once,
/// and then these keys.
pub fn about(name: &str, keys: Value) -> Value {
    match hosts::split(name) {
        Some((host, own)) => joined(json!({ "worker": name, "name": own, "id": name, "host": host }), keys),
        None => joined(json!({ "worker": name, "name": name, "id": name }), keys),
    }
}

/// The answer about a root with `--json`.
pub fn about_root(root: &Path) -> Value {
    json!({ "root": root.to_string_lossy() })
}

/// Finishes what a killed command left open. A dry run does not.
pub fn recover(ctx: &Context<'_>) -> Result<FinishedAccepts> {
    if ctx.is_dry { Ok(FinishedAccepts::new()) } else { finish_all(ctx) }
}

/// Does what an `accept` left to do for other workers, for commands that go on with work. A dry run does not.
pub fn catch_up(ctx: &Context<'_>) {
    if !ctx.is_dry {
        ctx.warn_on_failure("other workers", || crate::apply::patrol::catch_up(ctx));
    }
}

/// Patrols, so that decisions are based on the current state. A dry run records nothing of it.
pub fn look(ctx: &Context<'_>) -> Result<()> {
    if ctx.is_dry { foresee(ctx) } else { tick(ctx, PatrolScope::All).map(drop) }
}

/// The workers that are named, or all. Exit 2 when neither is asked for.
pub fn choose(state: &State, names: &[String], all: bool) -> Result<Vec<Worker>> {
    match (names, all) {
        ([], true) => Ok(state.workers.values().cloned().collect()),
        ([_, ..], false) => {
            let distinct: BTreeSet<&String> = names.iter().collect();
            distinct.into_iter().map(|name| state.require(name).cloned()).collect()
        }
        ([], false) => Err(Failure::usage("name workers, or use `--all`").hint("`worker-ctl status` lists them")),
        ([_, ..], true) => {
            Err(Failure::usage("name workers or use `--all`, but not both").hint("leave one of them out"))
        }
    }
}

/// Takes a worker's lock, and loads its record under that lock.
pub fn locked(ctx: &Context<'_>, name: &str) -> Result<(Worker, WorkerLock)> {
    ctx.state()?.require(name)?;
    let lock = ctx.lock(name)?;
    let worker = ctx.worker(name)?;
    if crate::apply::sandbox::take_in(ctx, &worker)? && !ctx.is_dry {
        crate::apply::patrol::record_news(ctx, name)?;
    }
    Ok((ctx.worker(name)?, lock))
}

/// The pane of a worker's agent. Exit 1 when there is none, and 4 where its worktree is gone.
pub fn pane(ctx: &Context<'_>, name: &str) -> Result<Pane> {
    let worker = ctx.worker(name)?;
    ctx.tmux()?.pane_of(&worker)?.ok_or_else(|| {
        let refused = failure::WRONG_STATE
            .failure(format!("{name} has no session"))
            .hint(format!("start its session: `worker-ctl up {name}`"));
        worker.require_tree(&ctx.source()).err().unwrap_or(refused)
    })
}

/// Exit 1 or 4 when the state machine refuses an input to a worker. Where its worktree is gone, nothing else helps.
pub fn permit(ctx: &Context<'_>, worker: &Worker, input: &Input) -> Result<()> {
    let permitted = plan::start::permit(worker, input, ctx.now());
    permitted.map_err(|refused| worker.require_tree(&ctx.source()).err().unwrap_or(refused))
}

/// Fetches the default branch, so that work that the source has meanwhile does not count as lost. If the fetch fails,
/// this only warns, because then more counts as lost, not less.
pub fn renew_base(ctx: &Context<'_>) {
    // A dry run judges by the commits that the root has.
    if !ctx.is_dry
        && let Err(failure) = ctx.repo.fetched(&ctx.source())
    {
        ctx.ui.warn(failure);
    }
}

/// The commit at which the work on `sha` branched off.
pub fn fork(ctx: &Context<'_>, sha: &str) -> Result<String> {
    let base = ctx.repo.require_base()?;
    Ok(ctx.repo.work_base(&base, sha)?.unwrap_or(base))
}

/// The option by which no configuration leaves a submodule out of a diff.
pub const WHOLE: &str = "--ignore-submodules=none";

/// The diff of the work on `sha` against the commit at which it branched off.
pub fn diff(ctx: &Context<'_>, sha: &str) -> Result<String> {
    diff_from(ctx, &fork(ctx, sha)?, sha)
}

/// The same against another commit.
pub fn diff_from(ctx: &Context<'_>, from: &str, sha: &str) -> Result<String> {
    // No configuration says how the name of a file is written.
    let options = ["--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/"];
    let cmd = ctx.repo.cmd(&ctx.repo.top)?.args(["-c", "core.quotePath=false"]);
    let cmd = cmd.args(shown(ctx, from, sha, &options));
    let diff = ctx.repo.bounded(cmd, &[from, sha])?;
    Ok(String::from_utf8_lossy(&diff.stdout).into_owned())
}

/// The arguments of git that show the work from `from` to `sha` as it lands: as one diff, or each of its commits.
pub fn shown(ctx: &Context<'_>, from: &str, sha: &str, options: &[&str]) -> Vec<String> {
    let (command, commits) = match ctx.repo.lands_each {
        true => (
            &["log", "--reverse", "--topo-order", "--no-show-signature", "--no-notes", "--format=fuller", "--patch"][..],
            ctx.repo.range(from, sha),
        ),
        false => (&["diff"][..], vec![from.to_owned(), sha.to_owned()]),
    };
    let options = NO_ATTRIBUTES.iter().chain(command).chain(options).chain(&[WHOLE]).map(ToString::to_string);
    options.chain(commits).collect()
}

/// A text argument, or stdin for `-`. Exit 2 for a text that cannot be typed.
pub fn read_text(ctx: &Context<'_>, text: &str) -> Result<String> {
    typing::cleaned(if text == "-" { ctx.ui.input()? } else { text.as_bytes().to_vec() })
}

/// What is in a file, or on stdin for `-`. Exit 2 if there is no such file.
pub fn bytes_of(ctx: &Context<'_>, file: &Path) -> Result<Vec<u8>> {
    if file.as_os_str() == "-" {
        return ctx.ui.input();
    }
    fs::read(&ctx.env.cwd.join(file))?.ok_or_else(|| {
        let shown = printable(&file.to_string_lossy());
        Failure::malformed(format!("the file {shown} does not exist")).hint("name a file that exists")
    })
}

/// The same as a text. Exit 2 for one that cannot be typed.
pub fn read_text_file(ctx: &Context<'_>, file: &Path) -> Result<String> {
    typing::cleaned(bytes_of(ctx, file)?).map_err(|failure| match file.as_os_str() == "-" {
        true => failure,
        false => Failure { message: format!("{}: {}", file.display(), failure.message), ..failure },
    })
}

/// The status of a worker, in an answer about several.
pub fn status_of(worker: &Worker) -> Value {
    json!({ "name": worker.name, "id": worker.name, "status": worker.status() })
}

/// The statuses of these workers, as the answer of a command with `--json`.
pub fn statuses(state: &State, names: &[String]) -> Value {
    let chosen = state.workers.values().filter(|worker| names.contains(&worker.name));
    json!({ "workers": chosen.map(status_of).collect::<Vec<_>>() })
}

/// Prints what was done, a line each; with `--json`, the statuses of these workers.
pub fn print_statuses(ctx: &Context<'_>, names: &[String], done: &[String]) -> Result<Exit> {
    match ctx.ui.is_json() {
        true => ctx.ui.json(&statuses(&ctx.state()?, names)),
        false => done.iter().for_each(|line| ctx.ui.done(printable(line))),
    }
    if done.is_empty() {
        ctx.ui.nothing_to_do();
    }
    Ok(Exit::Done)
}

/// Prints which sessions were started and what their programs were told, or why not all were.
pub fn print_started(ctx: &Context<'_>, names: &[String], done: &[String], failures: Vec<Failure>) -> Result<Exit> {
    if failures.is_empty() {
        return print_statuses(ctx, names, done);
    }
    // A program that waits for a person is in another state than the command needs, which is no failure of the machine.
    let is_waiting = failures.iter().all(|failure| failure.exit == Exit::No);
    let why = "not all workers are up";
    let is_open = |failure: &Failure| NO_SANDBOX.is_kind_of(failure);
    let failure = match () {
        () if is_waiting => failure::NOT_READY.failure(why),
        // A program that is to be contained never runs without a sandbox.
        () if failures.iter().all(is_open) => NO_SANDBOX.failure(why),
        () => Failure::failed(why),
    };
    let lines = failures.iter().flat_map(|failure| {
        let hints = failure.hints.iter().map(|hint| format!("  hint: {hint}"));
        let causes = failure.causes();
        [failure.message.clone()].into_iter().chain(failure.details.clone()).chain(causes).chain(hints)
    });
    Err(failure.details(lines.collect::<Vec<_>>()).hint("`worker-ctl status` shows the state of each worker"))
}

/// The result of a delivery with `--json`.
fn delivery_answer(worker: &Worker, delivery: &str) -> Value {
    about(&worker.name, json!({ "delivery": delivery, "status": worker.status() }))
}

/// Prints the result of a delivery. If nothing was typed, the answer with `--json` includes the failure.
pub fn print_delivery(ctx: &Context<'_>, name: &str, delivered: Result<(Worker, DeliveryVerdict)>) -> Result<Exit> {
    match delivered {
        Ok((worker, verdict)) if ctx.ui.is_json() => {
            ctx.ui.json(&delivery_answer(&worker, verdict.word()));
            Ok(Exit::Done)
        }
        Ok(_) => {
            ctx.ui.line(name);
            Ok(Exit::Done)
        }
        Err(failure) if typing::is_nothing_typed(&failure) && ctx.ui.is_json() => {
            let answer = delivery_answer(&ctx.worker(name)?, failure::NOT_DELIVERED.word);
            ctx.ui.json(&joined(answer, ctx.ui.error_key(&failure)));
            Ok(failure.exit)
        }
        Err(failure) => Err(failure),
    }
}

/// Sends a text to a worker with the input that records it, and prints the result. A dry run shows what it `would` do.
pub fn give(
    ctx: &Context<'_>,
    worker: &Worker,
    input: &Input,
    would: String,
    text: impl FnOnce() -> Result<String>,
) -> Result<Exit> {
    if ctx.is_dry {
        return Ok(ctx.ui.would(&delivery_answer(worker, failure::NOT_DELIVERED.word), &[would]));
    }
    print_delivery(ctx, &worker.name, deliver(ctx, worker, input, &text()?))
}

/// Where the work of a worker is kept, with `--json`.
pub fn kept_answer(name: &str, kept: &[String]) -> Value {
    about(name, json!({ "kept": kept }))
}

/// Prints where the work of a worker is kept; if there was nothing to keep, only what was done. Behind the front door both
/// are said.
pub fn print_kept(ctx: &Context<'_>, name: &str, done: &str, kept: &[String]) {
    match ctx.ui.is_json() {
        true => ctx.ui.json(&kept_answer(name, kept)),
        false => {
            kept.iter().for_each(|place| ctx.ui.line(printable(place)));
            if kept.is_empty() || ctx.env.is_behind_front {
                ctx.ui.done(format!("{done} {name}"));
            }
        }
    }
}
