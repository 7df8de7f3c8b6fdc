//! `hook`: attaches a worktree that git has created, and syncs one that is about to be removed.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::hook_subcommand::{self, HookCommand};
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::Ui;

use super::pre_remove;
use crate::apply::attach::attach;
use crate::facts::overlay::Overlay;
use crate::settings::OverlayFlags;
use crate::tool::TOOL;

pub fn run(ui: &Ui, env: &Env, flags: &OverlayFlags, command: HookCommand) -> Result<Exit> {
    let leaving = |env: &Env, git, repo| pre_remove::run(ui, env, flags, git, repo);
    match hook_subcommand::run_before_removal(ui, env, command, leaving)? {
        Ok(done) => Ok(done),
        Err(command) => {
            hook_subcommand::run(ui, env, TOOL, command, |called| created(ui, env, flags, called.git, called.repo))
        }
    }
}

fn created(ui: &Ui, env: &Env, flags: &OverlayFlags, git: Git, repo: Repo) -> Result<Option<Failure>> {
    let overlay = Overlay::of(ui, env, flags, git, repo)?;
    if ui.is_dry() || !overlay.settings.enabled || overlay.is_unmade() {
        // This repository has no overlay.
        return Ok(None);
    }
    let here = (overlay.repo.require_worktree()?.to_path_buf(), overlay.repo.git_dir.clone());
    let again = format!("when that has ended, run `overlay-sync -C {} attach`", shell_word(&here.0));
    let attached = attach(&overlay, vec![here]).map_err(|failure| match failure.exit {
        Exit::Busy => Failure { hints: vec![again], ..failure },
        _ => failure,
    });
    let outcome = attached?.outcome;
    outcome.warnings.iter().for_each(|warning| ui.warn(warning));
    Ok((!outcome.open.is_empty()).then(|| Failure::failed("not everything is in step").details(outcome.open)))
}
