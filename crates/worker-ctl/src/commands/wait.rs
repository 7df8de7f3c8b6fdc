//! `wait`: waits until workers reach a state.

use std::time::{Duration, Instant};

use clap::Args as ClapArgs;
use shopfloor_core::args::flag_duration;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;

use crate::commands;
use crate::daemon;
use crate::failure::{Kind, fail};
use crate::site::Site;
use crate::worker::Worker;

/// How often the state is read. It is one small file.
const POLL: Duration = Duration::from_millis(200);

/// The words that `status` shows: for a worker's state, and for what its program does.
pub const STATES: [&str; 10] =
    ["idle", "working", "needs_review", "rejected", "rebasing", "error", "offline", "busy", "asks", "rests"];

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The workers
    pub workers: Vec<String>,
    /// Wait for all workers
    #[arg(long)]
    pub all: bool,
    /// Wait for this state: idle, working, needs_review, rejected, rebasing, error or offline; or until its program is
    /// busy, asks or rests
    #[arg(long = "for", value_name = "STATE")]
    pub state: String,
    /// Wait until one of them is in the state, not all
    #[arg(long)]
    pub any: bool,
    /// Give up after this time: 90s, 30m, 2h
    #[arg(long, value_name = "TIME", default_value = "300s")]
    pub timeout: String,
}

pub fn run(site: &Site<'_>, args: &Args) -> Result<Exit> {
    let Args { state, any, timeout, .. } = args;
    if !STATES.contains(&state.as_str()) {
        return Err(
            Failure::usage(format!("no worker is ever `{state}`")).hint(format!("name one of {}", STATES.join(", ")))
        );
    }
    let limit = flag_duration("--timeout", timeout)?;
    let chosen = commands::choose(&site.state()?, &args.workers, args.all)?;
    let names: Vec<String> = chosen.into_iter().map(|worker| worker.name).collect();
    let start = Instant::now();
    let mut last = None::<Instant>;
    loop {
        // Patrol here when no `up` does.
        if last.is_none_or(|last| last.elapsed() > Duration::from_secs(1)) && !daemon::is_running(&site.root.path)? {
            commands::recover(site)?;
            commands::look(site)?;
            last = Some(Instant::now());
        }
        let (reached, stuck) = read_progress(site, &names, state)?;
        if reached.len() == names.len() || *any && !reached.is_empty() {
            return commands::print_statuses(site, &reached, &reached);
        }
        let hint = "`worker-ctl status` shows the state of each worker";
        if stuck.len() == names.len() || !*any && !stuck.is_empty() {
            let why = format!("the workers below cannot become {state} by themselves");
            return Err(fail(Kind::WrongState, why).details(stuck.iter().map(|why| format!("  {why}"))).hint(hint));
        }
        if start.elapsed() >= limit {
            let who = if *any { "no worker became" } else { "not all workers became" };
            return Err(fail(Kind::Timeout, format!("{who} {state} within {timeout}")).hint(hint));
        }
        proc::check_interrupt()?;
        std::thread::sleep(POLL);
    }
}

/// The workers that have reached the state, and those that cannot reach it by themselves, each with the reason.
fn read_progress(site: &Site<'_>, names: &[String], wanted: &str) -> Result<(Vec<String>, Vec<String>)> {
    let state = site.state()?;
    let is_kept_up = daemon::is_running(&site.root.path)?;
    let (mut reached, mut stuck) = (Vec::new(), Vec::new());
    for name in names {
        let worker = state.require(name)?;
        if [worker.status(), worker.reported.activity.word()].contains(&wanted) {
            reached.push(name.clone());
        } else if let Some(why) = obstacle(worker, wanted, is_kept_up) {
            stuck.push(format!("{name} {why}"));
        }
    }
    Ok((reached, stuck))
}

/// Why a worker cannot reach a state unless a person does something first.
fn obstacle(worker: &Worker, state: &str, is_kept_up: bool) -> Option<String> {
    let is_at_work = ["working", "needs_review", "rejected", "rebasing"].contains(&state);
    match worker.status() {
        "error" if state != "offline" => {
            let fault = worker.program.fault.as_ref().map(ToString::to_string).unwrap_or_default();
            Some(format!("is in error: {fault}; `worker-ctl doctor` shows how to repair it"))
        }
        "offline" if state != "error" && !is_kept_up => {
            Some(format!("is offline and no `up` runs; `worker-ctl up {}` starts its session", worker.name))
        }
        "idle" if is_at_work && state != "working" && worker.pending_send.is_none() => {
            Some("is idle and has no task; `worker-ctl start` gives it one".into())
        }
        _ => None,
    }
}
