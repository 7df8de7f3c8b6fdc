//! Publishing an event: it gets the next number of its session, and a key is used once.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;

use super::directory::{Spool, may_precede, number};
use crate::event::{SpoolEvent, mark_forwarded};
use crate::json_file;

/// How many removed sessions are followed before forwarding counts as a circle.
const FORWARDS: usize = 64;

/// A published event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    pub uid: String,
    pub id: u64,
    /// The session it went to.
    pub to: String,
    /// Whether this is an earlier event with the same key.
    pub is_repeated: bool,
}

/// The note that a key was used, and by which event.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct KeyNote {
    v: u64,
    key: String,
    uid: Option<String>,
    id: Option<u64>,
}

/// Publishes an event to a session, or to the one that its events are forwarded to. The first event with a key wins.
pub fn publish(
    shared: &Path,
    to: &str,
    above: &[String],
    mut record: Map<String, Value>,
    dedupe: Option<&str>,
) -> Result<Published> {
    let mut spool = Spool::new(shared, to).below(above);
    for _ in 0..FORWARDS {
        spool.create()?;
        let _lock = spool.lock()?;
        let Some(heir) = spool.forwards_to()? else { return spool.add(record, dedupe) };
        mark_forwarded(&mut record, &spool.session);
        spool = Spool::new(shared, &heir);
    }
    Err(Failure::failed(format!("the session {to} is forwarded in a circle")).hint("run `worktree-spawn repair`"))
}

impl Spool {
    /// Adds an event. The caller holds the session's lock.
    fn add(&self, mut record: Map<String, Value>, dedupe: Option<&str>) -> Result<Published> {
        fs::sweep_temporaries(&self.temporary())?;
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
        let event = SpoolEvent(record);
        let path = self.dir.join("new").join(format!("{id:020}.json"));
        let is_new = fs::publish(&self.temporary(), &path, format!("{}\n", event.line()).as_bytes())?;
        if !is_new {
            return Err(Failure::failed(format!("{} already exists", path.display())));
        }
        if let Some(key) = dedupe {
            self.note_key(key, event.uid(), id)?;
        }
        fs::replace(&self.dir.join("seq"), format!("{id}\n").as_bytes(), Some(fs::PRIVATE))?;
        Ok(Published { uid: event.uid().to_owned(), id, to: self.session.clone(), is_repeated: false })
    }

    /// The highest number ever given, as far as any file still tells, and the number in `seq`.
    fn highest(&self) -> Result<(u64, u64)> {
        let seq = fs::read_no_follow(&self.dir.join("seq"))?.unwrap_or_default();
        let seq = String::from_utf8_lossy(&seq).trim().parse().ok().filter(may_precede).unwrap_or(0);
        let mut highest = self.last_id()?.max(seq);
        for dir in ["new", "cur", "bad"] {
            let names = fs::list(&self.dir.join(dir))?;
            let numbers = names.iter().filter_map(|name| number(&name.to_string_lossy())).filter(may_precede);
            highest = highest.max(numbers.max().unwrap_or(0));
        }
        Ok((highest, seq))
    }

    pub(super) fn key_file(&self, key: &str) -> PathBuf {
        self.dir.join("dedupe").join(format!("{}.json", Digest::of(key.as_bytes())))
    }

    /// The event that used this key, if any did.
    fn first_with(&self, key: &str) -> Result<Option<Published>> {
        let note: KeyNote = json_file::load_or_default(&self.key_file(key))?;
        let (Some(uid), Some(id)) = (note.uid, note.id) else { return Ok(None) };
        Ok(Some(Published { uid, id, to: self.session.clone(), is_repeated: true }))
    }

    fn note_key(&self, key: &str, uid: &str, id: u64) -> Result<()> {
        let note = KeyNote { v: 1, key: key.to_owned(), uid: Some(uid.to_owned()), id: Some(id) };
        json_file::save(&self.key_file(key), &note)
    }

    /// Notes the key of the last event, if its publisher was killed before it could.
    fn finish_last(&self, id: u64) -> Result<()> {
        let name = |dir: &str, end: &str| self.dir.join(dir).join(format!("{id:020}.{end}"));
        for path in [name("new", "json"), name("cur", "json"), name("cur", "lent"), self.last_file()] {
            let event = self.read_file(&path)?.and_then(|bytes| SpoolEvent::parse(&bytes).ok());
            if let Some(event) = event.filter(|event| event.id() == id)
                && let Some(key) = event.dedupe()
            {
                return self.note_key(key, event.uid(), id);
            }
        }
        Ok(())
    }
}
