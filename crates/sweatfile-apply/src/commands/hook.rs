//! What the hook calls: git has created a worktree, and it is set up.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::ui::Ui;

use crate::cli::{ApplyArgs, Places};
use crate::facts::Place;

pub fn created(ui: &Ui, env: &Env, places: &Places, mut git: Git) -> Result<Option<Failure>> {
    let repo = git.discover()?;
    let place = Place::of(git, repo)?;
    let done = super::apply::set_up(ui, env, &place, places, &ApplyArgs::default())?;
    done.report.warnings.iter().for_each(|warning| ui.warn(warning));
    if let (Some(_), Some(unapproved)) = (&done.failure, &done.unapproved) {
        ui.problem(unapproved);
    }
    Ok(done.failure.or(done.unapproved))
}
