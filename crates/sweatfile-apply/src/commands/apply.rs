//! `apply`, the default: sets this worktree up.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::lock::Lock;
use shopfloor_core::ui::Ui;

use crate::apply;
use crate::cli::{ApplyArgs, Places};
use crate::facts::{self, Place, Rerun};
use crate::plan::{self, SetupWish};
use crate::report::{Action, Report};
use crate::trust;

impl ApplyArgs {
    fn rerun(&self) -> Rerun {
        if self.setup_again { Rerun::Again } else { Rerun::Never }
    }

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
    if !args.dry_run && !args.yes {
        trust::ask(ui, env, &place, places, args.rerun())?;
    }
    let Done { mut report, failure, unapproved } = set_up(ui, env, &place, places, args)?;
    report.warnings.iter().for_each(|warning| ui.warn(warning));
    if let (Some(_), Some(unapproved)) = (&failure, &unapproved) {
        ui.problem(unapproved);
    }
    let failure = failure.or(unapproved);
    if ui.is_json() {
        report.error = failure.as_ref().map(Failure::to_json);
        ui.json(&report);
    } else {
        report.print(ui, args.dry_run);
        if let Some(failure) = &failure {
            ui.error(failure);
        }
    }
    Ok(failure.map_or(Exit::Done, |f| f.exit))
}

/// What setting up came to.
pub struct Done {
    /// What was done, or in a dry run would be.
    pub report: Report,
    /// What was not.
    pub failure: Option<Failure>,
    /// Whether a layer was left out.
    pub unapproved: Option<Failure>,
}

/// Reads under the worktree's lock, plans, and unless it is a dry run takes every step. An error means
/// that nothing was changed; what goes wrong later is part of the answer.
pub fn set_up(ui: &Ui, env: &Env, place: &Place, places: &Places, args: &ApplyArgs) -> Result<Done> {
    let wish = SetupWish { no: args.no_setup, again: args.setup_again };
    let rerun = args.rerun();
    // Before the lock, whose file would be a trace: a malformed layer changes nothing at all.
    facts::load_layers(env, &place.repo, places, args.yes, false)?.counting()?;
    let lock = if args.dry_run { None } else { Some(Lock::take(&place.lock_path())?) };
    let (layers, plan, facts) = loop {
        let layers = facts::load_layers(env, &place.repo, places, args.yes, false)?;
        let (counting, merged) = layers.counting()?;
        let facts = facts::read(env, place, &merged, rerun)?;
        let plan = plan::plan(&counting, &merged, &facts, wish);
        if args.dry_run || apply::reserve(place, &plan)? {
            break (layers, plan, facts);
        }
    };
    let mut report = plan.report(&place.worktree, &layers.layers, false);
    report.warnings.splice(0..0, layers.warnings());
    let unapproved = trust::unapproved(place, &layers, &plan.setup);
    for layer in layers.layers.iter().filter(|l| l.text.is_some()) {
        ui.detail(format!("{} layer: {}", layer.name, layer.path.display()));
    }
    if args.dry_run {
        let failure = apply::failure(&report);
        return Ok(Done { report, failure, unapproved });
    }
    let mut failure = apply::place(place, &plan, &facts.record, &mut report);
    drop(lock);
    if failure.is_some() {
        report.setup.iter_mut().for_each(|line| line.action = Action::Skipped);
    } else {
        failure = apply::setup(ui, env, place, &plan.setup, &mut report);
    }
    Ok(Done { report, failure, unapproved })
}
