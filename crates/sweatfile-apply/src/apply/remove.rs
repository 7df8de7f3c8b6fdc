//! Takes back what apply placed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::Staging;
use shopfloor_core::git::Repo;

use super::steps::{open_staging, write_env};
use super::teardown::TornDown;
use crate::applied::{self, Record};
use crate::env_file;
use crate::excludes;
use crate::plan::EnvOperation;
use crate::plan::removal::{Leftover, RemovePlan};
use crate::worktree::OpenWorktree;

/// What a removal did, or in a dry run would do.
#[derive(Debug, Default, Serialize)]
pub struct RemovedItems {
    pub worktree: String,
    #[serde(rename = "removed")]
    pub files: Vec<String>,
    pub excludes: Vec<String>,
    pub left: Vec<Leftover>,
    pub teardown: TornDown,
    /// The items that could not be removed, each with its error.
    #[serde(skip)]
    pub failed: Vec<String>,
}

impl RemovedItems {
    /// The failure for the items that could not be removed.
    pub fn failure(&self) -> Option<Failure> {
        (!self.failed.is_empty()).then(|| {
            Failure::failed("some items could not be removed, so the exclude lines stay too")
                .details(self.failed.clone())
                .hint("fix the cause and run `sweatfile-apply remove` again")
        })
    }
}

/// Executes a plan as far as the worktree is still as it was read.
pub fn remove(worktree: &OpenWorktree, plan: &RemovePlan, record: &Record) -> Result<RemovedItems> {
    let mut done = RemovedItems { left: plan.left.clone(), ..RemovedItems::default() };
    let staging = open_staging(worktree, record)?;
    let mut rest = Record { is_listed: true, ..record.clone() };
    remove_files(worktree, &staging, plan, &mut rest, &mut done);
    for dir in &plan.dirs {
        if let Err(failure) = worktree.root.remove_empty_dir(dir) {
            done.failed.push(format!("{dir}: {failure}"));
        }
    }
    if done.failed.is_empty() {
        match release_excludes(&worktree.repo, &plan.excludes, Some(&worktree.repo.git_dir)) {
            Ok(deleted) => done.excludes = deleted,
            Err(failure) => done.failed.push(format!("info/exclude: {failure}")),
        }
    }
    if done.failed.is_empty() {
        rest.excludes.retain(|pattern| !plan.excludes.contains(pattern));
        // The record keeps the files that stay, so that a later removal still knows them as ours.
        rest.files.retain(|path, _| done.left.iter().any(|left| left.is(&path.to_string())));
    }
    (rest.setup, rest.steps, rest.layers) = (None, BTreeMap::new(), BTreeMap::new());
    if rest.files.is_empty() && done.failed.is_empty() {
        Record::delete(&worktree.repo)?;
    } else {
        rest.save(worktree, record)?;
    }
    Ok(done)
}

fn remove_files(
    worktree: &OpenWorktree,
    staging: &Staging,
    plan: &RemovePlan,
    rest: &mut Record,
    done: &mut RemovedItems,
) {
    for (path, content) in &plan.files {
        match staging.remove(&worktree.root, path, content) {
            Ok(true) => {
                rest.files.remove(path);
                done.files.push(path.to_string());
            }
            Ok(false) => done.left.push(Leftover::path(path.to_string(), "changed meanwhile")),
            Err(failure) => done.failed.push(format!("{path}: {failure}")),
        }
    }
    match write_env(worktree, staging, &plan.env) {
        Ok(()) => {
            rest.env.clear();
            rest.env_pending.clear();
            if matches!(plan.env, EnvOperation::Delete(_)) {
                done.files.push(env_file::FILE.into());
            }
        }
        Err(failure) => done.failed.push(format!("{}: {failure}", env_file::FILE)),
    }
}

/// Deletes exclude lines, unless a worktree relies on them, but for the one with this private git directory. Returns them.
pub fn release_excludes(repo: &Repo, patterns: &BTreeSet<String>, but: Option<&Path>) -> Result<Vec<String>> {
    let mut deleted = Vec::new();
    repo.rewrite_exclude(|text| {
        // The records are read under the lock: a worktree may have come to rely on a line.
        let (used, _) = applied::excludes_used(repo, but)?;
        let (text, removed) = excludes::without(text, &patterns.difference(&used).cloned().collect());
        deleted = removed;
        Ok(text)
    })?;
    Ok(deleted)
}
