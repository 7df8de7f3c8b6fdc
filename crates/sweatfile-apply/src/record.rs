//! What apply did in this worktree, written down in its private git directory: so that a second
//! apply can tell its own work from a person's, and `remove` takes back no more than was placed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{self, Content};
use shopfloor_core::git::Repo;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::shell_word;

use crate::TOOL;
use crate::env_file::{EnvFile, Value};
use crate::layer::Name;

const VERSION: u32 = 1;

/// The record of one worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub v: u32,
    /// The sweatfiles last applied.
    pub layers: BTreeMap<Name, Digest>,
    /// The exclude patterns this worktree relies on.
    pub excludes: BTreeSet<String>,
    pub files: BTreeMap<RelPath, Placed>,
    /// Directories apply created for them.
    pub dirs: BTreeSet<RelPath>,
    /// The `[env]` values last applied: the base of the three-way merge.
    pub env: BTreeMap<String, String>,
    /// The values about to be applied, from before the file is written until after: a kill in between
    /// leaves either in the file, and neither is an edit by hand.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env_pending: BTreeMap<String, String>,
    /// The command list whose run finished.
    pub setup: Option<Digest>,
}

/// A file apply placed (or was about to place when it was killed).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placed {
    /// The layer that wanted it; none for a `.worktreeinclude` copy.
    pub layer: Option<Name>,
    pub content: Content,
    /// For a copy, what was copied: taken back only while the original is still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<PathBuf>,
    /// While one content takes the place of another: the one before. A kill leaves either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Content>,
}

impl Placed {
    /// Whether this content came from us.
    pub fn is(&self, content: &Content) -> bool {
        *content == self.content || Some(content) == self.replaces.as_ref()
    }
}

impl Default for Record {
    fn default() -> Record {
        Record {
            v: VERSION,
            layers: BTreeMap::new(),
            excludes: BTreeSet::new(),
            files: BTreeMap::new(),
            dirs: BTreeSet::new(),
            env: BTreeMap::new(),
            env_pending: BTreeMap::new(),
            setup: None,
        }
    }
}

impl Record {
    /// The values the env file has from us: those applied last, or those of a run that was killed.
    pub fn env_base(&self, here: &EnvFile) -> BTreeMap<String, String> {
        let mut base = self.env.clone();
        if self.env_pending.is_empty() {
            return base;
        }
        for (key, value) in &self.env_pending {
            if here.value(key) == Some(&Value::Text(value.clone())) {
                base.insert(key.clone(), value.clone());
            }
        }
        base.retain(|key, _| self.env_pending.contains_key(key) || here.value(key).is_some());
        base
    }
}

fn path(git_dir: &Path) -> PathBuf {
    git_dir.join("shopfloor").join(TOOL).join("record.json")
}

impl Record {
    /// The record of this worktree; an absent one is empty.
    pub fn load(repo: &Repo) -> Result<Record> {
        Ok(Record::load_from(&repo.git_dir)?.unwrap_or_default())
    }

    /// The record of the worktree with this private git directory, if apply ran there.
    pub fn load_from(git_dir: &Path) -> Result<Option<Record>> {
        let path = path(git_dir);
        let Some(bytes) = fs::read_no_follow(&path)? else { return Ok(None) };
        parse_state(&path, &bytes, VERSION, "what was placed then counts as yours").map(Some)
    }

    /// Writes it, unless it says what `on_disk` says already.
    pub fn save(&self, repo: &Repo, on_disk: &Record) -> Result<()> {
        if self == on_disk {
            return Ok(());
        }
        let path = path(&repo.git_dir);
        fs::create_private_dir(&repo.worktree_state(TOOL))?;
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| Failure::failed(format!("cannot write {}", path.display())).because(e))?;
        fs::replace(&path, text.as_bytes(), Some(fs::PRIVATE))
    }

    /// Forgets everything about this worktree.
    pub fn delete(repo: &Repo) -> Result<()> {
        fs::remove(&path(&repo.git_dir))
    }
}

/// The exclude patterns that other worktrees of the repository rely on.
pub fn excludes_used_elsewhere(repo: &Repo) -> Result<BTreeSet<String>> {
    let mut used = BTreeSet::new();
    for git_dir in repo.all_git_dirs()?.iter().filter(|dir| **dir != repo.git_dir) {
        used.extend(Record::load_from(git_dir)?.map(|record| record.excludes).unwrap_or_default());
    }
    Ok(used)
}

/// Reads a JSON file of our own state. A newer version than `known` is refused before anything else of
/// it is looked at; of a damaged one the hint says what becomes of `moved_away`.
pub fn parse_state<T: DeserializeOwned>(path: &Path, bytes: &[u8], known: u32, moved_away: &str) -> Result<T> {
    #[derive(Deserialize)]
    struct Versioned {
        v: u32,
    }
    let damaged = |e: serde_json::Error| {
        Failure::malformed(format!("{}: {e}", path.display()))
            .hint(format!("move {} away; {moved_away}", shell_word(path)))
    };
    let versioned: Versioned = serde_json::from_slice(bytes).map_err(damaged)?;
    if versioned.v > known {
        let what = format!("{} has version {}, newer than this program knows", path.display(), versioned.v);
        return Err(Failure::malformed(what).hint("update shopfloor: `cargo xtask install` in its checkout"));
    }
    serde_json::from_slice(bytes).map_err(damaged)
}
