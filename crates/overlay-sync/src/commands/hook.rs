//! `hook`: git has created a worktree, and it is attached if the repository has an overlay; or one is about to go.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::hook_command::{self, HookCommand};
use shopfloor_core::ui::Ui;

use super::attach::attach_here;
use super::leave;
use crate::TOOL;
use crate::cli::OverlayFlags;
use crate::facts::Overlay;

pub fn run(ui: &Ui, env: &Env, place: &OverlayFlags, command: HookCommand) -> Result<Exit> {
    let leaving = |env: &Env, git, repo| leave::before_removal(ui, env, place, git, &repo);
    match hook_command::run_before_removal(ui, env, command, leaving)? {
        Ok(done) => Ok(done),
        Err(command) => hook_command::run(ui, env, TOOL, command, |called| created(ui, env, place, called.git)),
    }
}

fn created(ui: &Ui, env: &Env, place: &OverlayFlags, git: Git) -> Result<Option<Failure>> {
    let overlay = Overlay::of(ui, env, place, git)?;
    if place.dry_run || !overlay.settings.enabled || !overlay.dir.is_dir() {
        // Nobody uses an overlay here.
        return Ok(None);
    }
    let outcome = attach_here(env, &overlay)?;
    Ok((!outcome.open.is_empty()).then(|| Failure::failed("not everything is in step").details(outcome.open)))
}
