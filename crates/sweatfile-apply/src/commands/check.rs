//! `check`: is this worktree what its sweatfiles say?

use shopfloor_core::approval::Status;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::cli::Places;
use crate::facts::{self, Place, Rerun};
use crate::plan::{self, SetupWish};

pub fn run(ui: &Ui, env: &Env, places: &Places, strict: bool) -> Result<Exit> {
    let place = Place::find(env)?;
    let layers = facts::load_layers(env, &place.repo, places, false, strict)?;
    // It runs nothing, so an unapproved layer can be read as well.
    let merged = layers.merged()?;
    let facts = facts::read(env, &place, &merged, Rerun::Never)?;
    let plan = plan::plan(&layers.layers, &merged, &facts, SetupWish::default());
    let mut report = plan.report(&place.worktree, &layers.layers, true);
    report.warnings.splice(0..0, layers.warnings());
    for warning in &report.warnings {
        ui.warn(warning);
    }
    for layer in layers.layers.iter().filter(|l| l.approval == Status::Required) {
        ui.note(format!("{} is not approved; run `sweatfile-apply approve`", layer.path.display()));
    }
    if ui.is_json() {
        ui.json(&report);
    } else {
        plan.drift.iter().for_each(|line| ui.line(printable(line)));
    }
    Ok(if plan.drift.is_empty() { Exit::Done } else { Exit::No })
}
