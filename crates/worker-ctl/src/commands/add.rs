//! `add`: a branch, a worktree, a place in the state.

use clap::Args as ClapArgs;
use serde::Serialize;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hook_command::DryRun;
use shopfloor_core::ui::printable;

use crate::apply::make::{self, WorkerOptions};
use crate::commands;
use crate::layout;
use crate::site::Site;
use crate::worker::checked_name;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// 1 to 32 lower-case letters, digits, `_` and `-`
    #[arg(allow_hyphen_values = true)]
    pub name: String,
    /// What it should know of itself
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub role_prompt: Option<String>,
    #[command(flatten)]
    pub dry: DryRun,
}

/// The answer with `--json`.
#[derive(Serialize)]
struct Answer<'a> {
    worker: &'a str,
    worktree_path: &'a str,
    branch: &'a str,
}

/// `agent` and `model` are flags that every command has.
pub fn run(site: &Site<'_>, args: &Args, agent: Option<String>, model: Option<String>) -> Result<Exit> {
    let name = args.name.as_str();
    let options = WorkerOptions { agent, model, role_prompt: args.role_prompt.clone() };
    checked_name(name)?;
    commands::recover(site)?;
    let _lock = site.lock(name)?;
    make::check(site, name, &options)?;
    if site.is_dry {
        commands::show(site.ui, format!("make {}", layout::worktree(&site.root.path, name).display()));
        return Ok(Exit::Done);
    }
    // Its table comes first, so that everybody who sees the worker sees its settings. An `up` that sees the table alone
    // waits for our lock.
    let (before, after) = make::configure(site, name, &options)?;
    let made = site.reload().and_then(|site| make::make(&site, name, &options));
    if made.is_err() {
        make::take_back(site, &before, &after)?;
    }
    let worker = made?;
    if site.ui.is_json() {
        let (worktree_path, branch) = (&worker.worktree_path, &worker.branch);
        site.ui.json(&Answer { worker: name, worktree_path, branch });
    } else {
        site.ui.line(printable(&worker.worktree_path));
    }
    Ok(Exit::Done)
}
