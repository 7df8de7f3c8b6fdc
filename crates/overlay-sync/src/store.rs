//! What the overlay remembers besides its files, in its reserved directory: every text that a pass displaced, the
//! conflicts, the log, and which repository the overlay belongs to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::conflict::ConflictRecord;
use crate::manifest::{VERSION, Workspace, parse_state};
use crate::merge::Changes;
use crate::refusal::Refusal;
use crate::rule::SyncRule;

/// The reserved name at the top of an overlay.
pub const RESERVED: &str = ".overlay-sync";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A log of more bytes is set aside.
const LONG_LOG: u64 = 4 << 20;

/// How long a displaced text is kept at least.
pub const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The reserved directory of one overlay.
#[derive(Clone, Debug)]
pub struct OverlayStore {
    dir: PathBuf,
}

/// One thing that a pass did: a line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRecord {
    pub v: u32,
    pub time: String,
    pub workspace: String,
    pub path: RelPath,
    pub rule: SyncRule,
    pub from: Option<Digest>,
    pub to: Option<Digest>,
    /// How many entries the workspace had removed and got back.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kept: usize,
    /// What it did to the text `from`.
    #[serde(flatten)]
    pub what: Changes,
}

impl LogRecord {
    /// The id that `undo` takes.
    pub fn id(&self) -> String {
        let LogRecord { time, workspace, path, from, to, .. } = self;
        Digest::of(format!("{time}\0{workspace}\0{path}\0{from:?}\0{to:?}").as_bytes()).to_string()[..12].to_owned()
    }
}

/// A record in an answer, with the workspace under the name that all tools use as well.
#[derive(Serialize)]
pub struct RecordAnswer<'a, T> {
    #[serde(flatten)]
    pub record: &'a T,
    pub worktree: &'a str,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// What a pass sets out to write into the overlay and a workspace, as digests of the shared parts. A run after a kill
/// goes on from here instead of deciding, or asking, again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteIntent {
    pub v: u32,
    pub workspace: Digest,
    pub path: RelPath,
    pub base: Option<Digest>,
    pub overlay: Digest,
    pub here: Digest,
    pub result: Digest,
    pub rule: SyncRule,
}

/// What a run is about to write to a file, recorded before it writes. After a kill this tells its writes from edits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedWrite {
    pub v: u32,
    /// The workspace whose text goes into the overlay; `None` for any workspace that gets the overlay's text.
    pub workspace: Option<Digest>,
    pub path: RelPath,
    /// What the two sides hold afterwards, and their common base.
    pub overlay: Digest,
    pub here: Digest,
    pub base: Digest,
    /// Whether the workspace is written; if not, it holds `here` already.
    pub writes_here: bool,
    /// The workspace's own text, in whose place `here` is written; `None` if that is its base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Digest>,
}

/// What was removed from the overlay and must not come back without a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemovedEntries {
    pub v: u32,
    /// Entries of files that only grow.
    pub entries: BTreeMap<RelPath, BTreeSet<String>>,
    /// Whole files.
    pub files: BTreeSet<RelPath>,
}

/// How many records are no longer in a log.
#[derive(Serialize, Deserialize)]
struct Dropped {
    v: u32,
    records: u64,
    /// While the log is rotated: the older log that is about to go, and the count that holds as long as it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<(Digest, u64)>,
}

#[derive(Serialize, Deserialize)]
struct Polled {
    v: u32,
    dirs: Vec<PathBuf>,
}

#[derive(Serialize, Deserialize)]
struct Owner {
    v: u32,
    common_dir: PathBuf,
}

impl OverlayStore {
    /// The store of the overlay at `overlay`, which need not exist yet.
    pub fn in_overlay(overlay: &Path) -> OverlayStore {
        OverlayStore { dir: overlay.join(RESERVED) }
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

    /// Removes the temporary files of killed runs. The caller holds the lock.
    pub fn sweep(&self) -> Result<()> {
        let dirs = ["", "workspaces", "objects", "conflicts", "intent", "tmp"].map(|name| self.dir.join(name));
        dirs.iter().try_for_each(|dir| fs::sweep_temporaries(dir))
    }

    /// Whether it belongs to a repository.
    pub fn is_claimed(&self) -> bool {
        self.dir.join("repository.json").exists()
    }

    /// Creates what is missing and makes the overlay this repository's; exit 2 when it is another's.
    pub fn claim(&self, common_dir: &Path) -> Result<()> {
        self.check_owner(common_dir)?;
        for dir in ["workspaces", "objects", "conflicts"] {
            fs::create_private_dir(&self.dir.join(dir))?;
        }
        let mark = self.dir.join("collected");
        if !mark.exists() {
            fs::replace(&mark, b"", Some(fs::PRIVATE))?;
        }
        let path = self.dir.join("repository.json");
        if fs::read_no_follow(&path)?.is_some() {
            return Ok(());
        }
        let owner = Owner { v: VERSION, common_dir: common_dir.to_path_buf() };
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
        Err(Refusal::OtherRepository
            .failure(message)
            .hint("name another overlay with `--overlay DIR`, or in the user's config.toml"))
    }

    /// Keeps a text. Its digest finds it for as long as [`KEPT`], and longer while something refers to it.
    pub fn keep(&self, env: &Env, digest: &Digest, bytes: &[u8]) -> Result<()> {
        let path = self.object(digest);
        match fs::age(&path, env.now) {
            // The objects are swept when a run opens the store.
            None => fs::replace_in_swept(&path, bytes, Some(fs::PRIVATE)),
            // The time that it is kept for begins again.
            Some(age) if age > DAY => fs::touch(&path, env.now),
            Some(_) => Ok(()),
        }
    }

    /// Removes texts that nothing has referred to for as long as [`KEPT`]; runs at most once a day. The caller holds
    /// the lock.
    pub fn collect(&self, env: &Env, workspaces: impl FnOnce() -> Result<Vec<Workspace>>) -> Result<()> {
        if !self.is_collection_due(env) {
            return Ok(());
        }
        let mark = self.dir.join("collected");
        fs::replace(&mark, b"", Some(fs::PRIVATE))?;
        fs::touch(&mark, env.now)?;
        let workspaces = workspaces()?;
        let mut referenced: BTreeSet<Digest> = workspaces.iter().flat_map(Workspace::contents).collect();
        for conflict in self.conflicts()? {
            referenced.extend([conflict.overlay, conflict.here, conflict.result].into_iter().chain(conflict.base));
        }
        for intent in self.intents()? {
            if !workspaces.iter().any(|workspace| workspace.id == intent.workspace) {
                self.fulfil(&intent.workspace, &intent.path)?;
                continue;
            }
            referenced.extend([intent.overlay, intent.here, intent.result].into_iter().chain(intent.base));
        }
        for digest in self.objects()?.iter().filter(|digest| !referenced.contains(digest)) {
            let path = self.object(digest);
            if fs::age(&path, env.now).is_some_and(|age| age > KEPT) {
                fs::remove(&path)?;
            }
        }
        Ok(())
    }

    /// Whether old texts are to be collected today.
    pub fn is_collection_due(&self, env: &Env) -> bool {
        fs::age(&self.dir.join("collected"), env.now).is_none_or(|age| age >= DAY)
    }

    /// A text by its digest; `None` when it was collected or lost.
    pub fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>> {
        let bytes = fs::read_own(&self.object(digest))?;
        Ok(bytes.filter(|bytes| Digest::of(bytes) == *digest))
    }

    fn object(&self, digest: &Digest) -> PathBuf {
        self.dir.join("objects").join(digest.to_string())
    }

    /// The digests of all texts in the store.
    pub fn objects(&self) -> Result<Vec<Digest>> {
        Ok(fs::list(&self.dir.join("objects"))?.iter().filter_map(|name| Digest::parse(name.to_str()?)).collect())
    }

    pub fn record(&self, conflict: &ConflictRecord) -> Result<()> {
        fs::replace(
            &self.dir.join("conflicts").join(format!("{}.json", conflict.id)),
            &json(conflict)?,
            Some(fs::PRIVATE),
        )
    }

    /// Every conflict, oldest first.
    pub fn conflicts(&self) -> Result<Vec<ConflictRecord>> {
        let dir = self.dir.join("conflicts");
        let mut all = Vec::new();
        for name in fs::list(&dir)?.iter().filter(|n| n.to_string_lossy().ends_with(".json")) {
            let path = dir.join(name);
            let conflict: ConflictRecord = parse(&path, &fs::read_no_follow(&path)?.unwrap_or_default())?;
            all.push(conflict);
        }
        all.sort_by(|a, b| (&a.time, &a.id).cmp(&(&b.time, &b.id)));
        Ok(all)
    }

    /// Appends to the log in one write. A log that has become long is set aside first, in place of the one before.
    pub fn log(&self, events: &[LogRecord]) -> Result<()> {
        let lines = events.iter().map(json).collect::<Result<Vec<_>>>()?;
        if lines.is_empty() {
            return Ok(());
        }
        if self.log_path().metadata().is_ok_and(|meta| meta.len() > LONG_LOG) {
            self.rotate()?;
        }
        fs::append_line(&self.log_path(), &String::from_utf8_lossy(&lines.join(&b'\n')))
    }

    fn rotate(&self) -> Result<()> {
        let old = fs::read_own(&self.old_log_path())?.unwrap_or_default();
        let before = self.dropped()?;
        let records = before + old.iter().filter(|b| **b == b'\n').count() as u64;
        let save = |until| {
            let dropped = json(&Dropped { v: VERSION, records, until })?;
            fs::replace(&self.dir.join("log.dropped.json"), &dropped, Some(fs::PRIVATE))
        };
        save(Some((Digest::of(&old), before)))?;
        fs::rename_over(&self.log_path(), &self.old_log_path())?;
        save(None)
    }

    /// How many records are no longer in a log.
    fn dropped(&self) -> Result<u64> {
        let path = self.dir.join("log.dropped.json");
        let Some(bytes) = fs::read_no_follow(&path)? else { return Ok(0) };
        let Dropped { records, until, .. } = parse(&path, &bytes)?;
        let Some((old, before)) = until else { return Ok(records) };
        let is_there = Digest::of(&fs::read_own(&self.old_log_path())?.unwrap_or_default()) == old;
        Ok(if is_there { before } else { records })
    }

    fn old_log_path(&self) -> PathBuf {
        self.dir.join("log.1.jsonl")
    }

    pub fn log_path(&self) -> PathBuf {
        self.dir.join("log.jsonl")
    }

    fn intent_path(&self, workspace: &Digest, path: &RelPath) -> PathBuf {
        let name = Digest::of(format!("{workspace}\0{path}").as_bytes());
        self.dir.join("intent").join(format!("{name}.json"))
    }

    pub fn intend(&self, intent: &WriteIntent) -> Result<()> {
        fs::create_private_dir(&self.dir.join("intent"))?;
        fs::replace(&self.intent_path(&intent.workspace, &intent.path), &json(intent)?, Some(fs::PRIVATE))
    }

    pub fn fulfil(&self, workspace: &Digest, path: &RelPath) -> Result<()> {
        fs::remove(&self.intent_path(workspace, path))
    }

    /// What earlier runs set out to write and may not have finished.
    pub fn intents(&self) -> Result<Vec<WriteIntent>> {
        let dir = self.dir.join("intent");
        let mut all = Vec::new();
        for name in fs::list(&dir)?.iter().filter(|n| n.to_string_lossy().ends_with(".json")) {
            let path = dir.join(name);
            all.push(parse(&path, &fs::read_no_follow(&path)?.unwrap_or_default())?);
        }
        Ok(all)
    }

    /// Records what a run is about to write, and syncs it to the disk, as the overlay's files are.
    pub fn announce(&self, planned: &[PlannedWrite]) -> Result<()> {
        let lines = planned.iter().map(json).collect::<Result<Vec<_>>>()?;
        let path = self.dir.join("doing.jsonl");
        fs::append_line(&path, &String::from_utf8_lossy(&lines.join(&b'\n')))?;
        fs::sync(&path)
    }

    /// What earlier runs were about to write and may have written in part. A last line that was cut off was never
    /// begun.
    pub fn announced(&self) -> Result<BTreeSet<PlannedWrite>> {
        let bytes = fs::read_no_follow(&self.dir.join("doing.jsonl"))?.unwrap_or_default();
        Ok(bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// Forgets what was announced: all of it is done.
    pub fn is_done(&self) -> Result<()> {
        fs::remove(&self.dir.join("doing.jsonl"))
    }

    pub fn removed(&self) -> Result<RemovedEntries> {
        let path = self.dir.join("removed.json");
        fs::read_no_follow(&path)?.map_or(Ok(RemovedEntries::default()), |bytes| parse(&path, &bytes))
    }

    pub fn save_removed(&self, removed: &RemovedEntries) -> Result<()> {
        let removed = RemovedEntries { v: VERSION, ..removed.clone() };
        fs::replace(&self.dir.join("removed.json"), &json(&removed)?, Some(fs::PRIVATE))
    }

    /// The records after the one with this number, oldest first, with their numbers; the first one ever has 1. A last
    /// line that is still being written is left for the next call; a line that cannot be read is `None`.
    pub fn events(&self, after: u64) -> Result<Vec<(u64, Option<LogRecord>)>> {
        let first = self.dropped()? + 1;
        let logs = [self.old_log_path(), self.log_path()].map(|path| fs::read_own(&path));
        let mut records = Vec::new();
        for (seq, line) in logs
            .into_iter()
            .collect::<Result<Vec<_>>>()?
            .iter()
            .flatten()
            .flat_map(|bytes| bytes.split_inclusive(|b| *b == b'\n').filter(|line| line.ends_with(b"\n")))
            .zip(first..)
            .map(|(line, seq)| (seq, line))
            .filter(|(seq, _)| *seq > after)
        {
            records.push((seq, serde_json::from_slice(line).ok()));
        }
        Ok(records)
    }

    /// The directories that the current watch has to poll.
    pub fn polled(&self) -> Result<Vec<PathBuf>> {
        let bytes = fs::read_no_follow(&self.dir.join("polled.json"))?;
        let polled = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(polled.map(|Polled { dirs, .. }| dirs).unwrap_or_default())
    }

    pub fn save_polled(&self, dirs: &[PathBuf]) -> Result<()> {
        if dirs.is_empty() {
            return fs::remove(&self.dir.join("polled.json"));
        }
        fs::replace(
            &self.dir.join("polled.json"),
            &json(&Polled { v: VERSION, dirs: dirs.to_vec() })?,
            Some(fs::PRIVATE),
        )
    }
}

fn json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|e| Failure::failed("cannot write the overlay's state").because(e))
}

fn parse<T: for<'de> Deserialize<'de>>(path: &Path, bytes: &[u8]) -> Result<T> {
    parse_state(path, bytes, "move the file away")
}
