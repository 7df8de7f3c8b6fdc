//! `teardown`: takes back what `setup` did.

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::lock::Lock;
use shopfloor_core::ui::Ui;

use crate::apply::teardown::undo;
use crate::deed::{Deed, Record};
use crate::facts::repository;
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
    if ui.is_dry() {
        let mut is_whole = true;
        for deed in Record::load(&file)?.deeds.iter().rev() {
            let stays = undo(ui, &here, &repository, deed)?;
            is_whole &= stays.is_empty();
            report(ui, deed, &stays);
        }
        return Ok(if is_whole { Exit::Done } else { Exit::No });
    }
    let _lock = Lock::take(&lock_file(&repository.repo.common_dir))?;
    let mut record = Record::load(&file)?;
    if record.deeds.is_empty() {
        ui.nothing_to_do();
    }
    let has_undone = !record.deeds.is_empty();
    let mut left = Vec::new();
    while let Some(deed) = record.deeds.pop() {
        let stays = undo(ui, &here, &repository, &deed)?;
        report(ui, &deed, &stays);
        if !stays.is_empty() {
            left.insert(0, deed);
        }
        // Save after each step, so that a killed command goes on where it stopped.
        let deeds = record.deeds.iter().chain(&left).cloned().collect();
        Record::of(deeds).save(&file)?;
    }
    let changed = repository.git.cmd(&repository.main).args(["status", "--porcelain", "-uno"]).capture()?;
    if has_undone && !changed.stdout.is_empty() {
        ui.note("commit what `git status` shows");
    }
    if !left.is_empty() {
        ui.note("run `shopfloor teardown` again when you have dealt with that");
    }
    Ok(if left.is_empty() { Exit::Done } else { Exit::No })
}

/// Says what of a step stays.
fn report(ui: &Ui, deed: &Deed, stays: &[String]) {
    stays.iter().for_each(|line| ui.warn(format!("{} stays: {line}", deed.step)));
    if ui.is_json() {
        ui.json(&UndoneAnswer { step: &deed.step, stays: stays.to_vec() });
    }
}
