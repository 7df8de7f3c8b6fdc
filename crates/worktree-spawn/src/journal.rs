//! What a spawn or a removal is about to do, written down before it is done: whoever finds it after a kill undoes exactly
//! that spawn, and finishes that removal.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;

use crate::identity::{Agent, new_uid};
use crate::plan::spawn::is_branch_name;

pub const VERSION: u64 = 1;

/// What can be under way.
pub trait Work: Serialize + DeserializeOwned {
    /// Below the shared state, where its journals lie.
    const DIR: &'static str;
    /// In a sentence: the journal of a killed what.
    const WORD: &'static str;

    fn version(&self) -> u64;

    /// The agent it is about.
    fn id(&self) -> &str;

    /// Whether it is what we write: what becomes a path or a branch is one.
    fn is_sound(&self) -> bool;
}

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

impl Work for Spawn {
    const DIR: &'static str = "journal";
    const WORD: &'static str = "spawn";

    fn version(&self) -> u64 {
        self.v
    }

    fn id(&self) -> &str {
        &self.id
    }

    fn is_sound(&self) -> bool {
        self.path.is_absolute() && is_branch_name(&self.branch)
    }
}

/// The removal of a worktree, decided and with nothing left to lose.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Removing {
    pub v: u64,
    /// Whose it is, and who is seated in it.
    pub agents: Vec<Agent>,
    pub path: PathBuf,
    /// Its private git directory.
    pub git_dir: PathBuf,
    /// Where git has it, as the record says: what is put back byte for byte.
    pub gitdir: String,
    /// Where it is moved before it is deleted; none where there was nothing at its path.
    pub aside: Option<PathBuf>,
    /// Where git's record is moved, in one step: from then on there is no way back.
    pub record_aside: PathBuf,
    /// That step was taken.
    pub is_final: bool,
    /// The branch to delete, if it still is at this commit.
    pub deletes: Option<(String, String)>,
    /// What it would lose is kept under a ref, or nothing can be seen once it is moved.
    pub is_forced: bool,
}

impl Work for Removing {
    const DIR: &'static str = "removing";
    const WORD: &'static str = "removal";

    fn version(&self) -> u64 {
        self.v
    }

    fn id(&self) -> &str {
        self.agents.first().map_or("", |agent| &agent.id)
    }

    fn is_sound(&self) -> bool {
        let is_record = self.git_dir.parent().is_some_and(|dir| dir.ends_with("worktrees"));
        let places = self.aside.iter().chain([&self.path, &self.record_aside]);
        is_record && places.into_iter().all(|place| place.is_absolute())
    }
}

/// Something under way, ours while its lock is held.
#[derive(Debug)]
pub struct Open<W> {
    pub work: W,
    path: PathBuf,
    pub lock: Lock,
}

/// Writes down what is about to be done.
pub fn begin<W: Work>(shared: &Path, work: W) -> Result<Open<W>> {
    let dir = shared.join(W::DIR);
    fs::create_private_dir(&dir)?;
    let uid = new_uid();
    let Some(lock) = Lock::try_take(&dir.join(format!("{uid}.lock")))? else {
        return Err(Failure::failed("a journal's lock is held before it is there"));
    };
    let open = Open { work, path: dir.join(format!("{uid}.json")), lock };
    open.save()?;
    open.lock.share_with_children()?;
    Ok(open)
}

/// The agents whose spawn or removal was killed, with nothing touched.
pub fn left_behind<W: Work>(shared: &Path) -> Result<Vec<String>> {
    let dir = shared.join(W::DIR);
    let mut ids = Vec::new();
    for name in fs::list(&dir)? {
        let path = dir.join(name);
        let is_free =
            || Ok(!path.with_extension("lock").exists() || Lock::try_existing(&path.with_extension("lock"))?.is_some());
        if path.extension().is_some_and(|e| e == "json") && is_free()? {
            let bytes = fs::read_no_follow(&path)?.unwrap_or_default();
            ids.extend(serde_json::from_slice::<W>(&bytes).map(|work| work.id().to_owned()));
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

impl Open<Spawn> {
    /// The branch is somebody else's.
    pub fn has_not_made_branch(&mut self) -> Result<()> {
        self.work.makes_branch = false;
        self.save()
    }

    /// These were made by somebody else meanwhile.
    pub fn has_not_made_dirs(&mut self, dirs: &[PathBuf]) -> Result<()> {
        self.work.makes_dirs.retain(|dir| !dirs.contains(dir));
        self.save()
    }
}

impl Open<Removing> {
    /// There is no way back from here.
    pub fn is_final(&mut self) -> Result<()> {
        self.work.is_final = true;
        self.save()
    }
}

impl<W: Work> Open<W> {
    fn save(&self) -> Result<()> {
        let text =
            serde_json::to_string(&self.work).map_err(|e| Failure::failed("cannot write a journal").because(e))?;
        fs::replace(&self.path, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
    }

    /// It is done, or undone.
    pub fn close(self) -> Result<()> {
        fs::remove(&self.path)?;
        fs::remove(&self.path.with_extension("lock"))
    }
}

/// What was begun by a process that is gone. What others are at is left out; what was never a whole journal is removed.
pub fn abandoned<W: Work>(shared: &Path) -> Result<(Vec<Open<W>>, Vec<String>)> {
    let dir = shared.join(W::DIR);
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
        let read = serde_json::from_slice::<W>(&bytes).map_err(|e| e.to_string());
        let read = read.and_then(|work| match work.is_sound() {
            true => Ok(work),
            false => Err(format!("it is not what a {} writes", W::WORD)),
        });
        let work = match read {
            Ok(work) => work,
            // It must not hinder the others; what it was about is for a person to see.
            Err(why) => {
                let aside = path.with_extension("bad");
                fs::rename_over(&path, &aside)?;
                fs::remove(&path.with_extension("lock"))?;
                said.push(format!("set aside {}, the journal of a killed {}: {why}", aside.display(), W::WORD));
                continue;
            }
        };
        if work.version() > VERSION {
            let newer = format!("{}: version {} is newer than this program knows", path.display(), work.version());
            return Err(Failure::malformed(newer).hint("use the version of worktree-spawn that wrote it"));
        }
        found.push(Open { work, path, lock });
    }
    Ok((found, said))
}

/// Whether the spawn of this agent is still under way.
pub fn is_under_way(shared: &Path, id: &str) -> Result<bool> {
    let dir = shared.join(Spawn::DIR);
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
