//! The record of what `setup` did: names, and nothing else. It is a file that agents may be able to write, so each
//! step is taken back by its own tool, which knows what is its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;

use crate::step::{STEPS, Step, hooked};

const VERSION: u64 = 2;

/// Where it lies, below the directory that all worktrees share.
fn file(common_dir: &Path) -> PathBuf {
    common_dir.join("shopfloor/setup.json")
}

/// What `setup` did in a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    v: u64,
    /// The names of the steps that were begun.
    pub steps: Vec<String>,
    /// The tools whose git hooks were installed, or should have been where a program of the repository manages hooks.
    pub hooks: Vec<String>,
    /// For each step the files that were there before it was begun: they stay.
    kept: BTreeMap<String, Vec<String>>,
}

impl Record {
    /// Adds a step that is about to begin, where these files are there already.
    pub fn add(&mut self, step: &Step, present: &[String]) {
        // What it made the last time it was begun is present as well.
        let is_kept =
            |file: &&String| present.contains(file) && (!self.has(step.name) || self.kept(step.name).contains(file));
        let kept = step.files.iter().filter(is_kept).cloned().collect();
        self.kept.insert(step.name.to_owned(), kept);
        let tool = step.hooks.filter(|tool| !self.has_hooks(tool));
        self.hooks.extend(tool.map(str::to_owned));
        if !self.has(step.name) {
            self.steps.push(step.name.to_owned());
        }
    }

    /// Forgets a step that was taken back.
    pub fn remove(&mut self, step: &str) {
        self.steps.retain(|own| own != step);
        self.hooks.retain(|own| hooked(step) != Some(own.as_str()));
        self.kept.remove(step);
    }

    pub fn has(&self, step: &str) -> bool {
        self.steps.iter().any(|own| own == step)
    }

    /// Whether the git hooks of a tool were installed.
    pub fn has_hooks(&self, tool: &str) -> bool {
        self.hooks.iter().any(|own| own == tool)
    }

    /// The files of a step that stay.
    pub fn kept(&self, step: &str) -> &[String] {
        self.kept.get(step).map_or(&[][..], Vec::as_slice)
    }

    /// The lock that `setup` and `teardown` hold.
    pub fn lock(common_dir: &Path) -> Result<Lock> {
        Lock::take(&common_dir.join("shopfloor/setup.lock"))
    }

    /// Reads the record. A repository without one has no steps. Exit 2 if it cannot be understood.
    pub fn load(common_dir: &Path) -> Result<Record> {
        let file = file(common_dir);
        let Some(bytes) = fs::read_no_follow(&file)? else { return Ok(Record::default()) };
        let wrong = |why: String| {
            Failure::malformed(format!("{}: {why}", file.display()))
                .hint("move the file away; then undo what is left with the tools themselves, see docs/uninstall.md")
        };
        let mut record: Record = serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))?;
        if record.v != VERSION {
            return Err(wrong(format!("it has version {}, and this program knows version {VERSION}", record.v)));
        }
        record.steps.retain(|step| STEPS.contains(&step.as_str()));
        Ok(record)
    }

    /// Writes the record; one without steps is no file.
    pub fn save(&self, common_dir: &Path) -> Result<()> {
        let file = file(common_dir);
        if self.steps.is_empty() {
            return fs::remove(&file);
        }
        let text = serde_json::to_string(&Record { v: VERSION, ..self.clone() });
        let text = text.map_err(|e| Failure::failed("cannot write the record").because(e))?;
        fs::create_private_dir(file.parent().unwrap_or(common_dir))?;
        fs::replace(&file, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
    }
}
