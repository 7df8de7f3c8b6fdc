//! `wait`: until workers are at something.

use std::time::{Duration, Instant};

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;

use super::{Site, patrol, up};
use crate::store;

/// How often is looked: the state is one small file.
const POLL: Duration = Duration::from_millis(200);

/// Words of `status`.
const STATES: [&str; 7] = ["idle", "working", "needs_review", "rejected", "rebasing", "error", "offline"];

pub fn run(site: &Site<'_>, names: &[String], state: &str, timeout: &str) -> Result<Exit> {
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
        let mut are_there = true;
        for name in names {
            are_there &= now.require(name)?.status() == state;
        }
        if are_there {
            site.statuses(names)?;
            return Ok(Exit::Done);
        }
        if start.elapsed() >= limit {
            let why = format!("not all are {state} within {timeout}");
            return Err(Failure::new(Exit::Timeout, "timeout", why).hint("`worker-ctl status` shows what they are at"));
        }
        proc::check_interrupt()?;
        std::thread::sleep(POLL);
    }
}
