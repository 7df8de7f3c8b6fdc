//! The record of what apply did in a worktree, kept in its private git directory. It lets the next apply tell its own
//! work from a person's, and `remove` take back only what apply placed. An agent can write it: what is not in the
//! user's own list counts only as far as the sweatfiles confirm it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{self, Content};
use shopfloor_core::git::Repo;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::path::RelPath;
use shopfloor_core::written_files;

use crate::env_file::{EnvFile, VarValue};
use crate::excludes;
use crate::layer::LayerName;
use crate::layout;
use crate::worktree::OpenWorktree;

/// The record of one worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub v: layout::Version,
    /// The sweatfiles last applied.
    pub layers: BTreeMap<LayerName, Digest>,
    /// The exclude patterns this worktree relies on.
    pub excludes: BTreeSet<String>,
    pub files: BTreeMap<RelPath, PlacedFile>,
    /// The directories that apply created for these files.
    pub dirs: BTreeSet<RelPath>,
    /// The caches that apply placed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub caches: BTreeSet<RelPath>,
    /// The `[env]` values last applied: the base of the three-way merge.
    pub env: BTreeMap<String, String>,
    /// The values about to be applied, from before the file is written until after. A kill in between leaves
    /// either value in the file, and neither counts as an edit by hand.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env_pending: BTreeMap<String, String>,
    /// The command list that ran to its end.
    pub setup: Option<Digest>,
    /// Whether a list runs, or was cut off by a kill.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_begun: bool,
    /// The last run of each step that has a state of its own, by its key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub steps: BTreeMap<String, StepRun>,
    /// What the commands made of the files that they use: as approved as the commands are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub made: BTreeMap<RelPath, Digest>,
    /// Whether the user's own list has this record.
    #[serde(skip)]
    pub is_listed: bool,
}

/// A file that apply placed, or was about to place when it was killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacedFile {
    /// The layer it comes from; none for a `.worktreeinclude` copy.
    pub layer: Option<LayerName>,
    pub content: Content,
    /// The original of a copy; the copy is taken back only while the original still exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<PathBuf>,
    /// The previous content while a replacement is under way; a kill leaves either one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Content>,
}

/// A run of a step of set-up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRun {
    pub name: String,
    /// Its inputs when it began, each with what identifies its content.
    pub inputs: BTreeMap<String, String>,
    /// How it ended; none while it runs, and if it was cut off.
    pub status: Option<i32>,
}

impl PlacedFile {
    /// Whether apply placed this content.
    pub fn has_content(&self, content: &Content) -> bool {
        *content == self.content || Some(content) == self.replaces.as_ref()
    }
}

impl StepRun {
    /// The first of its inputs that is another one now.
    pub fn changed(&self, now: &BTreeMap<String, String>) -> Option<String> {
        let all: BTreeSet<&String> = self.inputs.keys().chain(now.keys()).collect();
        all.into_iter().find(|input| self.inputs.get(*input) != now.get(*input)).cloned()
    }
}

impl Record {
    /// Whether an apply was killed here before it had written everything.
    pub fn is_unfinished(&self) -> bool {
        !self.env_pending.is_empty() || self.files.values().any(|file| file.replaces.is_some())
    }

    /// The values in the env file that apply wrote: in its last run, or in one that was killed.
    pub fn env_base(&self, here: &EnvFile) -> BTreeMap<String, String> {
        let mut base = self.env.clone();
        if self.env_pending.is_empty() {
            return base;
        }
        for (key, value) in &self.env_pending {
            if here.value(key) == Some(&VarValue::Text(value.clone())) {
                base.insert(key.clone(), value.clone());
            }
        }
        base.retain(|key, _| self.env_pending.contains_key(key) || here.value(key).is_some());
        base
    }

    /// Loads the record of this worktree; a missing one is empty.
    pub fn load(worktree: &OpenWorktree) -> Result<Record> {
        let path = layout::record(&worktree.repo.git_dir);
        let Some(bytes) = fs::read_no_follow(&path)? else { return Ok(Record::default()) };
        let mut record: Record = parse(&path, &bytes)?;
        // A key becomes the name of a file, and an agent can write this one.
        record.steps.retain(|key, _| key.bytes().all(|byte| byte.is_ascii_hexdigit()));
        record.is_listed = written_files::is_listed(&worktree.env, &path, &bytes);
        if !record.is_listed {
            record.made.clear();
        }
        Ok(record)
    }

    /// Saves the record unless it equals `on_disk`. One that was loaded unlisted stays unlisted.
    pub fn save(&self, worktree: &OpenWorktree, on_disk: &Record) -> Result<()> {
        if self == on_disk {
            return Ok(());
        }
        let path = layout::record(&worktree.repo.git_dir);
        fs::create_private_dir(&layout::worktree_dir(&worktree.repo))?;
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| Failure::failed(format!("cannot write {}", path.display())).because(e))?;
        match self.is_listed {
            true => written_files::write(&worktree.env, &path, text.as_bytes()),
            false => fs::replace(&path, text.as_bytes(), Some(fs::PRIVATE)),
        }
    }

    /// Changes the record of this worktree, under its lock.
    pub fn change(worktree: &OpenWorktree, change: impl FnOnce(&mut Record)) -> Result<()> {
        if !worktree.repo.git_dir.is_dir() {
            // Saving a record would create the git directory of the removed worktree again.
            return Err(Failure::failed(format!("the worktree {} was removed meanwhile", worktree.path.display())));
        }
        let _lock = worktree.lock()?;
        let before = Record::load(worktree)?;
        let mut after = before.clone();
        change(&mut after);
        after.save(worktree, &before)
    }

    /// Records how a step ended that was recorded as begun.
    pub fn end_step(worktree: &OpenWorktree, key: &str, status: i32) -> Result<()> {
        loop {
            let ended = Record::change(worktree, |record| {
                record.steps.entry(key.to_owned()).and_modify(|run| run.status = Some(status));
            });
            match ended {
                // A large cache is being copied.
                Err(failure) if failure.exit == Exit::Busy => {}
                ended => return ended,
            }
        }
    }

    /// Whether a step runs: in the background, or in a set-up that has begun it.
    pub fn is_running(&self, repo: &Repo, key: &str) -> Result<bool> {
        let has_begun = self.steps.get(key).is_some_and(|run| run.status.is_none());
        Ok(Lock::is_held(&layout::step_lock(repo, key))? || has_begun && Lock::is_held(&layout::setup_lock(repo))?)
    }

    /// Whether a set-up was killed here, or a step of it, before it had ended.
    pub fn is_cut_off(&self, repo: &Repo) -> Result<bool> {
        for key in self.steps.iter().filter(|(_, run)| run.status.is_none()).map(|(key, _)| key) {
            if !self.is_running(repo, key)? {
                return Ok(true);
            }
        }
        Ok(self.is_begun && !Lock::is_held(&layout::setup_lock(repo))?)
    }

    /// Deletes the record of this worktree.
    pub fn delete(repo: &Repo) -> Result<()> {
        fs::remove(&layout::record(&repo.git_dir))
    }
}

/// The exclude patterns that the worktrees of the repository rely on, but for the one with this private git directory. A
/// worktree whose record cannot be read may rely on all of ours; its failure is returned too.
pub fn excludes_used(repo: &Repo, except: Option<&Path>) -> Result<(BTreeSet<String>, Vec<Failure>)> {
    let (mut used, mut unread) = (BTreeSet::new(), Vec::new());
    for path in repo.all_git_dirs()?.iter().filter(|dir| Some(dir.as_path()) != except).map(|dir| layout::record(dir)) {
        match fs::read_no_follow(&path).and_then(|bytes| bytes.map(|bytes| parse(&path, &bytes)).transpose()) {
            Ok(record) => used.extend(record.into_iter().flat_map(|record| record.excludes)),
            Err(failure) => unread.push(failure),
        }
    }
    if !unread.is_empty() {
        used.extend(excludes::own(&repo.read_exclude()?));
    }
    Ok((used, unread))
}

/// The values that the worktree with this private git directory was given last, as far as its record can be read.
pub fn env_of(git_dir: &Path) -> BTreeMap<String, String> {
    let path = layout::record(git_dir);
    let record = fs::read_no_follow(&path).ok().flatten().and_then(|bytes| parse(&path, &bytes).ok());
    record.unwrap_or_default().env
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Record> {
    layout::parse(path, bytes, layout::Version::default(), "what was placed then counts as yours")
}
