//! Journals: what a spawn or a removal is about to do, written before it is done. A command that finds the journal of a
//! killed one undoes exactly that spawn, or finishes that removal.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::path::RelPath;

use crate::identity::new_uid;
use crate::json_file;
use crate::slug::is_branch_name;

const VERSION: u64 = 2;

/// The content of a journal. An agent can write one, so it holds names and no paths: where a worktree is, git's record
/// says.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Journal<J> {
    v: u64,
    /// The id of the agent, which is mostly the name of its branch as well.
    id: String,
    #[serde(flatten)]
    entry: J,
}

/// The journals of one kind of operation.
pub trait Journaled: Clone + Serialize + DeserializeOwned {
    /// The directory of these journals, below the shared state.
    const DIR: &'static str;
    /// The name of the operation, for messages.
    const WORD: &'static str;

    /// Whether this tool can have written it: everything in it that becomes part of a path is a name.
    fn is_sound(&self) -> bool {
        true
    }
}

/// A spawn under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SpawnJournal {
    /// The last part of the worktree's path.
    #[serde(default)]
    pub name: String,
    /// The branch, if it is not called like the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether the spawn makes the branch, so that undoing it deletes the branch.
    pub makes_branch: bool,
    pub base_sha: String,
    /// Whether its undoing has begun, so that the worktree may be gone.
    #[serde(default)]
    pub is_undoing: bool,
    /// The worktree, for the process that makes it.
    #[serde(skip)]
    pub path: PathBuf,
    /// The directories that this process makes above the worktree, outermost first, and the worktree's own unless an
    /// empty one was there.
    #[serde(skip)]
    pub makes_dirs: Vec<PathBuf>,
    /// Whether anybody else than git and this process may have written into the worktree, for the process that makes it.
    #[serde(skip)]
    pub ran_hook: bool,
}

impl SpawnJournal {
    /// Whether this process has begun the spawn; a journal that was read has no paths.
    pub fn is_own(&self) -> bool {
        !self.path.as_os_str().is_empty()
    }
}

impl Journaled for SpawnJournal {
    const DIR: &'static str = "journal";
    const WORD: &'static str = "spawn";

    fn is_sound(&self) -> bool {
        self.branch.as_deref().is_none_or(is_branch_name)
    }
}

/// The removal of a worktree that has been decided: nothing in the worktree would be lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemovalJournal {
    /// The name of git's record, below `worktrees/` in the common directory.
    pub record: String,
    /// The last part of the worktree's path, which it loses while it is moved aside.
    pub name: String,
    /// The commit of the agent's branch, if the branch is to be deleted.
    pub deletes: Option<String>,
    /// Whether a removal went through to its end and could not delete all files.
    #[serde(default)]
    pub is_tried: bool,
}

impl Journaled for RemovalJournal {
    const DIR: &'static str = "removing";
    const WORD: &'static str = "removal";

    fn is_sound(&self) -> bool {
        let is_name = |name: &str| RelPath::parse_os(OsStr::new(name)).is_ok_and(|rel| rel.components().count() == 1);
        is_name(&self.record) && is_name(&self.name)
    }
}

/// A journal that this process works on for as long as it holds the lock.
#[derive(Debug)]
pub struct OpenJournal<J> {
    /// The id of the agent.
    pub id: String,
    pub entry: J,
    path: PathBuf,
    pub lock: Lock,
}

fn uid_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn lock_file(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

/// Writes a journal.
pub fn begin<J: Journaled>(shared: &Path, id: &str, entry: J) -> Result<OpenJournal<J>> {
    let dir = shared.join(J::DIR);
    fs::create_private_dir(&dir)?;
    let path = dir.join(format!("{}.json", new_uid()));
    // Whoever recovers journals may have found the new file, and removes it.
    let lock = Lock::take(&lock_file(&path))?;
    let open = OpenJournal { id: id.to_owned(), entry, path, lock };
    open.save()?;
    open.lock.share_with_children()?;
    Ok(open)
}

/// The journals that can be read, each with its path. Changes nothing.
fn readable<J: Journaled>(shared: &Path) -> Result<Vec<(PathBuf, Journal<J>)>> {
    let dir = shared.join(J::DIR);
    let paths = fs::list(&dir)?.into_iter().map(|name| dir.join(name));
    let read = |path: PathBuf| {
        let bytes = fs::read_no_follow(&path).ok().flatten()?;
        parse::<J>(&bytes).ok().map(|entry| (path, entry))
    };
    Ok(paths.filter(|path| path.extension().is_some_and(|e| e == "json")).filter_map(read).collect())
}

/// The agents whose spawn or removal was killed: id, journal's name and journal. Changes nothing.
pub fn left_behind<J: Journaled>(shared: &Path) -> Result<Vec<(String, String, J)>> {
    let mut ids = Vec::new();
    for (path, entry) in readable::<J>(shared)? {
        let lock = lock_file(&path);
        if !lock.exists() || Lock::try_existing(&lock)?.is_some() {
            ids.push((entry.id, uid_of(&path), entry.entry));
        }
    }
    Ok(ids)
}

impl<J: Journaled> OpenJournal<J> {
    /// Writes the journal again, after its entry has changed.
    pub fn save(&self) -> Result<()> {
        json_file::save(&self.path, &Journal { v: VERSION, id: self.id.clone(), entry: self.entry.clone() })
    }

    /// The journal's own name, by which what it moves aside is named as well.
    pub fn uid(&self) -> String {
        uid_of(&self.path)
    }

    /// Deletes the journal, because everything in it is done or undone.
    pub fn close(self) -> Result<()> {
        fs::remove(&self.path)?;
        // Without the journal it means nothing, and the next command deletes it.
        let _ = fs::remove(&lock_file(&self.path));
        Ok(())
    }
}

/// The journals of processes that are gone, and notes about those that could not be read. Journals that are still at
/// work are left out, and remains that never were a whole journal are deleted.
pub fn abandoned<J: Journaled>(shared: &Path) -> Result<(Vec<OpenJournal<J>>, Vec<String>)> {
    let dir = shared.join(J::DIR);
    let names: Vec<String> = fs::list(&dir)?.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let uid =
        |name: &str| name.trim_start_matches(fs::RESERVED).chars().take_while(|c| c.is_ascii_hexdigit()).collect();
    let uids: BTreeSet<String> = names.iter().filter(|name| !name.ends_with(".bad")).map(|name| uid(name)).collect();
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    for uid in uids {
        let path = dir.join(format!("{uid}.json"));
        let Some(lock) = Lock::try_take(&lock_file(&path))? else { continue };
        let parsed = match fs::read_no_follow(&path) {
            Ok(None) => {
                let temporary = format!("{}{uid}", fs::RESERVED);
                for name in names.iter().filter(|name| name.starts_with(&temporary)) {
                    fs::remove(&dir.join(name))?;
                }
                fs::remove(&lock_file(&path))?;
                continue;
            }
            Ok(Some(bytes)) => parse::<J>(&bytes),
            Err(failure) => Err(failure.to_string()),
        };
        match parsed {
            Ok(Journal { id, entry, .. }) => found.push(OpenJournal { id, entry, path, lock }),
            // One bad journal must not stop the others from being recovered; a person decides about it.
            Err(why) => {
                let aside = path.with_extension("bad");
                fs::rename_over(&path, &aside)?;
                fs::remove(&lock_file(&path))?;
                notes.push(format!("set aside {}, the journal of a killed {}: {why}", aside.display(), J::WORD));
            }
        }
    }
    Ok((found, notes))
}

fn parse<J: Journaled>(bytes: &[u8]) -> std::result::Result<Journal<J>, String> {
    let journal = serde_json::from_slice::<Journal<J>>(bytes).map_err(|e| e.to_string())?;
    match is_branch_name(&journal.id) && journal.entry.is_sound() {
        _ if journal.v > VERSION => Err(format!("version {} is newer than this program knows", journal.v)),
        true => Ok(journal),
        false => Err(format!("no {} writes this", J::WORD)),
    }
}

/// The branches of spawns that are under way, or were killed. Changes nothing.
pub fn branches_begun(shared: &Path) -> Result<Vec<String>> {
    let begun = readable::<SpawnJournal>(shared)?.into_iter();
    Ok(begun.map(|(_, spawn)| spawn.entry.branch.unwrap_or(spawn.id)).collect())
}

/// The agents that a process is making now.
pub fn being_made(shared: &Path) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    for (path, spawn) in readable::<SpawnJournal>(shared)? {
        if Lock::is_held(&lock_file(&path))? {
            ids.push(spawn.id);
        }
    }
    Ok(ids)
}
