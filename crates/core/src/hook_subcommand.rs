//! `hook install | uninstall | status | run`: the same command in every tool that has a hook.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;

use crate::env::Env;
use crate::error::{Exit, Failure, Result};
use crate::fs;
use crate::git::{Git, Repo};
use crate::git_hook::{self, Installed};
use crate::hook_manager::{self, Managed};
use crate::pre_remove;
use crate::proc::is_executable;
use crate::text::{printable, shell_word};
use crate::ui::Ui;

/// The subcommands of `hook`.
#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Install this tool's git hooks, keeping a hook that is there already
    #[command(after_help = "Example:\n  {tool} hook install")]
    Install,
    /// Take the hooks out again and put back what was there before
    ///
    /// Exits with 1 if a file of a hooks manager still calls the tool: you wrote that line, so you delete it.
    #[command(after_help = "Example:\n  {tool} hook uninstall")]
    Uninstall,
    /// Tell whether the hooks are installed: 0 yes, 1 no
    #[command(after_help = "Example:\n  {tool} hook status || {tool} hook install")]
    Status,
    /// Run a hook as its stub does, with git's own arguments
    ///
    /// Only pre-push and pre-remove can refuse anything; in other hooks problems are notices and the exit code is 0.
    /// git has no hook pre-remove: run `hook run pre-remove PATH` before you remove a worktree, and keep the worktree
    /// if that fails.
    #[command(after_help = "Example:\n  {tool} hook run {hook} \"$@\"      # in a hook of your own")]
    Run {
        /// The hook's name: post-checkout and pre-remove (sweatfile-apply, overlay-sync), pre-push, post-merge or
        /// post-rewrite (ledger-synth)
        name: String,
        /// git's arguments; for pre-remove the worktree
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

/// A call of one of the tool's hooks.
#[derive(Debug)]
pub struct Called {
    /// git, as the hook's environment has it.
    pub git: Git,
    /// The repository that the hook runs for.
    pub repo: Repo,
    /// Which of the tool's hooks.
    pub hook: &'static str,
    /// git's arguments.
    pub args: Vec<OsString>,
}

/// Runs the command for `tool`. `called` is what the tool does when git runs one of its hooks; it returns
/// problems as errors.
///
/// A hook's exit status would become that of `git worktree add` although the worktree stays, so every problem becomes
/// a notice, and the status is 0. Only pre-push can refuse.
pub fn run(
    ui: &Ui,
    env: &Env,
    tool: &'static str,
    command: HookCommand,
    called: impl FnOnce(Called) -> Result<Option<Failure>>,
) -> Result<Exit> {
    let hooks: Vec<&'static str> = git_hook::of(tool).collect();
    let (name, args) = match command {
        HookCommand::Run { name, args } => (name, args),
        asked => {
            let (git, repo) = Git::here(env)?;
            // What one hook refuses is refused before another one is written.
            if matches!(asked, HookCommand::Install) {
                hooks
                    .iter()
                    .copied()
                    .try_for_each(|hook| git_hook::install(&git, &repo, hook, tool, true).map(drop))?;
            }
            let mut is_so = true;
            for hook in hooks {
                is_so &= match asked {
                    HookCommand::Install => install(ui, &git, &repo, tool, hook).map(|()| true),
                    HookCommand::Uninstall => uninstall(ui, &git, &repo, tool, hook),
                    _ => status(ui, &git, &repo, tool, hook),
                }?;
            }
            return Ok(if is_so { Exit::Done } else { Exit::No });
        }
    };
    let Some(hook) = hooks.iter().copied().find(|hook| *hook == name) else {
        return Err(Failure::usage(format!("{tool} has no hook `{name}`"))
            .hint(format!("its hooks: {}", with_removal(tool, &hooks).join(", "))));
    };
    if env.var("SHOPFLOOR").is_some_and(|v| v == "0") || (hook == "post-checkout" && !is_new_worktree(&args)) {
        return Ok(Exit::Done);
    }
    let done = Git::find(env).and_then(|mut git| {
        let repo = git.discover()?;
        // git sets GIT_DIR to this worktree for the hooks of a checkout in it (leaving an orphan branch
        // has a null first ref too), and leaves it unset for those of `git worktree add`.
        if hook == "post-checkout" && (!repo.is_linked() || git.is_own_hook(&repo)) {
            return Ok(None);
        }
        called(Called { git, repo, hook, args })
    });
    let Err(failure) = done.and_then(|problem| problem.map_or(Ok(()), Err)) else { return Ok(Exit::Done) };
    if hook == "pre-push" {
        return Err(failure);
    }
    ui.problem(&failure);
    Ok(Exit::Done)
}

/// Runs `hook run pre-remove PATH` if that is the command; otherwise returns the command, for [`run`].
///
/// `leaving` is what the tool does for a worktree that is about to be removed, with the surroundings seen from there;
/// it returns notes for a person. Every failure of it is exit 1. A path that is not a worktree is exit 0.
pub fn run_before_removal(
    ui: &Ui,
    env: &Env,
    command: HookCommand,
    leaving: impl FnOnce(&Env, Git, Repo) -> Result<Vec<String>>,
) -> Result<std::result::Result<Exit, HookCommand>> {
    let HookCommand::Run { name, args } = &command else { return Ok(Err(command)) };
    if name != pre_remove::PRE_REMOVE {
        return Ok(Err(command));
    }
    let [path] = args.as_slice() else {
        return Err(Failure::usage("pre-remove takes one path").hint("name the worktree that is about to be removed"));
    };
    let path = env.cwd.join(path);
    if env.var("SHOPFLOOR").is_some_and(|v| v == "0") || !path.is_dir() {
        return Ok(Ok(Exit::Done));
    }
    let there = env.at(&path)?;
    let mut git = Git::find(&there)?;
    let left = match git.discover() {
        Ok(repo) if fs::is_same_file(repo.worktree.as_deref().unwrap_or(&repo.git_dir), &path) => {
            leaving(&there, git, repo)
        }
        Ok(_) => Ok(Vec::new()),
        Err(failure) if failure.kind == "not_a_repository" => Ok(Vec::new()),
        Err(failure) => Err(failure),
    };
    let notes = left.map_err(|failure| match failure.exit {
        Exit::Signal(_) => failure,
        _ => Failure { exit: Exit::No, ..failure },
    })?;
    if ui.is_json() && !notes.is_empty() {
        let path = path.to_string_lossy();
        ui.json(&json!({ "path": path, "worktree": path, "notes": notes }));
    } else if !ui.is_json() {
        notes.iter().for_each(|note| ui.note(note));
    }
    Ok(Ok(Exit::Done))
}

fn with_removal<'h>(tool: &str, hooks: &[&'h str]) -> Vec<&'h str> {
    let removal = pre_remove::TOOLS.contains(&tool).then_some(pre_remove::PRE_REMOVE);
    hooks.iter().copied().chain(removal).collect()
}

fn install(ui: &Ui, git: &Git, repo: &Repo, tool: &'static str, hook: &'static str) -> Result<()> {
    let dry_run = ui.is_dry();
    if !dry_run {
        repo.remember(git.env())?;
    }
    let installed = git_hook::install(git, repo, hook, tool, dry_run)?;
    match &installed {
        Installed::Stub { status, changed } => {
            if ui.is_json() {
                ui.json(&json!({ "hook": hook, "path": status.path.to_string_lossy(), "installed": !dry_run || !changed, "chained": shown(&status.chained) }));
            } else {
                let path = status.path.display().to_string();
                match (changed, dry_run) {
                    (false, _) => ui.detail(format!("{path} is installed already")),
                    (true, true) => ui.done(format!("would install {}", printable(&path))),
                    (true, false) => ui.done(format!("installed {}", printable(&path))),
                }
            }
            if let Some(chained) = &status.chained {
                // Nor did git run it before.
                let how =
                    if is_executable(chained) { "still runs first" } else { "is not executable, so it does not run" };
                ui.note(format!("the hook that was there {how}: {}", chained.display()));
            }
            let is_relative = git.hooks_path(repo)?.is_some_and(|path| path.is_relative());
            if is_relative && repo.has_own_hooks() && !repo.hooks_dir.starts_with(&repo.common_dir) {
                ui.note("core.hooksPath is relative: each worktree runs the hook of its own checkout, so commit it");
            } else if !repo.has_own_hooks() {
                ui.note(format!(
                    "core.hooksPath is set: every repository that uses {} runs this hook",
                    repo.hooks_dir.display()
                ));
            }
        }
        Installed::Already { manager, file } => {
            let file = file.display().to_string();
            if ui.is_json() {
                ui.json(&json!({ "hook": hook, "installed": true, "manager": manager, "file": file }));
            } else {
                ui.detail(format!("{hook} is installed already, in {file} (by {manager})"));
            }
        }
        Installed::Managed(Managed::Unwired { manager, command }) => {
            if ui.is_json() {
                ui.json(&json!({ "hook": hook, "installed": false, "manager": manager, "command": command }));
            }
            ui.note(format!("{manager} has the call, but git does not run its {hook} yet; run `{command}`"));
        }
        Installed::Managed(Managed::Entry { manager, file, below, entry }) => {
            if ui.is_json() {
                ui.json(&json!({
                    "hook": hook, "installed": false, "manager": manager, "file": file, "below": below, "entry": entry
                }));
            } else {
                ui.line(entry);
            }
            let below = below.as_ref().map(|below| format!(", below `{below}`")).unwrap_or_default();
            ui.note(format!("{manager} owns the hooks, so nothing was written; add what is above to {file}{below}"));
        }
    }
    Ok(())
}

/// Takes a hook out. Returns `false` if a file that a person wrote still calls the tool.
fn uninstall(ui: &Ui, git: &Git, repo: &Repo, tool: &'static str, hook: &'static str) -> Result<bool> {
    let dry_run = ui.is_dry();
    let status = git_hook::status(repo, hook)?;
    let stubs = git_hook::stubs(git.env(), repo, hook, tool);
    let is_ours = git_hook::is_to_uninstall(git.env(), repo, hook, tool);
    let there = match dry_run {
        true => !stubs.is_empty() || (is_ours && status.chained.is_some() && !status.path.exists()),
        false => git_hook::uninstall(git.env(), repo, hook, tool)?,
    };
    // A stub that is still there is a call, too.
    let caller = if there && dry_run && is_ours { None } else { hook_manager::run_by(git, repo, hook, tool)? };
    if let Some((manager, file)) = &caller {
        let shown = file.display();
        let why = match is_ours || !file.starts_with(&repo.hooks_dir) {
            true => format!("{shown} still has the line of {tool} for {hook}, which {manager} runs; delete it"),
            false => {
                let (stub, before) = (shell_word(&status.path), status.chained.as_deref().map(shell_word));
                let by_hand = before.map_or_else(|| format!("rm {stub}"), |before| format!("mv {before} {stub}"));
                let or = format!("; or, if no other tool or repository uses it, take it out yourself: `{by_hand}`");
                let or = if status.tools.iter().any(|other| other == tool) { or } else { String::new() };
                format!("{shown} still runs {tool}, and stays: {}{or}", git.foreign_hooks(repo)?)
            }
        };
        ui.warn(printable(&why));
    }
    let path = stubs.first().unwrap_or(&status.path);
    if ui.is_json() {
        ui.json(&json!({ "hook": hook, "path": path.to_string_lossy(), "removed": there && !dry_run }));
    } else {
        let path = path.display().to_string();
        match (there, dry_run) {
            (false, _) => ui.detail(format!("{path} is not installed")),
            (true, true) => ui.done(format!("would uninstall {}", printable(&path))),
            (true, false) => ui.done(format!("uninstalled {}", printable(&path))),
        }
    }
    Ok(caller.is_none())
}

fn status(ui: &Ui, git: &Git, repo: &Repo, tool: &'static str, hook: &'static str) -> Result<bool> {
    let status = git_hook::status(repo, hook)?;
    let by = git_hook::runs(git, repo, hook, tool)?;
    let installed = by.is_some();
    if ui.is_json() {
        ui.json(&json!({
            "hook": hook, "path": status.path.to_string_lossy(), "installed": installed, "tools": status.tools, "chained": shown(&status.chained),
            "manager": by.as_ref().and_then(|(manager, _)| *manager)
        }));
    } else if let Some((Some(manager), file)) = by {
        ui.line(format!("installed {} (by {manager})", printable(&file.display().to_string())));
    } else {
        let word = if installed { "installed" } else { "not installed" };
        ui.line(format!("{word} {}", printable(&status.path.display().to_string())));
    }
    Ok(installed)
}

/// Whether git passed a null first ref and a branch checkout, as for a worktree it created. That proves nothing: a
/// clone and a first checkout pass the same.
fn is_new_worktree(args: &[OsString]) -> bool {
    let is_null = |r: &OsString| matches!(r.len(), 40 | 64) && r.as_encoded_bytes().iter().all(|b| *b == b'0');
    matches!(args, [old, _, flag] if is_null(old) && flag == "1")
}

fn shown(path: &Option<PathBuf>) -> Option<String> {
    path.as_ref().map(|p| p.to_string_lossy().into_owned())
}
