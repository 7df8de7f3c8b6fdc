//! Writes promoted variables into the repository's sweatfile.

use std::path::Path;

use shopfloor_core::approval::{self, ApprovalStatus, Approvals};
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;

use super::sweatfile::write_sweatfile;
use crate::applied::Record;
use crate::layer::{FILE, LayerName};
use crate::plan::promotion::PromotionPlan;
use crate::worktree::OpenWorktree;

/// Writes the sweatfile in `dir`. If its text was approved before, the new text is approved as well. Returns whether
/// it is approved.
pub fn promote(env: &Env, worktree: &OpenWorktree, dir: &Path, plan: &PromotionPlan) -> Result<bool> {
    let common_dir = &worktree.repo.home.common_dir;
    let before = plan.before.as_deref().unwrap_or_default();
    let is_approved = Approvals::load(env)?.status(common_dir, FILE, before)? == ApprovalStatus::Approved;
    if is_approved {
        // The approval is saved before the file. After a kill in between, a text is approved that nobody else wrote
        // and that is not in place yet.
        approval::approve(env, common_dir, FILE, &plan.after)?;
    }
    write_sweatfile(&worktree.repo, dir, plan.before.as_deref(), &plan.after)?;
    // This worktree has the variables already.
    let on_disk = Record::load(worktree)?;
    if on_disk.layers.get(&LayerName::Repo) == Some(&Digest::of(before)) {
        let mut record = on_disk.clone();
        record.layers.insert(LayerName::Repo, Digest::of(plan.after.as_bytes()));
        record.env.extend(plan.values.iter().filter(|(_, value)| !value.is_empty()).cloned());
        record.save(worktree, &on_disk)?;
    }
    Ok(is_approved)
}
