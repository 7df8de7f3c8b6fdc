//! The directory of one session: which events are in it, and which are still to be acknowledged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;

use crate::event::{EventError, SpoolEvent};
use crate::identity::Agent;
use crate::json_file;
use crate::layout::{encoded, sessions_dir, temporary_dir};

/// No session gets as many events. A higher number was not given by us.
const HIGHEST: u64 = 1 << 53;

/// One session's directory.
#[derive(Clone, Debug)]
pub struct Spool {
    pub(super) dir: PathBuf,
    pub session: String,
    /// The ancestors of the session's agent, the nearest last, as far as the opener knows them. They are needed once
    /// the agent is gone.
    above: Vec<String>,
}

/// Where an event lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpoolEntry {
    pub id: u64,
    pub path: PathBuf,
    /// When the lease on the event ends, if it is leased.
    pub lent: Option<Timestamp>,
}

/// `session.json`, which names the session.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct SessionRecord {
    v: u64,
    id: Option<String>,
    parents: Vec<String>,
}

/// `tombstone`, which a removed agent's session leaves.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Tombstone {
    pub v: u64,
    /// The session that gets this one's events.
    pub forward_to: Option<String>,
    pub agent: Option<serde_json::Value>,
}

/// Every session that ever had an event.
pub fn all(shared: &Path) -> Result<Vec<Spool>> {
    let dir = sessions_dir(shared);
    let mut found = Vec::new();
    for name in fs::list(&dir)? {
        let dir = dir.join(&name);
        let about: SessionRecord = json_file::load_or_default(&dir.join("session.json")).unwrap_or_default();
        if let Some(session) = about.id.filter(|session| name == encoded(session).as_str()) {
            found.push(Spool { dir, session, above: Vec::new() });
        }
    }
    Ok(found)
}

impl Spool {
    /// The spool of a session, whether it exists or not.
    pub fn new(shared: &Path, session: &str) -> Spool {
        Spool { dir: sessions_dir(shared).join(encoded(session)), session: session.to_owned(), above: Vec::new() }
    }

    /// The same spool with the ancestors of its agent.
    pub fn below(self, above: &[String]) -> Spool {
        Spool { above: above.to_vec(), ..self }
    }

    fn record(&self) -> PathBuf {
        self.dir.join("session.json")
    }

    pub fn exists(&self) -> bool {
        self.record().exists()
    }

    /// The directories that change when an event arrives or is given back, or when the session ends.
    pub fn watched(&self) -> [PathBuf; 2] {
        [self.dir.join("new"), self.dir.clone()]
    }

    /// The directory of files that are not whole yet.
    pub(super) fn temporary(&self) -> PathBuf {
        temporary_dir(&self.dir)
    }

    /// Makes the directories that are missing. A copied repository may lack the empty ones.
    pub fn create(&self) -> Result<()> {
        // What is moved or removed in a directory elsewhere would be somebody else's.
        fs::refuse_link(&self.dir)?;
        let dirs = ["new", "cur", "bad", "dedupe"].map(|name| self.dir.join(name));
        for dir in dirs.iter().chain([&self.temporary()]) {
            fs::refuse_link(dir)?;
            if !dir.is_dir() {
                fs::create_private_dir(dir)?;
            }
        }
        if self.exists() {
            return Ok(());
        }
        let _lock = self.lock()?;
        if self.exists() {
            return Ok(());
        }
        let about = SessionRecord { v: 1, id: Some(self.session.clone()), parents: self.above.clone() };
        json_file::save(&self.record(), &about)
    }

    pub(super) fn lock(&self) -> Result<Lock> {
        Lock::take(&self.dir.join("lock"))
    }

    pub(super) fn tombstone_file(&self) -> PathBuf {
        self.dir.join("tombstone")
    }

    /// The session that this one's events are forwarded to, if its agent was removed.
    pub fn forwards_to(&self) -> Result<Option<String>> {
        Ok(json_file::load_or_default::<Tombstone>(&self.tombstone_file())?.forward_to)
    }

    /// The removed agent whose session this was. It may still have something to say.
    pub fn buried(&self) -> Result<Option<Agent>> {
        let agent = json_file::load_or_default::<Tombstone>(&self.tombstone_file())?.agent;
        Ok(agent.and_then(|agent| Agent::parse(&self.dir, agent.to_string().as_bytes()).ok()))
    }

    /// The agent's ancestors when its first event arrived, the nearest last.
    pub fn parents(&self) -> Result<Vec<String>> {
        Ok(json_file::load_or_default::<SessionRecord>(&self.record())?.parents)
    }

    /// The events that are not acknowledged, in the order in which they were published.
    pub fn entries(&self) -> Result<Vec<SpoolEntry>> {
        let mut entries = BTreeMap::new();
        // `new` comes first: an event that is taken meanwhile is then found in `cur`.
        for dir in ["new", "cur"] {
            let dir = self.dir.join(dir);
            fs::refuse_link(&dir)?;
            for name in fs::list(&dir)? {
                let (Some(id), path) = (number(&name.to_string_lossy()), dir.join(&name)) else { continue };
                let is_lent = path.extension().is_some_and(|e| e == "lent");
                let lent = if is_lent { fs::changed(&path) } else { None };
                entries.insert(id, SpoolEntry { id, path, lent });
            }
        }
        Ok(entries.into_values().collect())
    }

    /// The number of events that are not acknowledged.
    pub fn pending(&self) -> Result<usize> {
        Ok(self.entries()?.len())
    }

    /// The files named like events that cannot be read, which the next reader moves to `bad/`.
    pub fn unreadable(&self) -> Result<Vec<PathBuf>> {
        let paths = self.entries()?.into_iter().map(|entry| entry.path);
        Ok(paths.filter(|path| fs::read_no_follow(path).is_err()).collect())
    }

    /// Reads a file. What is no regular file, too large or not ours to read is moved to `bad/`, so that the others go on.
    pub(super) fn read_file(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        let is_odd = || path.symlink_metadata().is_ok_and(|meta| !meta.is_file());
        match fs::read_no_follow(path) {
            Err(failure) if failure.exit == Exit::Bad || failure.is_write_refused() || is_odd() => {
                self.set_aside(path)?;
                Ok(None)
            }
            read => read,
        }
    }

    /// Reads an event without taking it; none if it is gone. What is no event is moved to `bad/`.
    pub fn read(&self, entry: &SpoolEntry) -> Result<Option<SpoolEvent>> {
        let Some(bytes) = self.read_file(&entry.path)? else { return Ok(None) };
        match SpoolEvent::parse(&bytes) {
            Ok(event) => Ok(Some(event)),
            Err(EventError::Newer) => Ok(None),
            Err(EventError::Malformed) => {
                self.set_aside(&entry.path)?;
                Ok(None)
            }
        }
    }

    /// The same, also if another process has claimed or lent the event since it was listed.
    pub fn read_moved(&self, entry: &SpoolEntry) -> Result<Option<SpoolEvent>> {
        if let Some(event) = self.read(entry)? {
            return Ok(Some(event));
        }
        let now = self.entries()?.into_iter().find(|now| now.id == entry.id);
        now.map_or(Ok(None), |now| self.read(&now))
    }

    /// Where files are kept that could not be read.
    pub fn bad_dir(&self) -> PathBuf {
        self.dir.join("bad")
    }

    /// Whether the file of an event was moved there.
    pub fn is_bad(&self, entry: &SpoolEntry) -> bool {
        entry.path.file_name().is_some_and(|name| self.bad_dir().join(name).symlink_metadata().is_ok())
    }

    /// Moves a file that is not an event to `bad/`. It is never deleted.
    fn set_aside(&self, path: &Path) -> Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for n in 1..1000 {
            let suffix = if n == 1 { String::new() } else { format!(".{n}") };
            let to = self.dir.join("bad").join(format!("{name}{suffix}"));
            if fs::rename_new(path, &to)? || path.symlink_metadata().is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Moves files in `new/` that are not named like events to `bad/`.
    pub fn sweep(&self) -> Result<()> {
        let dir = self.dir.join("new");
        fs::refuse_link(&dir)?;
        for name in fs::list(&dir)? {
            let text = name.to_string_lossy();
            if number(&text).is_none() && !text.starts_with('.') {
                self.set_aside(&dir.join(&name))?;
            }
        }
        Ok(())
    }

    /// Acknowledges the events with these uids, and returns the uids that are not here.
    pub fn acknowledge(&self, uids: &[String]) -> Result<Vec<String>> {
        self.each_of(uids, |entry| self.discard(entry))
    }

    /// Calls `act` for each event with one of these uids, and returns the uids that are not here.
    pub fn each_of(&self, uids: &[String], act: impl Fn(&SpoolEntry) -> Result<()>) -> Result<Vec<String>> {
        let mut left: Vec<String> = uids.to_vec();
        for entry in self.entries()? {
            let Some(event) = self.read(&entry)? else { continue };
            if let Some(at) = left.iter().position(|uid| uid == event.uid()) {
                act(&entry)?;
                left.remove(at);
            }
        }
        Ok(left)
    }

    /// Deletes an acknowledged event. The one with the highest number is kept as `last`.
    pub(super) fn discard(&self, entry: &SpoolEntry) -> Result<()> {
        let _lock = self.lock()?;
        if entry.id >= self.last_id()? {
            if entry.path.symlink_metadata().is_ok() {
                fs::rename_over(&entry.path, &self.last_file())?;
            }
            return Ok(());
        }
        fs::remove(&entry.path)
    }

    pub(super) fn last_file(&self) -> PathBuf {
        self.dir.join("last")
    }

    /// The number of the event that was acknowledged last; 0 if there is none.
    pub(super) fn last_id(&self) -> Result<u64> {
        let bytes = self.read_file(&self.last_file())?.unwrap_or_default();
        Ok(SpoolEvent::parse(&bytes).ok().map(|event| event.id()).filter(may_precede).unwrap_or(0))
    }
}

/// Whether another event can get the number after this one. A higher one is taken for damage.
pub(super) fn may_precede(number: &u64) -> bool {
    *number < HIGHEST - 1
}

/// The number in an event's file name.
pub(super) fn number(name: &str) -> Option<u64> {
    let (stem, end) = name.split_once('.')?;
    let number = (stem.len() == 20 && matches!(end, "json" | "lent")).then(|| stem.parse().ok())?;
    number.filter(|number| *number < HIGHEST)
}
