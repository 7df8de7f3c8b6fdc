//! One file per subcommand, and what they share: how they begin, what they read, what they print.

pub mod accept;
pub mod add;
pub mod attach;
pub mod config;
pub mod doctor;
pub mod down;
pub mod events;
pub mod hook;
pub mod init;
pub mod message;
pub mod nuke;
pub mod patrol;
pub mod peek;
pub mod rebase;
pub mod reject;
pub mod reset;
pub mod review;
pub mod start;
pub mod status;
pub mod up;
pub mod wait;

use std::fmt::Display;
use std::path::Path;

use serde::Serialize;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::ui::{Ui, printable};

use crate::apply::patrol::{Scope, tick};
use crate::apply::recover::{FinishedAccepts, finish_all};
use crate::site::Site;
use crate::store;
use crate::tmux::Pane;
use crate::tmux::typing::{self, Verdict};
use crate::worker::Worker;

/// What `--dry-run` prints.
#[derive(Serialize)]
struct DryAnswer {
    dry_run: bool,
    would: String,
}

/// Prints what a command would do.
pub fn show(ui: &Ui, what: impl Display) {
    let would = what.to_string();
    match ui.is_json() {
        true => ui.json(&DryAnswer { dry_run: true, would }),
        false => ui.line(format!("would {}", printable(&would))),
    }
}

/// Finishes what a killed command left; a dry run leaves it.
pub fn recover(site: &Site<'_>) -> Result<FinishedAccepts> {
    if site.is_dry { Ok(FinishedAccepts::new()) } else { finish_all(site) }
}

/// Looks at all workers, so that what is decided is decided about what there is now; a dry run records nothing.
pub fn look(site: &Site<'_>) -> Result<()> {
    if site.is_dry { Ok(()) } else { tick(site, Scope::All) }
}

/// A worker as it is once its lock is ours.
pub fn locked(site: &Site<'_>, name: &str) -> Result<(Worker, Lock)> {
    store::load(&site.root.path)?.require(name)?;
    let lock = site.lock(name)?;
    Ok((store::load(&site.root.path)?.require(name)?.clone(), lock))
}

/// The pane of a worker's agent. Exit 1 where it has none.
pub fn pane(site: &Site<'_>, name: &str) -> Result<Pane> {
    let worker = store::load(&site.root.path)?.require(name)?.clone();
    site.tmux()?.pane_of(&worker)?.ok_or_else(|| {
        Failure::new(Exit::No, "wrong_state", format!("{name} has no session"))
            .hint(format!("start it: `worker-ctl up {name}`"))
    })
}

/// Fetches the default branch, so that what the source has got meanwhile is no loss. Where the source cannot be asked,
/// more counts as lost.
pub fn renew_base(site: &Site<'_>) {
    if let Err(failure) = site.clone.fetched(&site.source()) {
        site.ui.warn(failure);
    }
}

/// The commit at which the work on `sha` branched off.
pub fn fork(site: &Site<'_>, sha: &str) -> Result<String> {
    let base = site.clone.require_base()?;
    Ok(site.clone.merge_base(&base, sha)?.unwrap_or(base))
}

/// What the work on `sha` comes to against where it branched off.
pub fn diff(site: &Site<'_>, sha: &str) -> Result<String> {
    let how = ["diff", "--no-ext-diff", "--no-textconv", "--no-color"];
    let diff = site.clone.ask(&site.root.path, &[&how[..], &[&fork(site, sha)?, sha]].concat())?;
    Ok(if diff.is_empty() { diff } else { format!("{diff}\n") })
}

/// A text that a person gives, or stdin for `-`. Exit 2 where it cannot be typed.
pub fn read_text(site: &Site<'_>, text: &str) -> Result<String> {
    typing::cleaned(if text == "-" { site.ui.input()? } else { text.as_bytes().to_vec() })
}

/// The same from a file, or from stdin for `-`.
pub fn read_text_file(site: &Site<'_>, file: &Path) -> Result<String> {
    if file.as_os_str() == "-" {
        return typing::cleaned(site.ui.input()?);
    }
    let bytes = fs::read(&site.env.cwd.join(file))?;
    typing::cleaned(bytes.ok_or_else(|| {
        Failure::malformed(format!("there is no file {}", file.display())).hint("name a file that is there")
    })?)
}

/// What workers are at, as commands on several of them answer.
#[derive(Serialize)]
struct Statuses<'a> {
    workers: Vec<WorkerStatus<'a>>,
}

#[derive(Serialize)]
struct WorkerStatus<'a> {
    name: &'a str,
    status: &'static str,
}

/// Prints what these workers are at, with `--json`.
pub fn print_statuses(site: &Site<'_>, names: &[String]) -> Result<Exit> {
    if site.ui.is_json() {
        let state = store::load(&site.root.path)?;
        let chosen = state.workers.values().filter(|worker| names.contains(&worker.name));
        let workers = chosen.map(|worker| WorkerStatus { name: &worker.name, status: worker.status() }).collect();
        site.ui.json(&Statuses { workers });
    }
    Ok(Exit::Done)
}

/// What a delivery came to.
#[derive(Serialize)]
struct DeliveryAnswer<'a> {
    worker: &'a str,
    delivery: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<serde_json::Value>,
}

/// Prints what a delivery came to. Where nothing was typed, the answer with `--json` has the failure too.
pub fn print_delivery(site: &Site<'_>, name: &str, delivered: Result<(Worker, Verdict)>) -> Result<Exit> {
    match delivered {
        Ok((worker, verdict)) if site.ui.is_json() => {
            let (delivery, status) = (verdict.word(), worker.status());
            site.ui.json(&DeliveryAnswer { worker: name, delivery, status, error: None });
            Ok(Exit::Done)
        }
        Ok(_) => {
            site.ui.line(name);
            Ok(Exit::Done)
        }
        Err(failure) if typing::is_nothing_typed(&failure) && site.ui.is_json() => {
            let state = store::load(&site.root.path)?;
            let (status, error) = (state.require(name)?.status(), Some(failure.to_json()));
            site.ui.json(&DeliveryAnswer { worker: name, delivery: typing::NOT, status, error });
            Ok(failure.exit)
        }
        Err(failure) => Err(failure),
    }
}

/// Where the work of a worker is kept.
#[derive(Serialize)]
struct KeptAnswer<'a> {
    worker: &'a str,
    kept: &'a [String],
}

/// Prints where the work of a worker is kept.
pub fn print_kept(site: &Site<'_>, name: &str, kept: &[String]) {
    match site.ui.is_json() {
        true => site.ui.json(&KeptAnswer { worker: name, kept }),
        false => kept.iter().for_each(|place| site.ui.line(printable(place))),
    }
}
