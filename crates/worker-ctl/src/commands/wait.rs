//! `wait`: until workers are at something.

use std::time::{Duration, Instant};

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;

use super::{Site, patrol, up};
use crate::store;
use crate::worker::Worker;

/// How often is looked: the state is one small file.
const POLL: Duration = Duration::from_millis(200);

/// Words of `status`.
const STATES: [&str; 7] = ["idle", "working", "needs_review", "rejected", "rebasing", "error", "offline"];

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

pub fn run(site: &Site<'_>, names: &[String], state: &str, any: bool, timeout: &str) -> Result<Exit> {
    if !STATES.contains(&state) {
        return Err(
            Failure::usage(format!("no worker is ever `{state}`")).hint(format!("name one of {}", STATES.join(", ")))
        );
    }
    let unit = timeout.trim_start_matches(|c: char| c.is_ascii_digit());
    let scale = match unit {
        "" | "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        _ => None,
    };
    let number: Option<u64> = timeout[..timeout.len() - unit.len()].parse().ok();
    let Some(limit) = number.zip(scale).and_then(|(n, scale)| n.checked_mul(scale)).map(Duration::from_secs) else {
        return Err(Failure::usage(format!("--timeout must be a time, not `{timeout}`"))
            .hint("write a number and a unit: 90s, 30m, 2h"));
    };
    let start = Instant::now();
    let mut last = None::<Instant>;
    loop {
        // Without an `up` nobody else looks.
        if last.is_none_or(|last| last.elapsed() > Duration::from_secs(1)) && !up::is_running(&site.root.path)? {
            site.finish_left()?;
            patrol::tick(site)?;
            last = Some(Instant::now());
        }
        let now = store::load(&site.root.path)?;
        let mut there = Vec::new();
        let mut never = Vec::new();
        for name in names {
            let worker = now.require(name)?;
            if worker.status() == state {
                there.push(name.clone());
            } else if let Some(why) = hindrance(worker, state, up::is_running(&site.root.path)?) {
                never.push(format!("{name} {why}"));
            }
        }
        if there.len() == names.len() || any && !there.is_empty() {
            site.statuses(if any { &there } else { names })?;
            return Ok(Exit::Done);
        }
        if never.len() == names.len() || !any && !never.is_empty() {
            return Err(Failure::new(
                Exit::No,
                "wrong_state",
                format!("no worker named here becomes {state} by itself"),
            )
            .details(never.iter().map(|why| format!("  {why}")))
            .hint("`worker-ctl status` shows what they are at"));
        }
        if start.elapsed() >= limit {
            let why = format!("not {} {state} within {timeout}", if any { "one is" } else { "all are" });
            return Err(Failure::new(Exit::Timeout, "timeout", why).hint("`worker-ctl status` shows what they are at"));
        }
        proc::check_interrupt()?;
        std::thread::sleep(POLL);
    }
}
