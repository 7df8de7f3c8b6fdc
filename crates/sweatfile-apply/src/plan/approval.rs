//! The failure of a run in which something of the repository was left out, or held setup back, for want of approval.

use std::path::Path;

use shopfloor_core::approval::ApprovalStatus;
use shopfloor_core::config;
use shopfloor_core::error::Failure;
use shopfloor_core::text::shell_word;

use super::setup::{SetupPlan, SetupRun};
use crate::facts::Layers;
use crate::failure;

pub fn unapproved(worktree: &Path, layers: &Layers, setup: &SetupPlan) -> Option<Failure> {
    let repo = layers.repo();
    let sweatfile = (repo.approval == ApprovalStatus::Required).then(|| repo.path.display().to_string());
    let settings = layers.config.unapproved.then(|| config::REPOSITORY_FILE.to_owned());
    let left_out = sweatfile.or(settings).map(|file| format!("{file} is not approved, so it was left out"));
    let is_held = setup.run == SetupRun::Held;
    let held = setup.held.iter().filter(|_| is_held);
    let held = held.map(|held| format!("nobody has approved {}, so setup was held back", held.path));
    let mut lines = left_out.into_iter().chain(held);
    let first = lines.next()?;
    let of_worktree = if is_held { format!(" -C {}", shell_word(worktree)) } else { String::new() };
    let hint = format!("read it, then run `sweatfile-apply{of_worktree} approve`");
    Some(failure::UNAPPROVED.failure(first).details(lines).hint(hint))
}
