//! `wait`: until workers are at something.

use std::time::{Duration, Instant};

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;

use crate::apply::patrol::{self, Scope};
use crate::apply::recover;
use crate::commands;
use crate::daemon;
use crate::site::Site;
use crate::store;
use crate::worker::Worker;

/// How often is looked: the state is one small file.
const POLL: Duration = Duration::from_millis(200);

/// Words of `status`.
const STATES: [&str; 7] = ["idle", "working", "needs_review", "rejected", "rebasing", "error", "offline"];

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The workers
    #[arg(required = true)]
    pub workers: Vec<String>,
    /// idle, working, needs_review, rejected, rebasing, error or offline
    #[arg(long = "for", value_name = "STATE")]
    pub state: String,
    /// Until one of them is, not all
    #[arg(long)]
    pub any: bool,
    /// Give up after this time: 90s, 30m, 2h
    #[arg(long, value_name = "TIME", default_value = "300s")]
    pub timeout: String,
}

pub fn run(site: &Site<'_>, args: &Args) -> Result<Exit> {
    let Args { workers: names, state, any, timeout } = args;
    if !STATES.contains(&state.as_str()) {
        return Err(
            Failure::usage(format!("no worker is ever `{state}`")).hint(format!("name one of {}", STATES.join(", ")))
        );
    }
    let limit = parse_duration(timeout)?;
    let start = Instant::now();
    let mut last = None::<Instant>;
    loop {
        // Without an `up` nobody else looks.
        if last.is_none_or(|last| last.elapsed() > Duration::from_secs(1)) && !daemon::is_running(&site.root.path)? {
            recover::finish_all(site)?;
            patrol::tick(site, Scope::All)?;
            last = Some(Instant::now());
        }
        let Progress { there, never } = look(site, args)?;
        if there.len() == names.len() || *any && !there.is_empty() {
            return commands::print_statuses(site, if *any { &there } else { names });
        }
        if never.len() == names.len() || !*any && !never.is_empty() {
            return Err(Failure::new(
                Exit::No,
                "wrong_state",
                format!("no worker named here becomes {state} by itself"),
            )
            .details(never.iter().map(|why| format!("  {why}")))
            .hint("`worker-ctl status` shows what they are at"));
        }
        if start.elapsed() >= limit {
            let why = format!("not {} {state} within {timeout}", if *any { "one is" } else { "all are" });
            return Err(Failure::new(Exit::Timeout, "timeout", why).hint("`worker-ctl status` shows what they are at"));
        }
        proc::check_interrupt()?;
        std::thread::sleep(POLL);
    }
}

/// Exit 2 where it is no time: 90, 90s, 30m, 2h.
fn parse_duration(text: &str) -> Result<Duration> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let scale = match unit {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let number: Option<u64> = text[..text.len() - unit.len()].parse().ok();
    let seconds = number.zip(scale).and_then(|(n, scale)| n.checked_mul(scale));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        Failure::usage(format!("--timeout must be a time, not `{text}`"))
            .hint("write a number and a unit: 90s, 30m, 2h")
    })
}

/// How far the workers are.
struct Progress {
    /// Those in the state that is waited for.
    there: Vec<String>,
    /// Those that do not get there by themselves, each with the reason.
    never: Vec<String>,
}

fn look(site: &Site<'_>, args: &Args) -> Result<Progress> {
    let state = store::load(&site.root.path)?;
    let is_kept_up = daemon::is_running(&site.root.path)?;
    let mut progress = Progress { there: Vec::new(), never: Vec::new() };
    for name in &args.workers {
        let worker = state.require(name)?;
        if worker.status() == args.state {
            progress.there.push(name.clone());
        } else if let Some(why) = hindrance(worker, &args.state, is_kept_up) {
            progress.never.push(format!("{name} {why}"));
        }
    }
    Ok(progress)
}

/// Why a worker does not come to that by itself, though nobody ends it: a person must do something first.
fn hindrance(worker: &Worker, state: &str, is_kept_up: bool) -> Option<String> {
    let is_at_work = ["working", "needs_review", "rejected", "rebasing"].contains(&state);
    match worker.status() {
        "error" if state != "offline" => {
            let fault = worker.fault.as_ref().map(ToString::to_string).unwrap_or_default();
            Some(format!("is in error: {fault}; `worker-ctl doctor` tells what mends it"))
        }
        "offline" if state != "error" && !is_kept_up => {
            Some(format!("is offline, and no `up` runs; `worker-ctl up {}` starts it", worker.name))
        }
        "idle" if is_at_work && state != "working" && worker.pending_send.is_none() => {
            Some("is idle, and has no task; `worker-ctl start` gives it one".into())
        }
        _ => None,
    }
}
