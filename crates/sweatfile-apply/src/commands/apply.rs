//! `apply`, the default: sets up this worktree.

use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::Ui;

use super::approvals;
use crate::apply;
use crate::facts::{self, LoadOptions, SetupRequest};
use crate::flags::LayerFlags;
use crate::plan;
use crate::ports;
use crate::report::{ItemAction, Report, ReportFor};
use crate::template;
use crate::worktree::OpenWorktree;

/// Set up this worktree (the default)
///
/// Takes these steps in order: excludes, files, .sweatshop-env, setup commands. Running it again changes only what
/// differs, and does not change what a person has edited since. Exits with 3 if something needs approval.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  sweatfile-apply apply --dry-run --json |\n    jq -r '.files[] | select(.action == \"created\").path'"
)]
pub struct Args {
    #[command(flatten)]
    pub options: ApplyOptions,
}

// The options can also be given before the word `apply`. This is not a doc comment, because clap would print it as the
// help of the whole tool.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplyOptions {
    /// Approve the repository's sweatfile for this run only
    #[arg(long)]
    pub yes: bool,
    /// Skip the setup commands
    #[arg(long, conflicts_with = "setup_again")]
    pub no_setup: bool,
    /// Run the setup commands even if they finished before
    #[arg(long)]
    pub setup_again: bool,
}

impl ApplyOptions {
    /// Combines the options given before and after the word `apply`.
    pub fn or(&self, other: &ApplyOptions) -> ApplyOptions {
        ApplyOptions {
            yes: self.yes || other.yes,
            no_setup: self.no_setup || other.no_setup,
            setup_again: self.setup_again || other.setup_again,
        }
    }

    fn setup_request(&self) -> SetupRequest {
        match (self.no_setup, self.setup_again) {
            (true, _) => SetupRequest::Skip,
            (false, true) => SetupRequest::Again,
            (false, false) => SetupRequest::IfNeeded,
        }
    }
}

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags, options: &ApplyOptions) -> Result<Exit> {
    let worktree = OpenWorktree::find(env)?;
    if !ui.is_dry() && !options.yes {
        approvals::ask_about_all(ui, &worktree, dirs, options.setup_request())?;
    }
    let applied = set_up(ui, &worktree, dirs, options)?;
    let (report, failure) = applied.conclude(ui);
    Ok(ui.conclude(&report, || report.print(ui), failure.as_ref()))
}

/// The outcome of setting up a worktree.
pub struct Applied {
    /// What was done, or what would be done in a dry run.
    pub report: Report,
    pub failure: Option<Failure>,
    /// The failure for a layer that was left out, or for setup that was held back.
    pub unapproved: Option<Failure>,
}

impl Applied {
    /// Prints the warnings. Returns the failure that decides, and prints the other one.
    pub fn conclude(self, ui: &Ui) -> (Report, Option<Failure>) {
        self.report.warnings.iter().for_each(|warning| ui.warn(warning));
        if let (Some(_), Some(unapproved)) = (&self.failure, &self.unapproved) {
            ui.problem(unapproved);
        }
        (self.report, self.failure.or(self.unapproved))
    }
}

/// Takes the worktree's lock, reads, plans, and takes every step unless this is a dry run. If it returns an error,
/// nothing was changed; later failures are in `Applied`.
pub fn set_up(ui: &Ui, worktree: &OpenWorktree, dirs: &LayerFlags, options: &ApplyOptions) -> Result<Applied> {
    // Check the layers before taking the lock, because taking it creates a file, and a malformed layer must change
    // nothing.
    let load_options = LoadOptions { trust_repository: options.yes, ..LoadOptions::default() };
    let load_layers = || facts::load_layers(&worktree.env, &worktree.repo, dirs, load_options);
    let (_, merged) = load_layers()?.counting()?;
    facts::require_names(worktree, &merged)?;
    let lock = if ui.is_dry() { None } else { Some(worktree.lock()?) };
    let layers = load_layers()?;
    let (counting, merged) = layers.counting()?;
    if !ui.is_dry() {
        // Before anything that names them is read or written.
        ports::assigned(&worktree.repo, &template::port_names_used(&merged), true)?;
    }
    let request = options.setup_request();
    let mut facts = facts::read(worktree, &merged, request)?;
    facts.record = plan::known_record(&merged, &facts);
    facts.caches = facts::read_caches(worktree, &facts.lacking, &mut facts.warnings)?;
    let plan = plan::plan(&counting, &merged, &facts, request);
    let mut report = plan.report(&worktree.path, &layers.layers, ReportFor::Apply);
    report.warnings.splice(0..0, layers.warnings());
    let call = |dir: Option<&Path>| dirs.call(&worktree.env, dir);
    let unapproved = plan::unapproved(&worktree.path, &layers, &plan.setup, call);
    for layer in layers.layers.iter().filter(|l| l.text.is_some()) {
        ui.detail(format!("{} layer: {}", layer.name, layer.path.display()));
    }
    if ui.is_dry() {
        let failure = apply::placing_failure(&report);
        return Ok(Applied { report, failure, unapproved });
    }
    let caches: Vec<String> = plan.caches().map(|path| path.to_string()).collect();
    let copying = caches.first().and_then(|_| ui.spinner(&format!("copying {}", caches.join(", "))));
    let mut failure = apply::place(worktree, &plan, &facts.record, &mut report);
    drop(copying);
    drop(lock);
    if failure.is_some() {
        report.setup.iter_mut().for_each(|line| line.action = ItemAction::Skipped);
    } else {
        let record = |warnings: &mut Vec<String>| apply::teardown::record(worktree, &merged, &facts, &plan, warnings);
        failure = apply::setup(ui, worktree, (&merged, &plan.setup), record, &mut report).err();
    }
    Ok(Applied { report, failure, unapproved })
}
