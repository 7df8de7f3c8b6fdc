//! `teardown`: takes back what `setup` did.

use std::path::{Path, PathBuf};

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::teardown::undo;
use crate::facts::{remains, repository};
use crate::setup_log::Record;
use crate::step::{OVERLAY, STEPS, WORKERS};

/// Take back what `setup` did in this repository
///
/// What a person changed since, an overlay with files, and a root with workers' work stay; each is named, and the
/// command exits with 1. Run it again when you have dealt with them. Exits with 3 if nobody can be asked about
/// `--overlay`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  shopfloor teardown -n     # shows what would be undone\n  shopfloor teardown")]
pub struct Args {
    /// Delete the overlay with its history too, if the main checkout has all its files as they are there
    #[arg(long)]
    pub overlay: bool,
    /// Delete it without asking
    #[arg(long)]
    pub yes: bool,
}

/// The overlay that is to be deleted, if there is one. Exit 1 if it has files that would be lost, and 3 if nobody can be
/// asked.
fn doomed_overlay(ui: &Ui, env: &Env, main: &Path, is_agreed: bool) -> Result<Option<PathBuf>> {
    let Some(dir) = remains::overlay_dir(env).flatten() else { return Ok(None) };
    let shown = printable(&dir.to_string_lossy());
    let only: Vec<String> = remains::only_in_overlay(&dir, main)?
        .iter()
        .map(|path| format!("{} is not in the main checkout, or differs there", printable(&path.to_string_lossy())))
        .collect();
    if !only.is_empty() || main.starts_with(&dir) || dir.starts_with(main) {
        return Err(Failure::new(Exit::No, "would_lose", format!("the overlay {shown} stays")).details(only).hint(
            "run `overlay-sync sync` to bring its files into the main checkout, or delete the directory yourself",
        ));
    }
    let question = format!("Delete {shown} with the history of its files?");
    ui.require_yes(is_agreed || ui.is_dry(), &question, "nothing was undone")?;
    Ok(Some(dir))
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let repository = repository::find_main(env)?;
    let here = env.at(&repository.main)?;
    let common_dir = &repository.repo.common_dir;
    let _lock = if ui.is_dry() { None } else { Some(Record::lock(common_dir)?) };
    let mut record = Record::load(common_dir)?;
    if args.overlay && !record.has(OVERLAY) {
        ui.warn("`setup` has no overlay here to take back, so `--overlay` deletes nothing");
    }
    let is_asked = args.overlay && record.has(OVERLAY);
    let doomed = if is_asked { doomed_overlay(ui, &here, &repository.main, args.yes)? } else { None };
    if record.steps.is_empty() {
        ui.nothing_to_do();
    }
    let (had, mut is_whole) = (!record.steps.is_empty(), true);
    for step in STEPS.into_iter().rev() {
        if !record.has(step) {
            continue;
        }
        let stays = undo(ui, &here, &repository, step, &record, doomed.as_deref())?;
        stays.iter().for_each(|line| ui.warn(format!("{step} stays: {line}")));
        is_whole &= stays.is_empty();
        if stays.is_empty() && !ui.is_dry() {
            // Saved after each step, so that a killed command goes on where it stopped.
            record.remove(step);
            record.save(common_dir)?;
        }
        if ui.is_json() {
            ui.json(&json!({ "step": step, "stays": stays }));
        }
    }
    if ui.is_dry() {
        return finished(is_whole);
    }
    let git = repository.git.guarded_main(common_dir, &repository.main)?;
    let changed =
        git.cmd(&repository.main).args(["status", "--porcelain", "-uno", "--ignore-submodules=dirty"]).capture()?;
    if had && !changed.stdout.is_empty() {
        ui.note("commit what `git status` shows");
    }
    // One that `new` made.
    if !record.has(WORKERS) && remains::has_agents_root(&here) {
        ui.note("the root of the agents stays; `shopfloor deinit` removes it");
    }
    finished(is_whole)
}

/// Exit 1 if something is left; what and why stands above.
fn finished(is_whole: bool) -> Result<Exit> {
    if is_whole {
        return Ok(Exit::Done);
    }
    Err(Failure::new(Exit::No, "incomplete", "not all that `setup` did is undone")
        .hint("run `shopfloor teardown` again when you have dealt with that"))
}
