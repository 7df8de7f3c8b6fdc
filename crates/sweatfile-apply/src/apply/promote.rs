//! Writes promoted variables into the repository's sweatfile.

use std::path::Path;

use shopfloor_core::approval::{self, ApprovalStatus, Approvals};
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;

use super::sweatfile::write_sweatfile;
use crate::layer::{FILE, LayerName};
use crate::plan::promotion::PromotionPlan;
use crate::record::Record;
use crate::review::Change;
use crate::worktree::OpenWorktree;

/// Writes the sweatfile in `dir`. If its text was approved before, the new text is approved as well. Returns whether
/// it is approved.
pub fn write_promotion(env: &Env, worktree: &OpenWorktree, dir: &Path, plan: &PromotionPlan) -> Result<bool> {
    let repo = &worktree.repo;
    let common_dir = &repo.home.common_dir;
    let before = String::from_utf8_lossy(plan.before());
    let is_approved = Approvals::load(env)?.status(common_dir, FILE, before.as_bytes())? == ApprovalStatus::Approved;
    if is_approved {
        // The approval is saved before the file. After a kill in between, a text is approved that nobody else wrote
        // and that is not in place yet.
        approval::approve(env, common_dir, FILE, &plan.after)?;
    }
    write_sweatfile(repo, dir, plan.before.as_deref(), &plan.after)?;
    Ok(is_approved)
}

/// Updates the record of the worktree that variables were promoted from, in which they are already applied.
pub fn follow_promotion(worktree: &OpenWorktree, plan: &PromotionPlan, changes: &[&Change]) -> Result<()> {
    let on_disk = Record::load(worktree)?;
    let mut record = on_disk.clone();
    if record.layers.get(&LayerName::Repo) != Some(&plan.digest_before()) {
        return Ok(());
    }
    record.layers.insert(LayerName::Repo, Digest::of(plan.after.as_bytes()));
    let values = changes.iter().filter_map(|c| Some((c.key.clone(), c.new.text()?.to_owned())));
    record.env.extend(values.filter(|(_, value)| !value.is_empty()));
    record.save(worktree, &on_disk)
}
