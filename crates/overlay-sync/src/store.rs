//! What the overlay remembers besides its files, in its reserved directory: every content a pass has
//! displaced, the conflicts, the log, and whose overlay it is.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

/// The reserved name at the top of an overlay.
pub const RESERVED: &str = ".overlay-sync";

/// The reserved directory of one overlay.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// A conflict that was decided by rule: the contents by digest, all of them in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    pub v: u32,
    pub id: String,
    pub time: String,
    pub path: RelPath,
    pub workspace: String,
    pub base: Option<Digest>,
    pub overlay: Digest,
    pub here: Digest,
    pub result: Digest,
    pub rule: String,
    /// `workspace` or `overlay`: whose side was taken.
    pub winner: String,
    pub state: String,
    /// The key paths, variables or lines that both sides changed.
    pub places: Vec<String>,
}

/// One thing a pass did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub v: u32,
    pub time: String,
    pub workspace: String,
    pub path: RelPath,
    pub rule: Did,
    pub from: Option<Digest>,
    pub to: Option<Digest>,
}

/// The rule by which a file was synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Did {
    Pull,
    Push,
    Merge,
    LastWrite,
    Hold,
}

impl std::fmt::Display for Did {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Did::Pull => "pull",
            Did::Push => "push",
            Did::Merge => "merge",
            Did::LastWrite => "last_write",
            Did::Hold => "hold",
        })
    }
}

#[derive(Serialize, Deserialize)]
struct Owner {
    v: u32,
    common_dir: PathBuf,
}

impl Store {
    /// The store of the overlay at `overlay`, which need not be there yet.
    pub fn of(overlay: &Path) -> Store {
        Store { dir: overlay.join(RESERVED) }
    }

    pub fn lock_path(&self) -> PathBuf {
        self.dir.join("lock")
    }

    pub fn watch_lock_path(&self) -> PathBuf {
        self.dir.join("watch.lock")
    }

    pub fn workspaces(&self) -> PathBuf {
        self.dir.join("workspaces")
    }

    pub fn staging(&self) -> PathBuf {
        self.dir.join("tmp")
    }

    /// Removes what killed runs left half written. The caller holds the lock.
    pub fn sweep(&self) -> Result<()> {
        let dirs = ["", "workspaces", "objects", "conflicts"].map(|name| self.dir.join(name));
        dirs.iter().try_for_each(|dir| fs::sweep_temporaries(dir))
    }

    /// Creates what is missing, and makes the overlay this repository's; exit 2 when it is another's.
    pub fn claim(&self, common_dir: &Path) -> Result<()> {
        self.check_owner(common_dir)?;
        for dir in ["workspaces", "objects", "conflicts"] {
            fs::create_private_dir(&self.dir.join(dir))?;
        }
        let path = self.dir.join("repository.json");
        if fs::read_no_follow(&path)?.is_some() {
            return Ok(());
        }
        let owner = Owner { v: 1, common_dir: common_dir.to_path_buf() };
        fs::replace(&path, &json(&owner)?, Some(fs::PRIVATE))
    }

    /// Exit 2 when the overlay belongs to another repository.
    pub fn check_owner(&self, common_dir: &Path) -> Result<()> {
        let path = self.dir.join("repository.json");
        let Some(bytes) = fs::read_no_follow(&path)? else { return Ok(()) };
        let owner: Owner = parse(&path, &bytes)?;
        if owner.common_dir == common_dir {
            return Ok(());
        }
        let message =
            format!("the overlay {} belongs to {}", self.dir.with_file_name("").display(), owner.common_dir.display());
        Err(Failure::new(Exit::Bad, "other_repository", message)
            .hint("name another overlay with `--overlay DIR`, or in the user's config.toml"))
    }

    /// Keeps a content; after this it can be had back by its digest.
    pub fn keep(&self, bytes: &[u8]) -> Result<Digest> {
        let digest = Digest::of(bytes);
        let path = self.object(&digest);
        if !path.exists() {
            fs::replace(&path, bytes, Some(fs::PRIVATE))?;
        }
        Ok(digest)
    }

    /// A content by its digest; none when it was collected or lost.
    pub fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>> {
        let bytes = fs::read_no_follow(&self.object(digest))?;
        Ok(bytes.filter(|bytes| Digest::of(bytes) == *digest))
    }

    fn object(&self, digest: &Digest) -> PathBuf {
        self.dir.join("objects").join(digest.to_string())
    }

    /// The digests of everything kept.
    pub fn objects(&self) -> Result<Vec<Digest>> {
        Ok(fs::list(&self.dir.join("objects"))?.iter().filter_map(|name| Digest::parse(name.to_str()?)).collect())
    }

    pub fn record(&self, conflict: &Conflict) -> Result<()> {
        fs::replace(
            &self.dir.join("conflicts").join(format!("{}.json", conflict.id)),
            &json(conflict)?,
            Some(fs::PRIVATE),
        )
    }

    /// Every conflict, oldest first.
    pub fn conflicts(&self) -> Result<Vec<Conflict>> {
        let dir = self.dir.join("conflicts");
        let mut all = Vec::new();
        for name in fs::list(&dir)?.iter().filter(|n| n.to_string_lossy().ends_with(".json")) {
            let path = dir.join(name);
            let conflict: Conflict = parse(&path, &fs::read_no_follow(&path)?.unwrap_or_default())?;
            all.push(conflict);
        }
        all.sort_by(|a, b| (&a.time, &a.id).cmp(&(&b.time, &b.id)));
        Ok(all)
    }

    pub fn log(
        &self,
        env: &Env,
        workspace: &Path,
        path: &RelPath,
        rule: Did,
        from: Option<Digest>,
        to: Option<Digest>,
    ) -> Result<Event> {
        let workspace = workspace.to_string_lossy().into_owned();
        let event = Event { v: 1, time: env.now.to_string(), workspace, path: path.clone(), rule, from, to };
        let line = json(&event)?;
        fs::append_line(&self.dir.join("log.jsonl"), &String::from_utf8_lossy(&line))?;
        Ok(event)
    }

    /// The log, oldest first. A last line that was cut off is passed over.
    pub fn events(&self) -> Result<Vec<Event>> {
        let bytes = fs::read_no_follow(&self.dir.join("log.jsonl"))?.unwrap_or_default();
        Ok(bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }
}

fn json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|e| Failure::failed("cannot write the overlay's state").because(e))
}

fn parse<T: for<'de> Deserialize<'de>>(path: &Path, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes)
        .map_err(|e| Failure::malformed(format!("{}: {e}", path.display())).hint("move it away"))
}
