//! `hook`: git has created a worktree, and it is set up; or one is about to go.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::hook_command::{self, HookCommand};
use shopfloor_core::ui::Ui;

use super::removed;
use crate::TOOL;
use crate::cli::{ApplyArgs, Places};
use crate::facts::Place;

pub fn run(ui: &Ui, env: &Env, places: &Places, command: HookCommand) -> Result<Exit> {
    match hook_command::run_before_removal(ui, env, command, removed::before_removal)? {
        Ok(done) => Ok(done),
        Err(command) => hook_command::run(ui, env, TOOL, command, |called| created(ui, env, places, called.git)),
    }
}

fn created(ui: &Ui, env: &Env, places: &Places, mut git: Git) -> Result<Option<Failure>> {
    let repo = git.discover()?;
    let place = Place::of(git, repo)?;
    let done = super::apply::set_up(ui, env, &place, places, &ApplyArgs::default())?;
    done.report.warnings.iter().for_each(|warning| ui.warn(warning));
    if let (Some(_), Some(unapproved)) = (&done.failure, &done.unapproved) {
        ui.problem(unapproved);
    }
    Ok(done.failure.or(done.unapproved))
}
