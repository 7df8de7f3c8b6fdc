//! `add`: creates a worker.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::printable;

use crate::apply::new_worker::{self, WorkerOptions};
use crate::commands::{self, about, init};
use crate::context::{Context, Flags};
use crate::layout;
use crate::names::new_name;
use crate::worker::LandAs;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker's name: 1 to 32 lower-case letters, digits, `_` and `-`; a name in another script becomes one of these
    /// [default with `--worktree`: the worktree's]
    #[arg(required_unless_present = "worktree")]
    pub name: Option<String>,
    /// Make a worker of this worktree of your own repository; `-` reads one path a line from stdin
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::DirPath)]
    pub worktree: Option<PathBuf>,
    /// Read the paths separated by NUL
    #[arg(short = 'z', requires = "worktree")]
    pub nul: bool,
    /// Land the worktree's work on this branch [default: its parent's branch, else the root's]
    #[arg(long, value_name = "BRANCH", requires = "worktree")]
    pub target: Option<String>,
    /// Others have the branch as that of a request to PLACE (HOST/OWNER/NAME), so it is never moved or rebased
    #[arg(long, value_name = "PLACE", requires = "worktree")]
    pub request: Option<String>,
    /// Land the worktree's work as one commit, which is the default, or as its own commits
    #[arg(long, value_name = "HOW", requires = "worktree")]
    pub land: Option<LandAs>,
    /// Accept the settings of the worktree by which git runs something without being asked
    #[arg(long, requires = "worktree")]
    pub yes: bool,
    /// Let the worker's program ask before it does something, whatever `skip_permissions` says; this is the default with
    /// --worktree
    #[arg(long, conflicts_with = "yolo")]
    pub ask: bool,
    /// Let it ask nobody, whatever `skip_permissions` says
    #[arg(long)]
    pub yolo: bool,
    /// Add TEXT to each of the worker's tasks
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub role_prompt: Option<String>,
}

impl Args {
    /// Whether the worker's program skips permissions, if that is said.
    pub fn skip_permissions(&self) -> Option<bool> {
        (self.ask || self.yolo).then_some(self.yolo)
    }
}

/// The answer with `--json`.
fn answer(name: &str, worktree: &str, branch: &str) -> Value {
    about(name, json!({ "worktree_path": worktree, "worktree": worktree, "branch": branch }))
}

/// The agent, its model and its runner are global flags, so they are not in `args`.
pub fn run(ctx: &Context<'_>, args: &Args, flags: &Flags) -> Result<Exit> {
    let [agent, model, runner] = ["agent", "model", "runner"].map(|name| flags.text(name));
    let typed = args.name.as_deref().unwrap_or_default();
    let name = new_name(typed)?;
    let name = name.as_str();
    let (role_prompt, skip_permissions) = (args.role_prompt.clone(), args.skip_permissions());
    let options = WorkerOptions { agent, model, role_prompt, skip_permissions, runner, is_adopted: false };
    if name != typed {
        ctx.ui.note(format!("`{}` is the worker {name}", printable(typed)));
    }
    commands::recover(ctx)?;
    commands::catch_up(ctx);
    let _lock = ctx.lock(name)?;
    if ctx.is_dry && ctx.clone.is_own {
        let would = format!("make the clone, and create {}", layout::worktree(&ctx.root.path, name).display());
        return Ok(ctx.ui.would(&about(name, json!({})), &[would]));
    }
    let with_clone = match ctx.clone.is_own && !ctx.is_dry {
        true => Some(init::add_clone(ctx).and_then(|()| ctx.reload())?),
        false => None,
    };
    let ctx = with_clone.as_ref().unwrap_or(ctx);
    let new = new_worker::check(ctx, name, &options)?;
    new_worker::require_runner(ctx, name, options.runner.as_deref())?;
    if ctx.is_dry {
        let worktree = layout::worktree(&ctx.root.path, name).to_string_lossy().into_owned();
        let branch = ctx.root.config.branch_of(name);
        return Ok(ctx.ui.would(&answer(name, &worktree, &branch), &[format!("create {worktree}")]));
    }
    // Write the table first, so that whoever sees the worker also sees its settings. An `up` that sees only the table
    // waits for our lock.
    let (before, after) = new_worker::configure(ctx, name, &options)?;
    let worker = ctx.reload().and_then(|ctx| new_worker::make(&ctx, new));
    if worker.is_err() {
        new_worker::restore_config(ctx, &before, &after)?;
    }
    let worker = worker?;
    let path = &worker.worktree_path;
    ctx.ui.json_or_line(&answer(name, path, &worker.branch), printable(path));
    Ok(Exit::Done)
}
