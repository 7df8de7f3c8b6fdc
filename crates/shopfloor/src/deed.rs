//! Deeds: the record of what `setup` did, from which `teardown` takes it back.

use std::path::Path;

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;

use crate::step::CommandWords;

/// A step that was carried out, at least in part. How it is taken back follows from its name: the record is a file that
/// agents may be able to write, and holds no commands that are run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deed {
    pub step: String,
    /// The commands, for a person who reads the record.
    pub commands: Vec<CommandWords>,
    /// The tool whose git hooks it installed.
    pub hooks: Option<String>,
    pub files: Vec<FileDeed>,
    /// The git settings of the clone that were missing before.
    pub settings: Vec<String>,
    /// The file of the clone's git settings, if the step changed it.
    #[serde(default)]
    pub config: Option<FileDeed>,
    /// Whether its commands were still running when this was recorded.
    #[serde(default)]
    pub is_running: bool,
    /// The overlay that it made, which holds copies.
    pub overlay: Option<String>,
    /// The root that it made.
    pub root: Option<String>,
}

impl Deed {
    /// Whether there is nothing to take back.
    pub fn is_empty(&self) -> bool {
        let is_same = |file: &FileDeed| file.before.as_deref().map(|text| Digest::of(text.as_bytes())) == file.after;
        let has_made = self.is_running || self.hooks.is_some() || self.overlay.is_some() || self.root.is_some();
        !has_made && self.settings.is_empty() && self.files.iter().all(is_same)
    }

    /// Adds what the same step did later.
    fn add(&mut self, later: Deed) {
        self.commands.extend(later.commands);
        self.hooks = self.hooks.take().or(later.hooks);
        self.overlay = self.overlay.take().or(later.overlay);
        self.root = self.root.take().or(later.root);
        self.settings.extend(later.settings);
        self.is_running = later.is_running;
        match (&mut self.config, later.config) {
            (Some(known), Some(later)) => known.after = later.after,
            (known, later) => *known = known.take().or(later),
        }
        for file in later.files {
            match self.files.iter_mut().find(|known| known.path == file.path) {
                Some(known) => known.after = file.after,
                None => self.files.push(file),
            }
        }
    }
}

/// A file that a step may have written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDeed {
    /// Below the main checkout.
    pub path: String,
    /// Its text before; none if there was no such file.
    pub before: Option<String>,
    /// The hash of its bytes afterwards; none if there is no such file.
    pub after: Option<Digest>,
}

/// Everything that `setup` did in a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    v: u64,
    pub deeds: Vec<Deed>,
}

impl Record {
    pub fn of(deeds: Vec<Deed>) -> Record {
        Record { v: 1, deeds }
    }

    /// The same with another deed. A step has one deed.
    pub fn with(&self, deed: Deed) -> Record {
        let mut deeds = self.deeds.clone();
        match deeds.iter_mut().find(|known| known.step == deed.step) {
            Some(known) => known.add(deed),
            None => deeds.push(deed),
        }
        Record::of(deeds)
    }

    /// Reads the record. A repository without one has no deeds. Exit 2 if it cannot be understood.
    pub fn load(file: &Path) -> Result<Record> {
        let Some(bytes) = fs::read_own(file)? else { return Ok(Record::of(Vec::new())) };
        let wrong = |why: String| {
            Failure::malformed(format!("{}: {why}", file.display()))
                .hint("move the file away; then undo what is left with the tools themselves, see docs/uninstall.md")
        };
        let record: Record = serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))?;
        if record.v != 1 {
            return Err(wrong(format!("it has version {}, and this program knows version 1", record.v)));
        }
        Ok(record)
    }

    /// Writes the record; one without anything to take back is no file.
    pub fn save(&self, file: &Path) -> Result<()> {
        if self.deeds.iter().all(Deed::is_empty) {
            return fs::remove(file);
        }
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|e| Failure::failed("cannot write the record").because(e))?;
        fs::create_private_dir(file.parent().unwrap_or(file))?;
        fs::replace(file, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
    }
}
