//! Deeds: the record of what `setup` did, from which `teardown` takes it back.

use std::path::Path;

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;

use crate::step::CommandWords;

/// A step that was carried out, at least in part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deed {
    pub step: String,
    pub commands: Vec<CommandWords>,
    pub undo: Vec<CommandWords>,
    pub files: Vec<FileDeed>,
    pub settings: Vec<SettingDeed>,
    /// The overlay that holds copies, if this step made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<String>,
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

/// A git setting of the clone that a step made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingDeed {
    pub name: String,
    pub value: String,
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

    /// Writes the record; an empty one is no file.
    pub fn save(&self, file: &Path) -> Result<()> {
        if self.deeds.is_empty() {
            return fs::remove(file);
        }
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|e| Failure::failed("cannot write the record").because(e))?;
        fs::create_private_dir(file.parent().unwrap_or(file))?;
        fs::replace(file, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
    }
}
