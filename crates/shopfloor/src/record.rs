//! The record of what `setup` did: names, and nothing else that `teardown` would believe. It is a file that agents may be
//! able to write, so what may be removed is known by its text, and where it is by asking the tools.

use std::path::Path;

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;

use crate::step::{LEDGER, STEPS, Step, hooked};

const VERSION: u64 = 2;

/// What `setup` did in a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    v: u64,
    /// The names of the steps that were begun.
    pub steps: Vec<String>,
    /// The tools whose git hooks were installed.
    pub hooks: Vec<String>,
    /// The hash of git's settings of the clone before the first step that changed them. It chooses among the texts that
    /// are left without our settings.
    pub config: Option<Digest>,
    /// The steps in version 1.
    #[serde(skip_serializing)]
    deeds: Vec<OldStep>,
}

/// A step in version 1, which also held paths and texts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct OldStep {
    step: String,
    hooks: Option<String>,
}

impl Record {
    /// Adds a step that is about to begin.
    pub fn add(&mut self, step: &Step, config: Option<Digest>) {
        let tool = step.hooks.filter(|tool| !self.has_hooks(tool));
        self.hooks.extend(tool.map(str::to_owned));
        if !self.has(step.name) {
            self.steps.push(step.name.to_owned());
        }
        self.config = self.config.or(config);
    }

    /// Forgets a step that was taken back.
    pub fn remove(&mut self, step: &str) {
        self.steps.retain(|own| own != step);
        self.hooks.retain(|own| hooked(step) != Some(own.as_str()));
        self.config = self.config.filter(|_| step != LEDGER);
    }

    pub fn has(&self, step: &str) -> bool {
        self.steps.iter().any(|own| own == step)
    }

    /// Whether the git hooks of a tool were installed.
    pub fn has_hooks(&self, tool: &str) -> bool {
        self.hooks.iter().any(|own| own == tool)
    }

    /// The same of the tool that a step is about.
    pub fn has_hooks_of(&self, step: &str) -> bool {
        hooked(step).is_some_and(|tool| self.has_hooks(tool))
    }

    /// Reads the record. A repository without one has no steps. Exit 2 if it cannot be understood.
    pub fn load(file: &Path) -> Result<Record> {
        let Some(bytes) = fs::read_no_follow(file)? else { return Ok(Record::default()) };
        let wrong = |why: String| {
            Failure::malformed(format!("{}: {why}", file.display()))
                .hint("move the file away; then undo what is left with the tools themselves, see docs/uninstall.md")
        };
        let mut record: Record = serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))?;
        if !(1..=VERSION).contains(&record.v) {
            return Err(wrong(format!("it has version {}, and this program knows version {VERSION}", record.v)));
        }
        for old in std::mem::take(&mut record.deeds) {
            record.steps.push(old.step);
            record.hooks.extend(old.hooks);
        }
        record.steps.retain(|step| STEPS.contains(&step.as_str()));
        Ok(record)
    }

    /// Writes the record; one without steps is no file.
    pub fn save(&self, file: &Path) -> Result<()> {
        if self.steps.is_empty() {
            return fs::remove(file);
        }
        let text = serde_json::to_string(&Record { v: VERSION, ..self.clone() });
        let text = text.map_err(|e| Failure::failed("cannot write the record").because(e))?;
        fs::create_private_dir(file.parent().unwrap_or(file))?;
        fs::replace(file, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
    }
}
