//! What a spawn is about to do, written down before it is done: whoever finds it after a kill undoes exactly that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;

use crate::identity::new_uid;
use crate::plan::spawn::is_branch_name;

const VERSION: u64 = 1;

/// A spawn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Spawn {
    pub v: u64,
    pub id: String,
    pub path: PathBuf,
    pub branch: String,
    /// Whether the branch is made, so that it goes again.
    pub makes_branch: bool,
    pub base_sha: String,
    /// Directories that are made above the worktree, outermost first; and the worktree's own unless it was
    /// there, empty.
    pub makes_dirs: Vec<PathBuf>,
}

/// A spawn under way, ours while its lock is held.
#[derive(Debug)]
pub struct Open {
    pub spawn: Spawn,
    path: PathBuf,
    pub lock: Lock,
}

fn dir(shared: &Path) -> PathBuf {
    shared.join("journal")
}

/// Writes down what is about to be done.
pub fn begin(shared: &Path, spawn: Spawn) -> Result<Open> {
    let dir = dir(shared);
    fs::create_private_dir(&dir)?;
    let uid = new_uid();
    let Some(lock) = Lock::try_take(&dir.join(format!("{uid}.lock")))? else {
        return Err(Failure::failed("a journal's lock is held before it is there"));
    };
    let open = Open { spawn, path: dir.join(format!("{uid}.json")), lock };
    open.save()?;
    open.lock.share_with_children()?;
    Ok(open)
}

/// The agents whose spawn was killed, with nothing touched.
pub fn left_behind(shared: &Path) -> Result<Vec<String>> {
    let dir = dir(shared);
    let mut ids = Vec::new();
    for name in fs::list(&dir)? {
        let path = dir.join(name);
        let is_free =
            || Ok(!path.with_extension("lock").exists() || Lock::try_existing(&path.with_extension("lock"))?.is_some());
        if path.extension().is_some_and(|e| e == "json") && is_free()? {
            let bytes = fs::read_no_follow(&path)?.unwrap_or_default();
            ids.extend(serde_json::from_slice::<Spawn>(&bytes).map(|spawn| spawn.id));
        }
    }
    Ok(ids)
}

impl Spawn {
    pub fn new(
        id: &str,
        path: &Path,
        branch: &str,
        makes_branch: bool,
        base_sha: &str,
        makes_dirs: Vec<PathBuf>,
    ) -> Spawn {
        let (id, path, branch, base_sha) = (id.to_owned(), path.to_owned(), branch.to_owned(), base_sha.to_owned());
        Spawn { v: VERSION, id, path, branch, makes_branch, base_sha, makes_dirs }
    }
}

impl Open {
    fn save(&self) -> Result<()> {
        let text =
            serde_json::to_string(&self.spawn).map_err(|e| Failure::failed("cannot write a journal").because(e))?;
        fs::replace(&self.path, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
    }

    /// The branch is somebody else's.
    pub fn has_not_made_branch(&mut self) -> Result<()> {
        self.spawn.makes_branch = false;
        self.save()
    }

    /// These were made by somebody else meanwhile.
    pub fn has_not_made_dirs(&mut self, dirs: &[PathBuf]) -> Result<()> {
        self.spawn.makes_dirs.retain(|dir| !dirs.contains(dir));
        self.save()
    }

    /// It is done, or undone.
    pub fn close(self) -> Result<()> {
        fs::remove(&self.path)?;
        fs::remove(&self.path.with_extension("lock"))
    }
}

/// Spawns whose process is gone. What others are at is left out; what was never a whole journal is removed.
pub fn abandoned(shared: &Path) -> Result<(Vec<Open>, Vec<String>)> {
    let dir = dir(shared);
    let names: Vec<String> = fs::list(&dir)?.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let uid =
        |name: &str| name.trim_start_matches(fs::RESERVED).chars().take_while(|c| c.is_ascii_hexdigit()).collect();
    let uids: BTreeSet<String> = names.iter().filter(|name| !name.ends_with(".bad")).map(|name| uid(name)).collect();
    let (mut found, mut said) = (Vec::new(), Vec::new());
    for uid in uids {
        let path = dir.join(format!("{uid}.json"));
        let Some(lock) = Lock::try_take(&path.with_extension("lock"))? else { continue };
        let Some(bytes) = fs::read_no_follow(&path)? else {
            let temporary = format!("{}{uid}", fs::RESERVED);
            for name in names.iter().filter(|name| name.starts_with(&temporary)) {
                fs::remove(&dir.join(name))?;
            }
            fs::remove(&path.with_extension("lock"))?;
            continue;
        };
        let read = serde_json::from_slice::<Spawn>(&bytes).map_err(|e| e.to_string());
        let read = read.and_then(|spawn| match spawn.path.is_absolute() && is_branch_name(&spawn.branch) {
            true => Ok(spawn),
            false => Err("it is not what a spawn writes".into()),
        });
        let spawn = match read {
            Ok(spawn) => spawn,
            // It must not hinder the others; what it was about is for a person to see.
            Err(why) => {
                let aside = path.with_extension("bad");
                fs::rename_over(&path, &aside)?;
                fs::remove(&path.with_extension("lock"))?;
                said.push(format!("set aside {}, the journal of a killed spawn: {why}", aside.display()));
                continue;
            }
        };
        if spawn.v > VERSION {
            let newer = format!("{}: version {} is newer than this program knows", path.display(), spawn.v);
            return Err(Failure::malformed(newer).hint("use the version of worktree-spawn that wrote it"));
        }
        found.push(Open { spawn, path, lock });
    }
    Ok((found, said))
}

/// Whether the spawn of this agent is still under way.
pub fn is_under_way(shared: &Path, id: &str) -> Result<bool> {
    let dir = dir(shared);
    for name in fs::list(&dir)? {
        let path = dir.join(name);
        if path.extension().is_some_and(|e| e == "json")
            && let Some(bytes) = fs::read_no_follow(&path)?
            && serde_json::from_slice::<Spawn>(&bytes).is_ok_and(|spawn| spawn.id == id)
        {
            return Ok(true);
        }
    }
    Ok(false)
}
