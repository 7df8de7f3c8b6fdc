//! `apply`, the default: sets this worktree up.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::lock::Lock;
use shopfloor_core::ui::Ui;

use crate::apply;
use crate::cli::{ApplyArgs, Places};
use crate::facts::{self, Layers, Place};
use crate::layer;
use crate::plan::{self, SetupWish};
use crate::report::Report;
use crate::trust;

impl ApplyArgs {
    /// Options given before and behind the word `apply` together.
    pub fn or(&self, other: ApplyArgs) -> ApplyArgs {
        ApplyArgs {
            dry_run: self.dry_run || other.dry_run,
            yes: self.yes || other.yes,
            no_setup: self.no_setup || other.no_setup,
            setup_again: self.setup_again || other.setup_again,
        }
    }
}

pub fn run(ui: &Ui, env: &Env, places: &Places, args: &ApplyArgs) -> Result<Exit> {
    let place = Place::find(env)?;
    let mut layers = facts::load_layers(env, &place.repo, places, args.yes, false)?;
    if !args.dry_run {
        trust::ask(ui, env, &place.repo, &mut layers)?;
    }
    let (mut report, failure) = set_up(ui, env, &place, &layers, args)?;
    report.warnings.iter().for_each(|warning| ui.warn(warning));
    let failure = failure.or_else(|| trust::unapproved(&layers));
    if ui.is_json() {
        report.error = failure.as_ref().map(Failure::to_json);
        ui.json(&report);
    } else {
        report.print(ui);
        if let Some(failure) = &failure {
            ui.error(failure);
        }
    }
    Ok(failure.map_or(Exit::Done, |f| f.exit))
}

/// Plans, and unless it is a dry run takes every step. The report says what was done (or would be),
/// the failure what was not.
pub fn set_up(
    ui: &Ui,
    env: &Env,
    place: &Place,
    layers: &Layers,
    args: &ApplyArgs,
) -> Result<(Report, Option<Failure>)> {
    let counting = layers.counting();
    let merged = layer::merge(counting.iter());
    let wish = SetupWish { no: args.no_setup, again: args.setup_again };
    let lock = if args.dry_run { None } else { Some(Lock::take(&place.lock_path())?) };
    let facts = facts::read(env, place, &merged, !args.dry_run)?;
    let plan = plan::plan(&counting, &merged, &facts, wish);
    let mut report = plan.report(&place.worktree, &layers.layers, false);
    report.warnings.splice(0..0, layers.warnings());
    if args.dry_run {
        return Ok((report, None));
    }
    let mut failure = apply::place(place, &plan, &facts.record, &mut report)?;
    drop(lock);
    if failure.is_some() {
        report.setup.iter_mut().for_each(|line| line.action = crate::report::Action::Skipped);
    } else {
        failure = apply::setup(ui, env, place, &plan.setup, &mut report)?;
    }
    Ok((report, failure))
}
