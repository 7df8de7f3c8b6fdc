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
use shopfloor_core::text::shell_word;

use crate::conflict::ConflictRecord;
use crate::failure;
use crate::merge::Changes;
use crate::sync_action::SyncRule;
use crate::workspace::{VERSION, Workspace, parse_state};

/// The reserved name at the top of an overlay.
pub const RESERVED: &str = ".overlay-sync";

/// Whether a path leads there. On some disks another spelling is the same directory.
pub fn is_reserved(path: &RelPath) -> bool {
    let first = path.as_path().components().next();
    first.is_some_and(|first| first.as_os_str().eq_ignore_ascii_case(RESERVED))
}

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
    /// A record about a file of a workspace, or of the overlay, without its texts.
    pub fn new(time: &str, root: &Path, path: &RelPath, rule: SyncRule) -> LogRecord {
        LogRecord {
            v: VERSION,
            time: time.to_owned(),
            workspace: root.to_string_lossy().into_owned(),
            path: path.clone(),
            rule,
            from: None,
            to: None,
            kept: 0,
            what: Changes::default(),
        }
    }

    /// The id that `undo` takes.
    pub fn id(&self) -> String {
        let LogRecord { time, workspace, path, from, to, .. } = self;
        Digest::of(format!("{time}\0{workspace}\0{path}\0{from:?}\0{to:?}").as_bytes()).to_string()[..12].to_owned()
    }
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
    /// The base as long as only the overlay is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Digest>,
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

    /// The directory of connections to other machines.
    pub fn ssh(&self) -> PathBuf {
        self.dir.join("ssh")
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
        match self.is_claimed() {
            true => Ok(()),
            false => self.save("repository.json", &Owner { v: VERSION, common_dir: common_dir.to_path_buf() }),
        }
    }

    /// Exit 2 when the overlay belongs to another repository.
    pub fn check_owner(&self, common_dir: &Path) -> Result<()> {
        // Nobody can attach to an overlay without this file, so it must not be moved away.
        let own = Owner { v: VERSION, common_dir: common_dir.to_path_buf() };
        let own = PathBuf::from(serde_json::to_string(&own).unwrap_or_default());
        let hint = format!(
            "if the overlay is this repository's, write it again: `printf %s {} > {}`",
            shell_word(&own),
            shell_word(&self.dir.join("repository.json"))
        );
        let Some(other) = self.owner(&hint)?.filter(|owner| owner.as_path() != common_dir) else { return Ok(()) };
        let overlay = self.dir.with_file_name("");
        Err(failure::OTHER_REPOSITORY
            .failure(format!("the overlay {} belongs to {}", overlay.display(), other.display()))
            .hint(
                "name another one with `overlay = \"DIR\"` below `[overlay-sync]` in .shopfloor/config.toml, or with \
                 `overlay-sync --overlay DIR`",
            ))
    }

    /// The repository that it belongs to, if that is not there any more.
    pub fn lost_owner(&self) -> Option<PathBuf> {
        self.owner("").ok()?.filter(|owner| matches!(owner.try_exists(), Ok(false)))
    }

    fn owner(&self, hint: &str) -> Result<Option<PathBuf>> {
        Ok(self.load_with("repository.json", hint)?.map(|Owner { common_dir, .. }| common_dir))
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
            referenced.extend(conflict.texts());
        }
        for intent in self.intents()? {
            if !workspaces.iter().any(|workspace| workspace.id == intent.workspace) {
                self.forget_intent(&intent.workspace, &intent.path)?;
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
        self.save(&format!("conflicts/{}.json", conflict.id), conflict)
    }

    /// Every conflict, oldest first.
    pub fn conflicts(&self) -> Result<Vec<ConflictRecord>> {
        let mut all: Vec<ConflictRecord> = self.load_all("conflicts")?;
        all.sort_by(|a, b| (&a.time, &a.id).cmp(&(&b.time, &b.id)));
        Ok(all)
    }

    /// Appends to the log in one write. A log that has become long is set aside first, in place of the one before.
    pub fn log(&self, events: &[LogRecord]) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        if self.log_path().metadata().is_ok_and(|meta| meta.len() > LONG_LOG) {
            self.rotate()?;
        }
        append(&self.log_path(), events)
    }

    fn rotate(&self) -> Result<()> {
        let old = fs::read_own(&self.old_log_path())?.unwrap_or_default();
        let before = self.dropped()?;
        let records = before + old.iter().filter(|b| **b == b'\n').count() as u64;
        let save = |until| self.save("log.dropped.json", &Dropped { v: VERSION, records, until });
        save(Some((Digest::of(&old), before)))?;
        fs::rename_over(&self.log_path(), &self.old_log_path())?;
        save(None)
    }

    /// How many records are no longer in a log.
    fn dropped(&self) -> Result<u64> {
        let Some(Dropped { records, until, .. }) = self.load("log.dropped.json")? else { return Ok(0) };
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

    fn intent_name(workspace: &Digest, path: &RelPath) -> String {
        format!("intent/{}.json", Digest::of(format!("{workspace}\0{path}").as_bytes()))
    }

    pub fn save_intent(&self, intent: &WriteIntent) -> Result<()> {
        fs::create_private_dir(&self.dir.join("intent"))?;
        self.save(&OverlayStore::intent_name(&intent.workspace, &intent.path), intent)
    }

    pub fn forget_intent(&self, workspace: &Digest, path: &RelPath) -> Result<()> {
        fs::remove(&self.dir.join(OverlayStore::intent_name(workspace, path)))
    }

    /// What earlier runs set out to write and may not have finished.
    pub fn intents(&self) -> Result<Vec<WriteIntent>> {
        self.load_all("intent")
    }

    /// Records what a run is about to write, and syncs it to the disk, as the overlay's files are.
    pub fn announce(&self, planned: &[PlannedWrite]) -> Result<()> {
        let path = self.dir.join("doing.jsonl");
        append(&path, planned)?;
        fs::sync(&path)
    }

    /// What earlier runs were about to write and may have written in part. A last line that was cut off was never
    /// begun.
    pub fn announced(&self) -> Result<BTreeSet<PlannedWrite>> {
        let bytes = fs::read_no_follow(&self.dir.join("doing.jsonl"))?.unwrap_or_default();
        Ok(bytes.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// Forgets what was announced: all of it is done.
    pub fn forget_announced(&self) -> Result<()> {
        fs::remove(&self.dir.join("doing.jsonl"))
    }

    pub fn removed(&self) -> Result<RemovedEntries> {
        Ok(self.load("removed.json")?.unwrap_or_default())
    }

    pub fn save_removed(&self, removed: &RemovedEntries) -> Result<()> {
        self.save("removed.json", &RemovedEntries { v: VERSION, ..removed.clone() })
    }

    /// The records after the one with this number, oldest first, with their numbers; the first one ever has 1. A last
    /// line that is still being written is left for the next call; a line that cannot be read is `None`.
    pub fn events(&self, after: u64) -> Result<Vec<(u64, Option<LogRecord>)>> {
        let first = self.dropped()? + 1;
        let logs = [fs::read_own(&self.old_log_path())?, fs::read_own(&self.log_path())?];
        let lines = logs.iter().flatten().flat_map(|bytes| bytes.split_inclusive(|b| *b == b'\n'));
        let numbered = (first..).zip(lines.filter(|line| line.ends_with(b"\n"))).filter(|(seq, _)| *seq > after);
        Ok(numbered.map(|(seq, line)| (seq, serde_json::from_slice(line).ok())).collect())
    }

    /// The directories that the current watch has to poll.
    pub fn polled(&self) -> Vec<PathBuf> {
        let polled: Option<Polled> = self.load("polled.json").ok().flatten();
        polled.map(|polled| polled.dirs).unwrap_or_default()
    }

    pub fn save_polled(&self, dirs: &[PathBuf]) -> Result<()> {
        match dirs {
            [] => fs::remove(&self.dir.join("polled.json")),
            dirs => self.save("polled.json", &Polled { v: VERSION, dirs: dirs.to_vec() }),
        }
    }

    /// Replaces a state file.
    fn save(&self, name: &str, state: &impl Serialize) -> Result<()> {
        fs::replace(&self.dir.join(name), &json(state)?, Some(fs::PRIVATE))
    }

    /// A state file; `None` when it does not exist.
    fn load<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Result<Option<T>> {
        self.load_with(name, "move the file away")
    }

    /// The same with another hint for one that is damaged.
    fn load_with<T: for<'de> Deserialize<'de>>(&self, name: &str, hint: &str) -> Result<Option<T>> {
        let path = self.dir.join(name);
        let bytes = fs::read_no_follow(&path)?;
        bytes.map(|bytes| parse_state(&path, &bytes, hint)).transpose()
    }

    /// Every state file in a directory.
    fn load_all<T: for<'de> Deserialize<'de>>(&self, dir: &str) -> Result<Vec<T>> {
        let names = fs::list(&self.dir.join(dir))?.into_iter().map(|name| format!("{dir}/{}", name.to_string_lossy()));
        names.filter(|name| name.ends_with(".json")).filter_map(|name| self.load(&name).transpose()).collect()
    }
}

/// Appends records in one write.
fn append(path: &Path, records: &[impl Serialize]) -> Result<()> {
    let lines = records.iter().map(json).collect::<Result<Vec<_>>>()?;
    fs::append_line(path, &String::from_utf8_lossy(&lines.join(&b'\n')))
}

fn json(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|e| Failure::failed("cannot write the overlay's state").because(e))
}
