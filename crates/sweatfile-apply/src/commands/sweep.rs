//! `sweep`: undoes the set-up of worktrees that are gone.

use std::time::Duration;

use serde_json::{Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::fs;
use shopfloor_core::known_dirs;
use shopfloor_core::proc::{self, Cmd};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::release_excludes;
use crate::apply::teardown::{self, TornDown};
use crate::commands::doctor;
use crate::excludes;
use crate::ports;
use crate::worktree::OpenWorktree;

/// How long worktree-spawn may take to delete what is left.
const LIMIT: Duration = Duration::from_secs(600);

/// Undo the set-up of worktrees that were removed without us: run their teardown, and free their ports and exclude lines
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
    /// Forget what fails, and what may not run because nobody approves it any more or because it was cut off
    #[arg(long, conflicts_with = "strict")]
    forget: bool,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let worktree = OpenWorktree::find_or_bare(env)?;
    let done = teardown::sweep(ui, &worktree, (args.strict, args.again, args.forget))?;
    let (mut freed, mut excludes, mut failure) = (0, Vec::new(), done.failure());
    // What the commands did is told all the same.
    let mut free = || -> Result<()> {
        freed = ports::free_gone(&worktree.repo, ui.is_dry())?;
        let unused = doctor::unused_excludes(env, &worktree.repo)?;
        excludes = match ui.is_dry() {
            true => excludes::without(&worktree.repo.read_exclude()?, &unused).1,
            false => {
                known_dirs::forget_gone(env)?;
                release_excludes(&worktree.repo, &unused, None)?
            }
        };
        finish_removals(ui, &worktree)
    };
    failure = free().err().or(failure);
    let answer = json!({ "ran": done.ran, "failed": done.failed, "left": done.left, "forgotten": done.forgotten, "ports_freed": freed, "excludes": excludes });
    let print_all = || {
        print(ui, &done);
        let word = if ui.is_dry() { "would free" } else { "freed" };
        if freed > 0 {
            ui.done(format!("{word} ports: {freed}"));
        }
        excludes.iter().for_each(|pattern| ui.done(format!("{word} exclude {}", printable(pattern))));
        let word = if ui.is_dry() { "would forget" } else { "forgot" };
        done.forgotten.iter().for_each(|line| ui.done(format!("{word} {}", printable(line))));
        let is_idle = freed == 0 && excludes.is_empty() && done.ran.is_empty() && done.forgotten.is_empty();
        if is_idle && done.failed.is_empty() && done.left.is_empty() {
            ui.nothing_to_do();
        }
    };
    let exit = ui.conclude(&answer, print_all, failure.as_ref());
    Ok(if exit == Exit::Done && !done.left.is_empty() { Exit::No } else { exit })
}

/// Lets worktree-spawn delete what a removal of its own has left.
fn finish_removals(ui: &Ui, worktree: &OpenWorktree) -> Result<()> {
    let left = !fs::list(&worktree.repo.shared_state("worktree-spawn").join("gone"))?.is_empty();
    let Some(program) = proc::find(&worktree.env, "worktree-spawn").filter(|_| left) else { return Ok(()) };
    if ui.is_dry() {
        ui.note("would run `worktree-spawn repair`");
        return Ok(());
    }
    let cmd = Cmd::new(&program, &worktree.env).args(["repair", "--json"]).dir(&worktree.repo.home.checkout);
    let repaired = cmd.within(LIMIT).capture()?;
    let text = String::from_utf8_lossy(&repaired.stdout);
    for told in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        // It tells of other agents' worktrees, too.
        let line = if told["what"] == "spawn" { &told["detail"] } else { &told["error"]["message"] };
        if let Some(line) = line.as_str() {
            ui.note(printable(line));
        }
    }
    ui.pass_through(None, &repaired.stderr);
    Ok(())
}

/// Prints what was run, and what waits.
pub fn print(ui: &Ui, done: &TornDown) {
    let word = if ui.is_dry() { "would run" } else { "ran" };
    done.ran.iter().for_each(|line| ui.line(format!("{word} {}", printable(line))));
    done.left.iter().for_each(|line| ui.line(format!("left {}", printable(line))));
}
