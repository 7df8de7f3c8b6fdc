//! `hook`: git calls us for every worktree it creates.

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::hook::{self, Installed};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::TOOL;
use crate::cli::{ApplyArgs, HookCommand, Places};
use crate::facts::Place;

const HOOK: &str = "post-checkout";

pub fn run(ui: &Ui, env: &Env, places: &Places, command: HookCommand) -> Result<Exit> {
    match command {
        HookCommand::Install(args) => install(ui, env, args.dry_run),
        HookCommand::Uninstall(args) => uninstall(ui, env, args.dry_run),
        HookCommand::Status => status(ui, env),
        HookCommand::Run { name: _, args } => called(ui, env, places, &args),
    }
}

fn install(ui: &Ui, env: &Env, dry_run: bool) -> Result<Exit> {
    let mut git = Git::find(env)?;
    let repo = git.discover()?;
    if !dry_run {
        repo.remember_main_checkout()?;
    }
    let installed = hook::install(&git, &repo, HOOK, TOOL, dry_run)?;
    match &installed {
        Installed::Stub { status, changed } => {
            if ui.is_json() {
                ui.json(&json!({ "hook": HOOK, "path": status.path.to_string_lossy(), "installed": !dry_run || !changed, "chained": shown(&status.chained) }));
            } else {
                let word = match (changed, dry_run) {
                    (false, _) => "already installed",
                    (true, true) => "would install",
                    (true, false) => "installed",
                };
                ui.line(format!("{word} {}", printable(&status.path.display().to_string())));
            }
            if let Some(chained) = &status.chained {
                ui.note(format!("the hook that was there still runs first: {}", chained.display()));
            }
            let configured = git.hooks_path(&repo)?;
            if configured.as_ref().is_some_and(|path| path.is_relative()) {
                ui.note("core.hooksPath is relative: each worktree runs the hook of its own checkout, so commit it");
            } else if repo.hooks_dir.strip_prefix(&repo.common_dir).is_err() {
                ui.note(format!(
                    "core.hooksPath is set: every repository that uses {} runs this hook",
                    repo.hooks_dir.display()
                ));
            }
        }
        Installed::Entry { manager, file, entry } => {
            if ui.is_json() {
                ui.json(&json!({ "hook": HOOK, "installed": false, "manager": manager, "file": file, "entry": entry }));
            } else {
                ui.line(entry);
            }
            ui.note(format!("{manager} owns the hooks, so nothing was written; add the line above to {file}"));
        }
    }
    Ok(Exit::Done)
}

fn uninstall(ui: &Ui, env: &Env, dry_run: bool) -> Result<Exit> {
    let repo = Git::find(env)?.discover()?;
    let status = hook::status(&repo, HOOK)?;
    let there = status.tools.iter().any(|t| t == TOOL);
    if there && !dry_run {
        hook::uninstall(&repo, HOOK, TOOL)?;
    }
    if ui.is_json() {
        ui.json(&json!({ "hook": HOOK, "path": status.path.to_string_lossy(), "removed": there && !dry_run }));
    } else {
        let word = match (there, dry_run) {
            (false, _) => "not installed",
            (true, true) => "would uninstall",
            (true, false) => "uninstalled",
        };
        ui.line(format!("{word} {}", printable(&status.path.display().to_string())));
    }
    Ok(Exit::Done)
}

fn status(ui: &Ui, env: &Env) -> Result<Exit> {
    let repo = Git::find(env)?.discover()?;
    let status = hook::status(&repo, HOOK)?;
    let installed = status.tools.iter().any(|t| t == TOOL);
    if ui.is_json() {
        ui.json(&json!({
            "hook": HOOK, "path": status.path.to_string_lossy(), "installed": installed, "tools": status.tools, "chained": shown(&status.chained)
        }));
    } else {
        let word = if installed { "installed" } else { "not installed" };
        ui.line(format!("{word} {}", printable(&status.path.display().to_string())));
    }
    Ok(if installed { Exit::Done } else { Exit::No })
}

/// What the stub calls. Its exit status would become that of `git worktree add` while the worktree
/// stays, so every problem is a notice and the status 0.
fn called(ui: &Ui, env: &Env, places: &Places, args: &[OsString]) -> Result<Exit> {
    if env.var("SHOPFLOOR").is_some_and(|v| v == "0") || !is_new_worktree(args) {
        return Ok(Exit::Done);
    }
    match set_up(ui, env, places) {
        Ok(Some(failure)) | Err(failure) => ui.problem(&failure),
        Ok(None) => {}
    }
    Ok(Exit::Done)
}

/// A null first ref and a branch checkout: what git passes for a worktree it created. Not a proof, for
/// a clone and a first checkout pass the same.
fn is_new_worktree(args: &[OsString]) -> bool {
    let is_null = |r: &OsString| matches!(r.len(), 40 | 64) && r.as_encoded_bytes().iter().all(|b| *b == b'0');
    matches!(args, [old, _, flag] if is_null(old) && flag == "1")
}

fn set_up(ui: &Ui, env: &Env, places: &Places) -> Result<Option<Failure>> {
    let mut git = Git::find(env)?;
    let repo = git.discover()?;
    // git sets GIT_DIR to this worktree for the hooks of a checkout in it (leaving an orphan branch
    // has a null first ref too), and leaves it unset for those of `git worktree add`.
    if !repo.is_linked() || git.is_own_hook(&repo) {
        return Ok(None);
    }
    let place = Place::of(git, repo)?;
    let done = super::apply::set_up(ui, env, &place, places, &ApplyArgs::default())?;
    done.report.warnings.iter().for_each(|warning| ui.warn(warning));
    if let (Some(_), Some(unapproved)) = (&done.failure, &done.unapproved) {
        ui.problem(unapproved);
    }
    Ok(done.failure.or(done.unapproved))
}

fn shown(path: &Option<PathBuf>) -> Option<String> {
    path.as_ref().map(|p| p.to_string_lossy().into_owned())
}
