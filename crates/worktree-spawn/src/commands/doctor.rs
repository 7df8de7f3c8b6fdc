//! `doctor`: what killed commands and moved directories have left, and what mends it.

use std::cell::Cell;

use shopfloor_core::doctor::{self, DoctorArgs, Finding};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use super::repair;
use crate::apply::repair::lacks_files;
use crate::facts::moved::moved;
use crate::facts::{agents, repository};
use crate::journal::{self, RemovalJournal, SpawnJournal};
use crate::place::Place;
use crate::settings::{Flags, Settings};

/// Show what is wrong with worktrees and records, and how to repair it: exit 0 if nothing is, 1 if something is
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  worktree-spawn doctor --json | jq -r 'select(.ok | not).fix'")]
pub struct Args {
    #[command(flatten)]
    pub doctor: DoctorArgs,
}

/// There is one repair, which mends everything.
struct RepairAll;

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    let mut findings = check_journals(&place)?;
    findings.extend(check_worktrees(env, &place)?);
    let is_done = Cell::new(false);
    doctor::run(ui, &findings, args.doctor, |RepairAll| match is_done.replace(true) {
        true => Ok(()),
        false => repair::repair_all(env, &place, &|_, text| ui.note(text)),
    })
}

/// The spawns and removals that were killed.
fn check_journals(place: &Place) -> Result<Vec<Finding<RepairAll>>> {
    let shared = place.shared();
    let mut findings = Vec::new();
    for id in journal::left_behind::<RemovalJournal>(&shared)? {
        let (detail, fix) = (format!("the removal of {id} was killed"), format!("finish the removal of {id}"));
        findings.push(Finding::bad("removals", detail, fix, Some(RepairAll)));
    }
    for id in journal::left_behind::<SpawnJournal>(&shared)? {
        let (detail, fix) = (format!("the spawn of {id} was killed"), format!("undo the spawn of {id}"));
        findings.push(Finding::bad("spawns", detail, fix, Some(RepairAll)));
    }
    if findings.is_empty() {
        findings.push(Finding::good("spawns", "no spawn or removal was killed"));
    }
    Ok(findings)
}

/// The worktrees that are elsewhere or gone, and the agents whose files are.
fn check_worktrees(env: &Env, place: &Place) -> Result<Vec<Finding<RepairAll>>> {
    let settings = Settings::load(env, &place.home, Flags::default())?;
    let moved = moved(place, &settings.worktree_base)?;
    let mut findings = Vec::new();
    for found in &moved {
        let path = found.path.display();
        let detail = format!("{} was moved to {path}", found.worktree.path.display());
        findings.push(Finding::bad("worktrees", detail, format!("reconnect {path}"), Some(RepairAll)));
    }
    for worktree in repair::lost(place, &moved)? {
        let (detail, fix) = (format!("{} is not there", worktree.path.display()), repair::LOST_FIX);
        findings.push(Finding::bad("worktrees", detail, fix, None));
    }
    let all = agents::all(place)?;
    for known in all.iter().filter(|known| known.is_managed && !known.worktree.is_lost && lacks_files(known)) {
        let id = &known.agent.id;
        let (detail, fix) = (format!("{id} has lost its configuration"), format!("restore the configuration of {id}"));
        findings.push(Finding::bad("files", detail, fix, Some(RepairAll)));
    }
    if findings.is_empty() {
        findings.push(Finding::good("worktrees", format!("{} registered", repository::worktrees(place)?.len())));
    }
    Ok(findings)
}
