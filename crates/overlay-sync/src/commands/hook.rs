//! What the hook calls: git has created a worktree, and it is attached if the repository has an overlay.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::git::Git;
use shopfloor_core::ui::Ui;

use super::attach::attach_here;
use crate::cli::Place;
use crate::facts::Overlay;

pub fn created(ui: &Ui, env: &Env, place: &Place, git: Git) -> Result<Option<Failure>> {
    let overlay = Overlay::of(ui, env, place, git)?;
    if place.dry_run || !overlay.settings.enabled || !overlay.dir.is_dir() {
        // Nobody uses an overlay here.
        return Ok(None);
    }
    let outcome = attach_here(env, &overlay)?;
    Ok((!outcome.open.is_empty()).then(|| Failure::failed("not everything is in step").details(outcome.open)))
}
