//! A workspace as the overlay knows it: where it is, that it is still the same one, and for each file
//! the content both sides held last.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::proc;

use crate::TOOL;

const VERSION: u32 = 1;

/// One attached workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workspace {
    pub v: u32,
    /// A random id that also lies in the worktree's private git directory: a workspace re-created at the
    /// same path is another one.
    pub id: Digest,
    pub root: PathBuf,
    pub git_dir: PathBuf,
    pub files: BTreeMap<RelPath, Base>,
    /// Files deleted here, with the overlay's content at that time: not refilled until it changes.
    pub deleted: BTreeMap<RelPath, Digest>,
    /// What waits for a person or for the next edit.
    pub held: BTreeMap<RelPath, Held>,
    /// Texts a person let pass, by their digests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accepted: BTreeMap<RelPath, Digest>,
}

/// A text that does not spread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Held {
    pub why: String,
    /// Of the whole text, or of the part of it that waits.
    pub text: Digest,
    pub since: String,
    /// Whether only a part waits, and the rest goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
    /// The workspace's whole text when it was held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub here: Option<Digest>,
}

impl Held {
    /// By what `accept` and `reject` know it.
    pub fn id(&self) -> String {
        self.text.to_string()[..12].to_owned()
    }
}

/// A content that the workspace and the overlay both held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    pub sha256: Digest,
    pub mode: u32,
}

impl Workspace {
    pub fn new(root: &Path, git_dir: &Path) -> Workspace {
        Workspace {
            v: VERSION,
            id: Digest::random(),
            root: root.to_path_buf(),
            git_dir: git_dir.to_path_buf(),
            files: BTreeMap::new(),
            deleted: BTreeMap::new(),
            held: BTreeMap::new(),
            accepted: BTreeMap::new(),
        }
    }

    /// Every content it speaks of.
    pub fn contents(&self) -> impl Iterator<Item = Digest> {
        let held = self.held.values().flat_map(|held| [Some(held.text), held.here]).flatten();
        self.files.values().map(|base| base.sha256).chain(self.deleted.values().copied()).chain(held)
    }

    /// Where the id lies in the worktree itself.
    fn mark(&self) -> PathBuf {
        Workspace::mark_in(&self.git_dir)
    }

    /// Whether any worktree of a repository has an id, as it keeps when its overlay is lost.
    pub fn is_any_marked(common_dir: &Path) -> bool {
        let linked = std::fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().flatten();
        let mut dirs = linked.map(|entry| entry.path()).chain([common_dir.to_path_buf()]);
        dirs.any(|git_dir| Workspace::mark_in(&git_dir).exists())
    }

    /// Where files for it stand until they are whole.
    pub fn staging(&self) -> PathBuf {
        self.git_dir.join("shopfloor").join(TOOL).join("tmp")
    }

    fn mark_in(git_dir: &Path) -> PathBuf {
        git_dir.join("shopfloor").join(TOOL).join("id")
    }

    /// Whether its private git directory still has the id, wherever its files are by now.
    pub fn is_marked(&self) -> Result<bool> {
        let id = fs::read_no_follow(&self.mark())?;
        Ok(id.as_deref() == Some(self.id.to_string().as_bytes()))
    }

    /// Puts the id into the worktree's private git directory.
    pub fn brand(&self) -> Result<()> {
        let mark = self.mark();
        fs::create_private_dir(mark.parent().unwrap_or(&mark))?;
        fs::replace(&mark, self.id.to_string().as_bytes(), Some(fs::PRIVATE))
    }

    /// Whether the directory at `root` is still this workspace.
    pub fn is_present(&self) -> Result<bool> {
        Ok(self.root.is_dir() && self.is_marked()?)
    }

    /// The file in the overlay's state that holds this record.
    fn path(&self, dir: &Path) -> PathBuf {
        dir.join(format!("{}.json", self.id))
    }

    pub fn save(&self, dir: &Path) -> Result<()> {
        let text =
            serde_json::to_string_pretty(self).map_err(|e| Failure::failed("cannot write the manifest").because(e))?;
        fs::replace(&self.path(dir), text.as_bytes(), Some(fs::PRIVATE))
    }

    pub fn forget(&self, dir: &Path) -> Result<()> {
        fs::remove(&self.path(dir))?;
        fs::remove(&self.mark())
    }

    /// Every record in `dir`, by root. Paths that could lead outside are refused as they are read.
    pub fn load_all(dir: &Path) -> Result<Vec<Workspace>> {
        let is_record = |name: &str| name.ends_with(".json") && !name.starts_with(fs::RESERVED);
        let names: Vec<_> = fs::list(dir)?.into_iter().filter(|name| is_record(&name.to_string_lossy())).collect();
        let read = proc::map_parallel(&names, |name| Workspace::read(&dir.join(name)));
        let mut all = read.into_iter().filter_map(Result::transpose).collect::<Result<Vec<_>>>()?;
        all.sort_by(|a, b| a.root.cmp(&b.root));
        Ok(all)
    }

    /// One record; none when there is none any more.
    pub fn load(dir: &Path, id: &Digest) -> Result<Option<Workspace>> {
        Workspace::read(&dir.join(format!("{id}.json")))
    }

    fn read(path: &Path) -> Result<Option<Workspace>> {
        let Some(bytes) = fs::read_no_follow(path)? else { return Ok(None) };
        let damaged = |what: String| {
            Failure::malformed(format!("{}: {what}", path.display()))
                .hint("move it away and attach the workspace again; nothing is overwritten by that")
        };
        let workspace: Workspace = serde_json::from_slice(&bytes).map_err(|e| damaged(e.to_string()))?;
        if workspace.v > VERSION {
            return Err(damaged(format!("version {} is newer than this program knows", workspace.v)));
        }
        Ok(Some(workspace))
    }
}
