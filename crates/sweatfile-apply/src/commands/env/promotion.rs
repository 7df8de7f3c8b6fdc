//! Promotes variables into the repository's sweatfile, for both kinds of review.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::lock::Lock;
use shopfloor_core::ui::Ui;

use crate::apply;
use crate::facts::{self, LayerDirs, LoadOptions};
use crate::plan::promotion::{self, PromotionPlan};
use crate::review::Change;
use crate::state;
use crate::worktree::OpenWorktree;

/// Edits the sweatfile under a lock, and leaves everything else in it as it is. If the text before was approved, so is
/// the text after. Returns what was written, if anything.
pub fn promote(
    ui: &Ui,
    env: &Env,
    worktree: &OpenWorktree,
    dirs: &LayerDirs,
    changes: &[&Change],
) -> Result<Option<PromotionPlan>> {
    if changes.is_empty() {
        return Ok(None);
    }
    let repo = &worktree.repo;
    let _lock = if ui.is_dry() { None } else { Some(Lock::take(&state::promote_lock(repo))?) };
    let layers = facts::load_layers(env, repo, dirs, LoadOptions::default())?;
    let layer = layers.repo().ok_or_else(|| Failure::failed("there is no repository layer"))?;
    let plan = promotion::plan(layer, changes)?;
    plan.notes.iter().for_each(|note| ui.note(note));
    if ui.is_dry() || plan.changes_nothing() {
        return Ok(None);
    }
    let is_approved = apply::write_promotion(env, worktree, &dirs.repo_root(env, repo), &plan)?;
    let word = if plan.before.is_some() { "edited" } else { "created" };
    ui.note(format!("{} was {word} and is not committed", layer.path.display()));
    if !is_approved {
        ui.note("the sweatfile is not approved; run `sweatfile-apply approve`");
    }
    Ok(Some(plan))
}
