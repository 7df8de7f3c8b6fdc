//! A session's events on the disk, a file each: published by rename, taken by rename under the file's own lock,
//! and gone only once somebody acknowledged them. Whatever dies in between leaves them to be delivered again.
//!
//! `new/` waits, `cur/` is being handed out, `bad/` could not be read; `last` is the event acknowledged last, and
//! `seq` the number given out last: no number is given twice while any of them is left.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;

use crate::event::{Event, NoEvent};
use crate::identity::{Agent, encoded};

/// How many removed sessions are followed to a living one.
const FORWARDS: usize = 64;

/// One session's directory.
#[derive(Clone, Debug)]
pub struct Spool {
    dir: PathBuf,
    pub session: String,
    /// Who stands above it, the nearest last, for the day it is gone; as far as whoever opens it knows.
    above: Vec<String>,
}

/// What publishing came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    pub uid: String,
    pub id: u64,
    /// The session it went to.
    pub to: String,
    /// Whether an earlier event with the same key stands for it.
    pub is_repeated: bool,
}

/// Where an event lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: u64,
    pub path: PathBuf,
    /// Until when it is lent out, if it is.
    pub lent: Option<Timestamp>,
    pub is_new: bool,
}

/// An event that is ours for as long as the process lives, or until it is given back.
#[derive(Debug)]
pub struct Claim {
    spool: Spool,
    entry: Entry,
    pub event: Event,
    _lock: Lock,
}

/// Below which the sessions lie.
pub fn sessions(shared: &Path) -> PathBuf {
    shared.join("session")
}

/// Every session that ever had an event, by its id.
pub fn all(shared: &Path) -> Result<Vec<Spool>> {
    let dir = sessions(shared);
    let mut found = Vec::new();
    for name in fs::list(&dir)? {
        let dir = dir.join(name);
        let bytes = fs::read_no_follow(&dir.join("session.json")).unwrap_or_default().unwrap_or_default();
        let about: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if let Some(id) = about.get("id").and_then(Value::as_str) {
            found.push(Spool { dir, session: id.to_owned(), above: Vec::new() });
        }
    }
    Ok(found)
}

impl Spool {
    pub fn of(shared: &Path, session: &str) -> Spool {
        Spool { dir: sessions(shared).join(encoded(session)), session: session.to_owned(), above: Vec::new() }
    }

    /// The same with who stands above it.
    pub fn below(self, above: &[String]) -> Spool {
        Spool { above: above.to_vec(), ..self }
    }

    pub fn exists(&self) -> bool {
        self.dir.join("session.json").exists()
    }

    /// The directories that change when an event comes or is given back, or the session ends.
    pub fn watched(&self) -> [PathBuf; 2] {
        [self.dir.join("new"), self.dir.clone()]
    }

    /// Makes what is missing of its directories: a copy may have left empty ones out.
    pub fn create(&self) -> Result<()> {
        for dir in ["new", "cur", "bad", "tmp", "dedupe"].map(|name| self.dir.join(name)) {
            if !dir.is_dir() {
                fs::create_private_dir(&dir)?;
            }
        }
        if self.exists() {
            return Ok(());
        }
        let _lock = self.lock()?;
        if self.exists() {
            return Ok(());
        }
        let about = json!({ "v": 1, "id": self.session, "parents": self.above });
        fs::replace(&self.dir.join("session.json"), format!("{about}\n").as_bytes(), Some(fs::PRIVATE))
    }

    fn lock(&self) -> Result<Lock> {
        Lock::take(&self.dir.join("lock"))
    }

    /// The session that stands in for a removed one.
    pub fn forwards_to(&self) -> Result<Option<String>> {
        let bytes = fs::read_no_follow(&self.dir.join("tombstone"))?;
        let tombstone: Value = bytes.and_then(|b| serde_json::from_slice(&b).ok()).unwrap_or_default();
        Ok(tombstone.get("forward_to").and_then(Value::as_str).map(str::to_owned))
    }

    /// Who was above it when its first event came, the nearest last.
    pub fn parents(&self) -> Result<Vec<String>> {
        let bytes = fs::read_no_follow(&self.dir.join("session.json"))?.unwrap_or_default();
        let about: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let parents = about.get("parents").and_then(Value::as_array).cloned().unwrap_or_default();
        Ok(parents.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// The agent whose session it was, which may still have something to say.
    pub fn buried(&self) -> Result<Option<Agent>> {
        let bytes = fs::read_no_follow(&self.dir.join("tombstone"))?;
        let tombstone: Value = bytes.and_then(|b| serde_json::from_slice(&b).ok()).unwrap_or_default();
        let agent = tombstone.get("agent").map(Value::to_string);
        Ok(agent.and_then(|text| Agent::parse(&self.dir, text.as_bytes()).ok()))
    }

    /// From now on events go to `heir`; those not acknowledged go there now. Who it was, where that is known, is kept.
    /// May be run again after a kill.
    pub fn bury(&self, shared: &Path, heir: &str, agent: Option<&Agent>) -> Result<()> {
        // One that never had an event may get its first from someone who is still at work.
        self.create()?;
        {
            let _lock = self.lock()?;
            let kept = self.buried()?;
            let tombstone = json!({ "v": 1, "forward_to": heir, "agent": agent.or(kept.as_ref()) });
            fs::replace(&self.dir.join("tombstone"), format!("{tombstone}\n").as_bytes(), Some(fs::PRIVATE))?;
        }
        // Again until nothing is left: a waiter may give one back meanwhile.
        loop {
            let mut any = false;
            for entry in self.entries()? {
                // What is of a later version stays.
                let Some(event) = self.read(&entry)? else { continue };
                let key = format!("forwarded:{}", event.uid());
                let mut record = event.0;
                record.entry("forwarded_from").or_insert_with(|| self.session.clone().into());
                publish(shared, heir, &[], record, Some(&key))?;
                fs::remove(&entry.path)?;
                any = true;
            }
            if !any {
                return Ok(());
            }
        }
    }

    /// The session lives again: a new one of the same name was spawned.
    pub fn unbury(&self) -> Result<()> {
        fs::remove(&self.dir.join("tombstone"))
    }

    /// What is not acknowledged, in the order it was published.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let mut entries = BTreeMap::new();
        // `new` first: what is taken meanwhile is met in `cur`.
        for (dir, is_new) in [("new", true), ("cur", false)] {
            let dir = self.dir.join(dir);
            for name in fs::list(&dir)? {
                let (Some(id), path) = (number(&name.to_string_lossy()), dir.join(&name)) else { continue };
                let is_lent = path.extension().is_some_and(|e| e == "lent");
                let lent = if is_lent { fs::changed(&path) } else { None };
                entries.insert(id, Entry { id, path, lent, is_new });
            }
        }
        Ok(entries.into_values().collect())
    }

    /// How many events are not acknowledged.
    pub fn pending(&self) -> Result<usize> {
        let count = |dir: &str| -> Result<usize> {
            let names = fs::list(&self.dir.join(dir))?;
            Ok(names.iter().filter(|name| number(&name.to_string_lossy()).is_some()).count())
        };
        Ok(count("new")? + count("cur")?)
    }

    /// Reads an event without taking it; none when it is gone by now. One that cannot be read goes to `bad/`.
    pub fn read(&self, entry: &Entry) -> Result<Option<Event>> {
        let Some(bytes) = fs::read_own(&entry.path)? else { return Ok(None) };
        match Event::parse(&bytes) {
            Ok(event) => Ok(Some(event)),
            Err(NoEvent::Newer(_)) => Ok(None),
            Err(NoEvent::Malformed(_)) => {
                self.set_aside(&entry.path)?;
                Ok(None)
            }
        }
    }

    /// Moves what is no event out of the way; it is never deleted.
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

    /// Moves what has no event's name in `new/` out of the way, too.
    pub fn sweep(&self) -> Result<()> {
        let dir = self.dir.join("new");
        for name in fs::list(&dir)? {
            let text = name.to_string_lossy();
            if number(&text).is_none() && !text.starts_with('.') {
                self.set_aside(&dir.join(&name))?;
            }
        }
        Ok(())
    }

    /// Takes an event: none when somebody else has it. It is ours while we live.
    pub fn claim(&self, entry: &Entry, now: Timestamp) -> Result<Option<Claim>> {
        if entry.lent.is_some_and(|until| until > now) {
            return Ok(None);
        }
        let Some(lock) = Lock::try_existing(&entry.path)? else { return Ok(None) };
        // It may have been lent anew since it was listed.
        let is_due = entry.lent.is_none() || fs::changed(&entry.path).is_some_and(|until| until <= now);
        let Some(event) = self.read(entry)?.filter(|_| is_due) else { return Ok(None) };
        let cur = self.dir.join("cur").join(format!("{:020}.json", entry.id));
        if entry.path != cur {
            fs::rename_over(&entry.path, &cur)?;
        }
        let entry = Entry { path: cur, lent: None, is_new: false, ..entry.clone() };
        Ok(Some(Claim { spool: self.clone(), entry, event, _lock: lock }))
    }

    /// The events with these uids are done with; gives back the uids it has not.
    pub fn acknowledge(&self, uids: &[String]) -> Result<Vec<String>> {
        if !self.exists() {
            return Ok(uids.to_vec());
        }
        let mut left: Vec<String> = uids.to_vec();
        for entry in self.entries()? {
            let Some(event) = self.read(&entry)? else { continue };
            if let Some(at) = left.iter().position(|uid| uid == event.uid()) {
                self.done(&entry)?;
                left.remove(at);
            }
        }
        Ok(left)
    }

    /// Removes an event, but for the one with the highest number: that is kept as `last`.
    fn done(&self, entry: &Entry) -> Result<()> {
        let _lock = self.lock()?;
        let last = self.dir.join("last");
        if entry.id >= self.last_id()? {
            if entry.path.symlink_metadata().is_ok() {
                fs::rename_over(&entry.path, &last)?;
            }
            return Ok(());
        }
        fs::remove(&entry.path)
    }

    fn last_id(&self) -> Result<u64> {
        let bytes = fs::read_own(&self.dir.join("last"))?.unwrap_or_default();
        Ok(Event::parse(&bytes).map_or(0, |event| event.id()))
    }

    /// The highest number ever given, from whatever is left that tells; and what `seq` says.
    fn highest(&self) -> Result<(u64, u64)> {
        let seq = fs::read_no_follow(&self.dir.join("seq"))?.unwrap_or_default();
        let seq = String::from_utf8_lossy(&seq).trim().parse().unwrap_or(0);
        let mut highest = self.last_id()?.max(seq);
        for dir in ["new", "cur", "bad"] {
            let names = fs::list(&self.dir.join(dir))?;
            let numbers = names.iter().filter_map(|name| number(&name.to_string_lossy()));
            highest = highest.max(numbers.max().unwrap_or(0));
        }
        Ok((highest, seq))
    }

    fn dedupe_path(&self, key: &str) -> PathBuf {
        self.dir.join("dedupe").join(format!("{}.json", Digest::of(key.as_bytes())))
    }

    /// Whether the key was used before, and by which event.
    fn first_with(&self, key: &str) -> Result<Option<Published>> {
        let bytes = fs::read_no_follow(&self.dedupe_path(key))?.unwrap_or_default();
        let first: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let (Some(uid), Some(id)) = (first.get("uid").and_then(Value::as_str), first.get("id").and_then(Value::as_u64))
        else {
            return Ok(None);
        };
        Ok(Some(Published { uid: uid.to_owned(), id, to: self.session.clone(), is_repeated: true }))
    }

    fn remember(&self, key: &str, uid: &str, id: u64) -> Result<()> {
        let text = format!("{}\n", json!({ "v": 1, "key": key, "uid": uid, "id": id }));
        fs::replace(&self.dedupe_path(key), text.as_bytes(), Some(fs::PRIVATE))
    }

    /// Under the session's lock.
    fn add(&self, mut record: Map<String, Value>, dedupe: Option<&str>) -> Result<Published> {
        fs::sweep_temporaries(&self.dir.join("tmp"))?;
        let (highest, seq) = self.highest()?;
        if highest > seq {
            self.finish_last(highest)?;
        }
        if let Some(first) = dedupe.map(|key| self.first_with(key)).transpose()?.flatten() {
            return Ok(first);
        }
        let id = highest + 1;
        record.insert("id".into(), id.into());
        if let Some(key) = dedupe {
            record.insert("dedupe".into(), key.into());
        }
        let event = Event(record);
        let path = self.dir.join("new").join(format!("{id:020}.json"));
        let is_new = fs::publish(&self.dir.join("tmp"), &path, format!("{}\n", event.line()).as_bytes())?;
        if !is_new {
            return Err(Failure::failed(format!("{} is there already", path.display())));
        }
        if let Some(key) = dedupe {
            self.remember(key, event.uid(), id)?;
        }
        fs::replace(&self.dir.join("seq"), format!("{id}\n").as_bytes(), Some(fs::PRIVATE))?;
        Ok(Published { uid: event.uid().to_owned(), id, to: self.session.clone(), is_repeated: false })
    }

    /// A publisher that was killed may have left its event without the note of its key.
    fn finish_last(&self, id: u64) -> Result<()> {
        let name = |dir: &str, end: &str| self.dir.join(dir).join(format!("{id:020}.{end}"));
        for path in [name("new", "json"), name("cur", "json"), name("cur", "lent"), self.dir.join("last")] {
            let event = fs::read_own(&path)?.and_then(|bytes| Event::parse(&bytes).ok());
            if let Some(event) = event.filter(|event| event.id() == id)
                && let Some(key) = event.dedupe()
            {
                return self.remember(key, event.uid(), id);
            }
        }
        Ok(())
    }
}

impl Claim {
    /// The session it is of.
    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    /// It was handed over.
    pub fn acknowledge(self) -> Result<()> {
        self.spool.done(&self.entry)
    }

    /// It was not: the next one who asks gets it.
    pub fn give_back(self) -> Result<()> {
        let new = self.spool.dir.join("new").join(format!("{:020}.json", self.entry.id));
        fs::rename_new(&self.entry.path, &new).map(drop)
    }

    /// It was handed over, and is delivered again unless it is acknowledged by then.
    pub fn lend(self, until: Timestamp) -> Result<()> {
        // Forwarded meanwhile, with its session: it will be delivered there.
        if self.entry.path.symlink_metadata().is_err() {
            return Ok(());
        }
        fs::touch(&self.entry.path, until)?;
        fs::rename_over(&self.entry.path, &self.entry.path.with_extension("lent"))
    }
}

/// Publishes an event to a session, or to the one that stands in for it. With a key the first writer wins.
pub fn publish(
    shared: &Path,
    to: &str,
    above: &[String],
    mut record: Map<String, Value>,
    dedupe: Option<&str>,
) -> Result<Published> {
    let mut spool = Spool::of(shared, to).below(above);
    for _ in 0..FORWARDS {
        spool.create()?;
        let _lock = spool.lock()?;
        let Some(heir) = spool.forwards_to()? else { return spool.add(record, dedupe) };
        record.entry("forwarded_from").or_insert_with(|| spool.session.clone().into());
        spool = Spool::of(shared, &heir);
    }
    Err(Failure::new(Exit::Failed, "failed", format!("the session {to} is forwarded without end"))
        .hint("run `worktree-spawn repair`"))
}

/// The number in an event's file name.
fn number(name: &str) -> Option<u64> {
    let (stem, end) = name.split_once('.')?;
    (stem.len() == 20 && matches!(end, "json" | "lent")).then(|| stem.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(uid: &str) -> Map<String, Value> {
        let event = json!({ "v": 1, "id": 0, "uid": uid, "type": "x", "from": { "id": "a" } });
        event.as_object().cloned().unwrap()
    }

    fn spool(dir: &Path, uids: &[&str]) -> Spool {
        for uid in uids {
            publish(dir, "s", &[], record(uid), None).unwrap();
        }
        Spool::of(dir, "s")
    }

    fn first(spool: &Spool, now: Timestamp) -> Option<Claim> {
        spool.entries().unwrap().iter().find_map(|entry| spool.claim(entry, now).unwrap())
    }

    #[test]
    fn numbers_are_never_given_twice_whatever_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let spool = spool(dir.path(), &["a", "b"]);
        for _ in 0..2 {
            first(&spool, Timestamp::now()).unwrap().acknowledge().unwrap();
        }
        assert_eq!(spool.pending().unwrap(), 0);
        fs::remove(&spool.dir.join("seq")).unwrap();
        assert_eq!(publish(dir.path(), "s", &[], record("c"), None).unwrap().id, 3);
        fs::replace(&spool.dir.join("seq"), b"torn\0", None).unwrap();
        assert_eq!(publish(dir.path(), "s", &[], record("d"), None).unwrap().id, 4);
    }

    #[test]
    fn what_is_claimed_is_nobody_elses_until_it_is_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let spool = spool(dir.path(), &["a"]);
        let now = Timestamp::now();
        let claim = first(&spool, now).unwrap();
        assert!(first(&spool, now).is_none());
        claim.give_back().unwrap();
        let claim = first(&spool, now).unwrap();
        // Dropped without a word, as by a kill.
        drop(claim);
        let claim = first(&spool, now).unwrap();
        let until = now + jiff::SignedDuration::from_secs(60);
        claim.lend(until).unwrap();
        assert!(first(&spool, now).is_none());
        assert_eq!(first(&spool, until).unwrap().event.uid(), "a");
        assert!(spool.acknowledge(&["a".into(), "b".into()]).unwrap() == ["b"]);
        assert!(first(&spool, until).is_none());
    }

    #[test]
    fn one_key_is_one_event_also_after_a_kill_before_its_note() {
        let dir = tempfile::tempdir().unwrap();
        let send = |uid: &str| publish(dir.path(), "s", &[], record(uid), Some("k")).unwrap();
        let first = send("a");
        let spool = Spool::of(dir.path(), "s");
        fs::remove(&spool.dedupe_path("k")).unwrap();
        fs::replace(&spool.dir.join("seq"), b"0\n", None).unwrap();
        let second = send("b");
        assert_eq!((second.uid.as_str(), second.is_repeated, first.id), ("a", true, second.id));
        assert_eq!(spool.pending().unwrap(), 1);
    }

    #[test]
    fn what_is_no_event_is_set_aside_and_the_rest_arrives() {
        let dir = tempfile::tempdir().unwrap();
        let spool = spool(dir.path(), &["a"]);
        fs::replace(&spool.dir.join("new/00000000000000000009.json"), b"{\"v\":1,", None).unwrap();
        fs::replace(&spool.dir.join("new/notes.txt"), b"x", None).unwrap();
        publish(dir.path(), "s", &[], record("b"), None).unwrap();
        spool.sweep().unwrap();
        let uids: Vec<String> = std::iter::from_fn(|| {
            let claim = first(&spool, Timestamp::now())?;
            let uid = claim.event.uid().to_owned();
            claim.acknowledge().unwrap();
            Some(uid)
        })
        .collect();
        assert_eq!(uids, ["a", "b"]);
        assert_eq!(fs::list(&spool.dir.join("bad")).unwrap().len(), 2);
        // The number of the bad one is not given again.
        assert_eq!(publish(dir.path(), "s", &[], record("c"), None).unwrap().id, 11);
    }

    #[test]
    fn a_buried_session_hands_on_what_it_had_and_what_comes() {
        let dir = tempfile::tempdir().unwrap();
        let spool = spool(dir.path(), &["a"]);
        let agent = Agent::root("s", None, Timestamp::UNIX_EPOCH);
        spool.bury(dir.path(), "heir", Some(&agent)).unwrap();
        spool.bury(dir.path(), "heir", None).unwrap();
        assert_eq!(spool.buried().unwrap(), Some(agent));
        publish(dir.path(), "s", &[], record("b"), None).unwrap();
        let heir = Spool::of(dir.path(), "heir");
        let events: Vec<Event> = heir.entries().unwrap().iter().filter_map(|e| heir.read(e).unwrap()).collect();
        assert_eq!(events.iter().map(Event::uid).collect::<Vec<_>>(), ["a", "b"]);
        assert!(events.iter().all(|e| e.0["forwarded_from"] == "s"));
    }
}
