//! Writes the repository's sweatfile, for `init` and for promotions of variables.

use std::path::Path;

use shopfloor_core::approval::{self, ApprovalStatus, Approvals};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{Content, Found, Root, Staging};
use shopfloor_core::git::Repo;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::applied::Record;
use crate::failure;
use crate::layer::{FILE, LayerName};
use crate::layout;
use crate::plan::review::PromotionPlan;
use crate::worktree::OpenWorktree;

/// Replaces `dir/sweatfile`, keeping its mode, if it still has the bytes `before`, or still does not exist for `None`.
/// A link to a file inside `dir` is followed. The caller holds the worktree's lock.
pub fn write_sweatfile(repo: &Repo, dir: &Path, before: Option<&[u8]>, text: &str) -> Result<()> {
    let root = Root::open(dir)?;
    let real = dir.join(FILE).canonicalize().ok();
    let below = real.as_deref().and_then(|real| real.strip_prefix(dir.canonicalize().ok()?).ok());
    let file = RelPath::parse_os(below.unwrap_or(Path::new(FILE)).as_os_str()).map_err(|e| Failure::failed(e.0))?;
    let staging = Staging::open(&layout::staging(repo), &root)?;
    let mode = match root.look(&file)? {
        Found::File(mode) => Some(mode),
        _ => None,
    };
    let expected = before.map(|before| Content::File(Digest::of(before)));
    if staging.file(&root, &file, text.as_bytes(), mode)?.place_over(&root, &file, expected.as_ref())? {
        return Ok(());
    }
    let path = root.join(&file);
    Err(match before {
        None => failure::EXISTS.failure(format!("{} exists already", path.display())),
        Some(_) => failure::CHANGED.failure(format!("{} changed while it was edited", path.display())),
    }
    .hint("run the same command again"))
}

/// Removes `dir/sweatfile` if it still has this text. The caller holds the worktree's lock.
pub fn remove_sweatfile(repo: &Repo, dir: &Path, text: &str) -> Result<bool> {
    let root = Root::open(dir)?;
    let file = RelPath::parse(FILE).map_err(|e| Failure::failed(e.0))?;
    let staging = Staging::open(&layout::staging(repo), &root)?;
    staging.remove(&root, &file, &Content::File(Digest::of(text.as_bytes())))
}

/// Writes the sweatfile in `dir`. If its text was approved before, the new text is approved as well. Returns whether
/// it is approved.
pub fn promote(worktree: &OpenWorktree, dir: &Path, plan: &PromotionPlan) -> Result<bool> {
    let (env, common_dir) = (&worktree.env, &worktree.repo.home.common_dir);
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
