//! `teardown`: takes back what `setup` did.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::lock::Lock;
use shopfloor_core::ui::Ui;

use crate::apply::teardown::undo;
use crate::facts::repository;
use crate::record::Record;
use crate::step::{STEPS, hooked};
use crate::tool::{lock_file, record_file};

/// Take back what `setup` did in this repository
///
/// What a person changed since, an overlay with files, and a root with workers' work stay; each is named, and the
/// command exits with 1. Run it again when you have dealt with them.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  shopfloor teardown -n     # shows what would be undone\n  shopfloor teardown")]
pub struct Args {}

/// What became of a step, with `--json`.
#[derive(Serialize)]
struct UndoneAnswer<'a> {
    step: &'a str,
    /// What stays, and why.
    stays: Vec<String>,
}

pub fn run(ui: &Ui, env: &Env, _: &Args) -> Result<Exit> {
    let repository = repository::find(env)?;
    let here = env.at(&repository.main)?;
    let file = record_file(&repository.repo.common_dir);
    let _lock = if ui.is_dry() { None } else { Some(Lock::take(&lock_file(&repository.repo.common_dir))?) };
    let mut record = Record::load(&file)?;
    if record.steps.is_empty() {
        ui.nothing_to_do();
    }
    let (had, mut is_whole) = (!record.steps.is_empty(), true);
    for step in STEPS.into_iter().rev() {
        if !record.has(step) {
            continue;
        }
        let stays = undo(ui, &here, &repository, step, hooked(step).is_some_and(|tool| record.has_hooks(tool)))?;
        stays.iter().for_each(|line| ui.warn(format!("{step} stays: {line}")));
        is_whole &= stays.is_empty();
        if stays.is_empty() && !ui.is_dry() {
            // Saved after each step, so that a killed command goes on where it stopped.
            record.remove(step);
            record.save(&file)?;
        }
        if ui.is_json() {
            ui.json(&UndoneAnswer { step, stays });
        }
    }
    let exit = if is_whole { Exit::Done } else { Exit::No };
    if ui.is_dry() {
        return Ok(exit);
    }
    let changed = repository.git.cmd(&repository.main).args(["status", "--porcelain", "-uno"]).capture()?;
    if had && !changed.stdout.is_empty() {
        ui.note("commit what `git status` shows");
    }
    if !is_whole {
        ui.note("run `shopfloor teardown` again when you have dealt with that");
    }
    Ok(exit)
}
