//! The failure of a run in which something of the repository was left out, or held setup back, for want of approval.

use std::path::Path;

use shopfloor_core::approval::ApprovalStatus;
use shopfloor_core::config;
use shopfloor_core::error::Failure;
use shopfloor_core::text::shell_word;

use super::setup::{HeldFile, SetupPlan, SetupRun};
use crate::facts::Layers;
use crate::failure::FailureKind;

pub fn unapproved(worktree: &Path, layers: &Layers, setup: &SetupPlan) -> Option<Failure> {
    let held: Vec<String> = match setup.run {
        SetupRun::Held => setup.held.iter().map(held_line).collect(),
        _ => Vec::new(),
    };
    let hint = format!("read it, then run `sweatfile-apply -C {} approve`", shell_word(worktree));
    if let Some(failure) = left_out(layers) {
        return Some(match held.is_empty() {
            true => failure.hint("read it, then run `sweatfile-apply approve`"),
            false => failure.details(held).hint(hint),
        });
    }
    let (first, rest) = held.split_first()?;
    Some(FailureKind::Unapproved.failure(first).details(rest.iter().cloned()).hint(hint))
}

fn held_line(held: &HeldFile) -> String {
    format!("nobody has approved {}, so setup was held back", held.path)
}

fn left_out(layers: &Layers) -> Option<Failure> {
    let repo = layers.repo();
    let sweatfile = (repo.approval == ApprovalStatus::Required).then(|| repo.path.display().to_string());
    let settings = layers.config.unapproved.then(|| config::REPOSITORY_FILE.to_owned());
    let file = sweatfile.or(settings)?;
    Some(FailureKind::Unapproved.failure(format!("{file} is not approved, so it was left out")))
}
