//! `hook install | uninstall | status | run`: the same command in every tool that has a hook.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::env::Env;
use crate::error::{Exit, Failure, Result};
use crate::git::Git;
use crate::hook::{self, Installed};
use crate::text::printable;
use crate::ui::Ui;

/// The hook all tools with a hook for new worktrees share.
const HOOK: &str = "post-checkout";

/// Do what is to be done, or only show it.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct DryRun {
    /// Show what would be done and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

/// The subcommands of `hook`.
#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Install the post-checkout hook, keeping a hook that is there already
    #[command(after_help = "Example:\n  sweatfile-apply hook install && overlay-sync hook install")]
    Install(DryRun),
    /// Take the hook out again and put back what was there before
    #[command(after_help = "Example:\n  overlay-sync hook uninstall")]
    Uninstall(DryRun),
    /// Tell whether the hook is installed: 0 yes, 1 no
    #[command(after_help = "Example:\n  overlay-sync hook status || overlay-sync hook install")]
    Status,
    /// What the hook's stub calls, with git's own arguments; problems are notices and exit 0
    #[command(after_help = "Example:\n  sweatfile-apply hook run post-checkout \"$@\"      # in a hook of your own")]
    Run {
        /// The hook's name
        #[arg(value_parser = ["post-checkout"])]
        name: String,
        /// git's arguments: the previous ref, the new ref, and 1 for a branch checkout
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

/// Runs the command for `tool`. `called` is what the tool does in a worktree that git just created; it
/// tells its problems as errors.
///
/// A hook's exit status would become that of `git worktree add` while the worktree stays, so there every
/// problem is a notice and the status 0.
pub fn run(
    ui: &Ui,
    env: &Env,
    tool: &'static str,
    command: HookCommand,
    called: impl FnOnce(Git) -> Result<Option<Failure>>,
) -> Result<Exit> {
    let args = match command {
        HookCommand::Install(args) => return install(ui, env, tool, args.dry_run),
        HookCommand::Uninstall(args) => return uninstall(ui, env, tool, args.dry_run),
        HookCommand::Status => return status(ui, env, tool),
        HookCommand::Run { name: _, args } => args,
    };
    if env.var("SHOPFLOOR").is_some_and(|v| v == "0") || !is_new_worktree(&args) {
        return Ok(Exit::Done);
    }
    let done = Git::find(env).and_then(|mut git| {
        let repo = git.discover()?;
        // git sets GIT_DIR to this worktree for the hooks of a checkout in it (leaving an orphan branch
        // has a null first ref too), and leaves it unset for those of `git worktree add`.
        if !repo.is_linked() || git.is_own_hook(&repo) { Ok(None) } else { called(git) }
    });
    match done {
        Ok(Some(failure)) | Err(failure) => ui.problem(&failure),
        Ok(None) => {}
    }
    Ok(Exit::Done)
}

fn install(ui: &Ui, env: &Env, tool: &'static str, dry_run: bool) -> Result<Exit> {
    let mut git = Git::find(env)?;
    let repo = git.discover()?;
    if !dry_run {
        repo.remember_main_checkout()?;
    }
    let installed = hook::install(&git, &repo, HOOK, tool, dry_run)?;
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

fn uninstall(ui: &Ui, env: &Env, tool: &'static str, dry_run: bool) -> Result<Exit> {
    let repo = Git::find(env)?.discover()?;
    let status = hook::status(&repo, HOOK)?;
    let there = status.tools.iter().any(|t| t == tool);
    if there && !dry_run {
        hook::uninstall(&repo, HOOK, tool)?;
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

fn status(ui: &Ui, env: &Env, tool: &'static str) -> Result<Exit> {
    let repo = Git::find(env)?.discover()?;
    let status = hook::status(&repo, HOOK)?;
    let installed = status.tools.iter().any(|t| t == tool);
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

/// A null first ref and a branch checkout: what git passes for a worktree it created. Not a proof, for
/// a clone and a first checkout pass the same.
fn is_new_worktree(args: &[OsString]) -> bool {
    let is_null = |r: &OsString| matches!(r.len(), 40 | 64) && r.as_encoded_bytes().iter().all(|b| *b == b'0');
    matches!(args, [old, _, flag] if is_null(old) && flag == "1")
}

fn shown(path: &Option<PathBuf>) -> Option<String> {
    path.as_ref().map(|p| p.to_string_lossy().into_owned())
}
