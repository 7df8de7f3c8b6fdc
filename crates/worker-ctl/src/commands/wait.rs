//! `wait`: waits until workers reach a state, or need a person.

use std::time::{Duration, Instant};

use clap::Args as ClapArgs;
use serde_json::json;
use shopfloor_core::args::flag_duration;
use shopfloor_core::board::Need;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;

use crate::apply::check::need_now;
use crate::attention::needed_since;
use crate::commands::{self, joined, status_of};
use crate::context::Context;
use crate::failure;
use crate::up_lock;
use crate::worker::{Activity, Program, Session, Worker};

/// How often the state is read. It is one small file.
const POLL: Duration = Duration::from_millis(200);

/// How long a wait for a state lasts if nothing else is asked for.
const USUAL_LIMIT: &str = "300s";

/// What to do once a wait has ended in vain.
const HINT: &str = "`worker-ctl status` shows the state of each worker";

/// The word for a worker that needs a person.
const YOU: &str = "you";

/// The words that `status` shows: for a worker's state, and for what its program does.
pub const STATES: [&str; 14] = [
    "idle",
    "working",
    "needs_review",
    "rejected",
    "rebasing",
    "error",
    "offline",
    "queued",
    "busy",
    "asks",
    "rests",
    "fresh",
    "limited",
    YOU,
];

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The workers
    pub workers: Vec<String>,
    /// Wait for all workers
    #[arg(long)]
    pub all: bool,
    /// Wait for this state, or for any of several: idle, working, needs_review, rejected, rebasing, error, offline or queued; or
    /// until its program is busy, asks, rests, is fresh or limited; or `you`: until one of the workers needs a person
    #[arg(long = "for", value_name = "STATE", default_value = YOU)]
    pub states: Vec<String>,
    /// Wait until one of them is in the state, not all
    #[arg(long)]
    pub any: bool,
    /// Give up after this time: 90s, 30m, 2h [default: 300s; for `you`, never]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let Args { states, timeout, .. } = args;
    if let Some(state) = states.iter().find(|state| !STATES.contains(&state.as_str())) {
        return Err(
            Failure::usage(format!("no worker is ever `{state}`")).hint(format!("name one of {}", STATES.join(", ")))
        );
    }
    let is_for_you = states.iter().any(|state| state == YOU);
    let is_any = args.any || is_for_you;
    let timeout = timeout.as_deref().or((!is_for_you).then_some(USUAL_LIMIT));
    let limit = timeout.map(|timeout| flag_duration("--timeout", timeout)).transpose()?;
    let chosen = commands::choose(&ctx.state()?, &args.workers, args.all)?;
    let idle = chosen.iter().filter(|worker| is_for_you && !args.all && worker.status() == "idle");
    idle.for_each(|worker| ctx.ui.note(format!("{} has no task", worker.name)));
    let names: Vec<String> = chosen.into_iter().map(|worker| worker.name).collect();
    let start = Instant::now();
    let mut last = None::<Instant>;
    loop {
        // Patrol here when no `up` does.
        if last.is_none_or(|last| last.elapsed() > Duration::from_secs(1)) && !up_lock::is_running(&ctx.root.path)? {
            commands::recover(ctx)?;
            commands::look(ctx)?;
            commands::catch_up(ctx);
            last = Some(Instant::now());
        }
        let (reached, stuck) = read_progress(ctx, &names, states)?;
        if reached.len() == names.len() || is_any && !reached.is_empty() {
            return match is_for_you && !reached.is_empty() {
                true => print_needs(ctx, &reached),
                false => commands::print_statuses(ctx, &reached, &reached),
            };
        }
        if stuck.len() == names.len() || !is_any && !stuck.is_empty() {
            let why = match is_for_you {
                true => "no worker below can come to need you".to_owned(),
                false => format!("the workers below cannot become {} by themselves", states.join(" or ")),
            };
            return Err(failure::WRONG_STATE
                .failure(why)
                .details(stuck.iter().map(|why| format!("  {why}")))
                .hint(HINT));
        }
        // Who has hit a usage limit goes on later.
        let is_held = args.timeout.is_none() && is_any_limited(ctx, &names)?;
        if let (Some(timeout), Some(limit)) = (timeout, limit)
            && start.elapsed() >= limit
            && !is_held
        {
            return Err(too_late(states, args.any, timeout));
        }
        proc::check_interrupt()?;
        std::thread::sleep(POLL);
    }
}

/// The failure of a wait whose time is up.
pub fn too_late(states: &[String], is_any: bool, timeout: &str) -> Failure {
    let words = states.join(" or ");
    let what = match states.iter().any(|state| state == YOU) {
        true => "no worker came to need you".to_owned(),
        false if is_any => format!("no worker became {words}"),
        false => format!("not all workers became {words}"),
    };
    failure::TIMEOUT.failure(format!("{what} within {timeout}")).hint(HINT)
}

/// The workers that have reached one of the states, and those that cannot reach any by themselves, each with the reason.
fn read_progress(ctx: &Context<'_>, names: &[String], wanted: &[String]) -> Result<(Vec<String>, Vec<String>)> {
    let state = ctx.state()?;
    let is_kept_up = up_lock::is_running(&ctx.root.path)?;
    let may_get_task = is_kept_up && !state.queue.waiting.is_empty();
    let (mut reached, mut stuck) = (Vec::new(), Vec::new());
    for name in names {
        let worker = state.require(name)?;
        let is_in = |word: &String| match word.as_str() {
            YOU => need_now(ctx, worker).is_some(),
            word => [worker.status(), worker.activity().word()].contains(&word),
        };
        let obstacles: Option<Vec<String>> =
            wanted.iter().map(|word| obstacle(worker, word, (is_kept_up, may_get_task))).collect();
        if wanted.iter().any(is_in) {
            reached.push(name.clone());
        } else if let Some(why) = obstacles.and_then(|all| all.into_iter().next()) {
            stuck.push(format!("{name} {why}"));
        }
    }
    Ok((reached, stuck))
}

/// Whether one of these workers has hit a usage limit.
fn is_any_limited(ctx: &Context<'_>, names: &[String]) -> Result<bool> {
    let state = ctx.state()?;
    Ok(names.iter().filter_map(|name| state.workers.get(name)).any(|worker| worker.activity() == Activity::Limited))
}

/// Why a worker cannot reach a state unless a person does something first.
fn obstacle(worker: &Worker, state: &str, (is_kept_up, may_get_task): (bool, bool)) -> Option<String> {
    // A running `up` leaves down what was stopped, and what ended without a fault.
    let Program { session, is_stopped, .. } = &worker.program;
    let is_started = is_kept_up && !is_stopped && matches!(session, Session::Up | Session::Down);
    let is_at_work = ["working", "needs_review", "rejected", "rebasing"].contains(&state);
    match worker.status() {
        "error" if state != "offline" => {
            let fault = worker.program.fault.as_ref().map(ToString::to_string).unwrap_or_default();
            Some(format!("is in error: {fault}; `worker-ctl doctor` shows how to repair it"))
        }
        "offline" if state != "error" && !is_started => {
            let why = if is_kept_up { "a running `up` leaves it so" } else { "no `up` runs" };
            Some(format!("is offline and {why}; `worker-ctl up {}` starts its session", worker.name))
        }
        "idle" if is_at_work && state != "working" && worker.pending_send.is_none() && !may_get_task => {
            Some(format!("is idle and has no task; `worker-ctl start {} --task TASK` gives it one", worker.name))
        }
        _ => None,
    }
}

/// Prints these workers and why their wait ended, who has waited longest first.
fn print_needs(ctx: &Context<'_>, names: &[String]) -> Result<Exit> {
    let state = ctx.state()?;
    let mut workers: Vec<&Worker> = names.iter().filter_map(|name| state.workers.get(name)).collect();
    workers.sort_by_cached_key(|worker| needed_since(&ctx.root, worker, need_now(ctx, worker)));
    let why = |worker: &Worker| need_now(ctx, worker).map_or(worker.status(), Need::word);
    if ctx.ui.is_json() {
        let needy = workers.iter().map(|worker| joined(status_of(worker), json!({ "why": why(worker) })));
        ctx.ui.json(&json!({ "workers": needy.collect::<Vec<_>>() }));
        return Ok(Exit::Done);
    }
    workers.iter().for_each(|worker| ctx.ui.done(format!("{} {}", worker.name, why(worker))));
    Ok(Exit::Done)
}
