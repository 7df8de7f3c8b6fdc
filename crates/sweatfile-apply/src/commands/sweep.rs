//! `sweep`: undoes the set-up of worktrees that are gone.

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::teardown::{self, TornDown};
use crate::ports;
use crate::worktree::OpenWorktree;

/// Undo the set-up of worktrees that were removed without us: run their teardown, and free their ports
///
/// Each command runs once, in an empty directory with the worktree's name. What fails is kept for the next sweep. Exits with 4
/// if a command failed, with 1 if something waits.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  sweatfile-apply sweep --dry-run")]
pub struct Args {
    /// Stop at the first command that fails
    #[arg(long)]
    strict: bool,
    /// Run also what was begun and cut off
    #[arg(long)]
    again: bool,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let worktree = OpenWorktree::find(env)?;
    let done = teardown::sweep(ui, &worktree, (args.strict, args.again))?;
    let freed = if ui.is_dry() { 0 } else { ports::free_gone(&worktree.repo)? };
    let failure = done.failure();
    if ui.is_json() {
        let answer = json!({ "ran": done.ran, "failed": done.failed, "left": done.left, "ports_freed": freed });
        let error = failure.as_ref().map(|failure| json!({ "error": failure.to_json() }));
        ui.json_of_both(&answer, &error.unwrap_or(json!({})));
    } else {
        print(ui, &done);
        if done.ran.is_empty() && done.failed.is_empty() && done.left.is_empty() {
            ui.nothing_to_do();
        }
        if let Some(failure) = &failure {
            ui.error(failure);
        }
    }
    Ok(match failure {
        Some(failure) => failure.exit,
        None if !done.left.is_empty() => Exit::No,
        None => Exit::Done,
    })
}

/// Prints what was run, and what waits.
pub fn print(ui: &Ui, done: &TornDown) {
    let word = if ui.is_dry() { "would run" } else { "ran" };
    done.ran.iter().for_each(|line| ui.line(format!("{word} {}", printable(line))));
    done.left.iter().for_each(|line| ui.line(format!("left {}", printable(line))));
}
