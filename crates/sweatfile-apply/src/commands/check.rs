//! `check`: are worktrees what their sweatfiles say?

use std::sync::{Arc, OnceLock};

use serde_json::json;
use shopfloor_core::approval::ApprovalStatus;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::fs;
use shopfloor_core::git::Git;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::facts::{self, LoadOptions, SetupRequest};
use crate::flags::LayerFlags;
use crate::plan;
use crate::report::ReportFor;
use crate::worktree::OpenWorktree;

/// Check whether this worktree matches its sweatfiles: exit 0 yes, 1 drift
///
/// Prints a line for each difference, and says how much of the disk a worktree with caches takes, by itself and shared with others. Runs no commands, so it reads all layers, approved or not.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  sweatfile-apply check || sweatfile-apply")]
pub struct Args {
    /// Treat a misplaced `setup` or `git_excludes` as an error
    #[arg(long)]
    pub strict: bool,
    /// Check all worktrees of the repository; each line begins with the worktree's path
    #[arg(long)]
    pub all: bool,
    /// Do not look at how much of the disk a worktree with caches takes
    #[arg(long)]
    pub no_disk: bool,
}

pub fn run(ui: &Ui, env: &Env, dirs: &LayerFlags, args: &Args) -> Result<Exit> {
    let default_branch = Arc::default();
    if !args.all {
        return check(ui, env, dirs, args, &default_branch);
    }
    let (git, repo) = Git::here(env)?;
    let env = &Env { main_checkout: Some(repo.main_checkout.clone()), ..env.clone() };
    let (mut has_drift, mut has_failed) = (false, false);
    for (worktree, _) in git.worktrees(&repo)? {
        // A worktree that cannot be read says nothing about the others.
        match env.at(&worktree).and_then(|env| check(ui, &env, dirs, args, &default_branch)) {
            Ok(exit) => has_drift |= exit != Exit::Done,
            Err(failure) => {
                has_failed = true;
                if ui.is_json() {
                    ui.json(&json!({ "worktree": worktree.to_string_lossy(), "error": failure.to_json() }));
                } else {
                    ui.warn(format!("{}: {failure}", printable(&worktree.to_string_lossy())));
                }
            }
        }
    }
    Ok(match (has_failed, has_drift) {
        (true, _) => Exit::Failed,
        (false, true) => Exit::No,
        (false, false) => Exit::Done,
    })
}

/// Checks a worktree. All of the repository have the same default branch.
fn check(ui: &Ui, env: &Env, dirs: &LayerFlags, args: &Args, default_branch: &Arc<OnceLock<String>>) -> Result<Exit> {
    let worktree = OpenWorktree { default_branch: default_branch.clone(), ..OpenWorktree::find(env)? };
    let options = LoadOptions { strict: args.strict, ..LoadOptions::default() };
    let layers = facts::load_layers(env, &worktree.repo, dirs, options)?;
    // `check` runs nothing, so an unapproved layer can be read as well.
    let merged = layers.merged()?;
    let mut facts = facts::read(&worktree, &merged, SetupRequest::IfNeeded)?;
    facts.record = plan::known_record(&merged, &facts);
    let plan = plan::plan(&layers.layers, &merged, &facts, SetupRequest::IfNeeded);
    let mut report = plan.report(&worktree.path, &layers.layers, ReportFor::Check);
    report.warnings.splice(0..0, layers.warnings());
    report.warnings.extend(facts::naming_main(&worktree, &facts.record));
    report.disk = (!args.no_disk && !facts.record.caches.is_empty()).then(|| fs::disk_use(&worktree.path));
    report.warnings.iter().for_each(|warning| ui.warn(warning));
    for layer in layers.layers.iter().filter(|l| l.approval == ApprovalStatus::Required) {
        ui.note(format!("{} is not approved; run `{} approve`", layer.path.display(), dirs.call(env, None)));
    }
    if ui.is_json() {
        ui.json(&report);
    } else {
        let path = worktree.path.to_string_lossy();
        let begin = if args.all { format!("{}: ", printable(&path)) } else { String::new() };
        if let Some(disk) = report.disk {
            let (own, shared) = (fs::size_in_words(disk.own), fs::size_in_words(disk.shared));
            ui.note(format!("{begin}takes {own} of the disk, and shares {shared}"));
        }
        plan.drift.iter().for_each(|line| ui.line(format!("{begin}{}", printable(line))));
    }
    Ok(if plan.drift.is_empty() { Exit::Done } else { Exit::No })
}
