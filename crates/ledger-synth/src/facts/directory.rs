//! Reads a directory of events: lists it, looks its files up in the cache and opens the rest. Only regular files are
//! opened, and no link is followed.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{Bytes, Root, Stat};
use shopfloor_core::path::RelPath;
use shopfloor_core::proc::map_parallel;

use super::{EventPath, Events, Skipped, SnapshotFile};
use crate::cache::{self, ListedFile, Pack, UncachedEvent};
use crate::canonical::CanonicalEvent;
use crate::event::LedgerEvent;
use crate::event_file::{self, LIMIT, Malformed};
use crate::snapshot;

/// How often a directory is read again if it changes in the meantime.
const PATIENCE: usize = 1_000;

/// How often a changing directory is listed until two listings agree.
const STEADY: usize = 50;

/// How many files are read at a time.
const PART: usize = 4096;

/// Lists the event files of a directory, in no order.
pub fn list(dir: &Root) -> Result<Vec<ListedFile>> {
    stated(dir, dir.names(is_event_name)?)
}

fn stated(dir: &Root, names: Vec<OsString>) -> Result<Vec<ListedFile>> {
    let stats = dir.stats_of(&names)?;
    Ok(names.into_iter().zip(stats).map(|(name, stat)| ListedFile { name, stat }).collect())
}

fn is_event_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    bytes.ends_with(b".md") && !bytes.starts_with(b".")
}

/// What a file in a directory of events is.
pub enum EventFileContent {
    Event(CanonicalEvent),
    Snapshot(String),
    Malformed(Malformed),
}

/// Parses the content of a file. Snapshots are checked later, together.
pub fn content(name: &OsStr, bytes: &[u8]) -> EventFileContent {
    if snapshot::is_one(name.as_bytes(), bytes) {
        let text = String::from_utf8_lossy(bytes);
        return EventFileContent::Snapshot(text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n"));
    }
    if bytes.len() > LIMIT {
        return EventFileContent::Malformed(Malformed::new(1, "larger than 1 MiB"));
    }
    match event_file::decode(bytes).and_then(|text| LedgerEvent::parse(&text).map(|event| identified(&text, &event))) {
        Ok(record) => EventFileContent::Event(record),
        Err(problem) => EventFileContent::Malformed(problem),
    }
}

/// The event, under the id that it always had.
fn identified(text: &str, event: &LedgerEvent<'_>) -> CanonicalEvent {
    let mut record = CanonicalEvent::encode(event);
    if let Some(first) = LedgerEvent::first_form(text, event) {
        record.id = CanonicalEvent::encode(&first).id;
    }
    record
}

/// Loads a file. None: it is gone.
fn load(dir: &Root, name: &OsStr, stat: &Stat) -> Result<Option<EventFileContent>> {
    let size = usize::try_from(stat.size()).unwrap_or(usize::MAX);
    Ok(match dir.load(name, size, LIMIT)? {
        Bytes::Gone => None,
        Bytes::All(bytes) => Some(content(name, &bytes)),
        Bytes::Head(head) if snapshot::is_one(name.as_bytes(), &head) => match dir.load(name, size, usize::MAX >> 1)? {
            Bytes::All(bytes) | Bytes::Head(bytes) => Some(content(name, &bytes)),
            Bytes::Gone => None,
        },
        Bytes::Head(_) => Some(EventFileContent::Malformed(Malformed::new(1, "larger than 1 MiB"))),
    })
}

/// The content of a directory of events.
#[derive(Default)]
pub struct DirectoryRead {
    pub events: Events,
    /// The events that were not in the cache.
    pub fresh: Vec<UncachedEvent>,
}

/// Whether the caller holds the ledger's lock, so that nothing is folded while it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerLock {
    Held,
    Free,
}

/// Reads a directory of events as it was at one time, even if files are removed or folded while it is read.
pub fn read(dir: &Root, pack: &Pack, first: Option<Vec<ListedFile>>, lock: LedgerLock) -> Result<DirectoryRead> {
    let mut listing = match first {
        Some(listing) => listing,
        None => list(dir)?,
    };
    for attempt in 0..PATIENCE {
        listing.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        // A single listing may miss both an event that appears and a snapshot that disappears; two listings that
        // agree have missed nothing. If writers never pause we go on without, because writers only add.
        if attempt < STEADY {
            let mut now = dir.names(is_event_name)?;
            now.sort_unstable();
            if !listing.iter().map(|listed| &listed.name).eq(&now) {
                listing = stated(dir, now)?;
                continue;
            }
        }
        listing.retain(|listed| listed.stat.is_some());
        let mut read = DirectoryRead::default();
        read.events.records.reserve_exact(listing.len());
        read.events.files.reserve_exact(listing.len());
        let place: Arc<Path> = dir.path().into();
        let mut is_whole = true;
        // The bytes of all files at once would need much memory.
        for part in listing.chunks(PART) {
            let loaded = map_parallel(part, |ListedFile { name, stat }| {
                let Some(stat) = stat else { return Ok(None) };
                match pack.get(&cache::key(name, stat)) {
                    Some(record) => Ok(Some(Loaded::Cached(record))),
                    None => load(dir, name, stat).map(|content| content.map(Loaded::Read)),
                }
            });
            for (listed, found) in part.iter().zip(loaded) {
                match (found?, listed.stat) {
                    (Some(found), Some(stat)) => {
                        read.take(EventPath { dir: place.clone(), name: listed.name.as_os_str().into() }, stat, found);
                    }
                    _ => is_whole = false,
                }
            }
        }
        if is_whole && lock == LedgerLock::Held {
            return Ok(read);
        }
        let now = dir.names(is_event_name)?;
        if is_whole && is_unfolded(&listing, &now) {
            return Ok(read);
        }
        listing = stated(dir, now)?;
    }
    Err(Failure::failed(format!("{} changes faster than it can be read", dir.path().display()))
        .hint("wait for other commands to end and run the same command again"))
}

enum Loaded {
    Cached(CanonicalEvent),
    Read(EventFileContent),
}

impl DirectoryRead {
    fn take(&mut self, file: EventPath, stat: Stat, found: Loaded) {
        match found {
            Loaded::Cached(record) => self.events.push(record, file),
            Loaded::Read(EventFileContent::Event(record)) => {
                let key = cache::key(&file.name, &stat);
                self.fresh.push(UncachedEvent { record: self.events.records.len(), key, stat });
                self.events.push(record, file);
            }
            Loaded::Read(EventFileContent::Snapshot(text)) => {
                self.events.snapshots.push(SnapshotFile { path: file.path(), text })
            }
            Loaded::Read(EventFileContent::Malformed(problem)) => {
                self.events.skipped.push(Skipped { path: file.path(), problem })
            }
        }
    }
}

/// Whether between two listings nothing went and no snapshot came: a snapshot is there before what it
/// stands for goes.
fn is_unfolded(before: &[ListedFile], after: &[OsString]) -> bool {
    let after_set: HashSet<&OsString> = after.iter().collect();
    let before_set: HashSet<&OsString> = before.iter().map(|listed| &listed.name).collect();
    let is_snapshot = |name: &OsString| name.as_bytes().starts_with(b"snapshot_");
    before_set.is_subset(&after_set) && after.iter().all(|name| before_set.contains(name) || !is_snapshot(name))
}

/// Files named one by one, in this order.
pub fn files(paths: &[PathBuf]) -> Result<Events> {
    let mut events = Events::default();
    for path in paths {
        let dir = Root::open(path.parent().unwrap_or(path))?;
        let Some(name) = path.file_name() else { continue };
        let stat = dir.stats_of(&[name.to_owned()])?.remove(0);
        let found = match &stat {
            Some(stat) => load(&dir, name, stat)?,
            None => None,
        };
        match found {
            None => {
                let problem = Malformed::new(1, "not a regular file");
                events.skipped.push(Skipped { path: path.clone(), problem });
            }
            Some(EventFileContent::Event(record)) => events.push(record, EventPath::at(path)),
            Some(EventFileContent::Snapshot(text)) => events.snapshots.push(SnapshotFile { path: path.clone(), text }),
            Some(EventFileContent::Malformed(problem)) => events.skipped.push(Skipped { path: path.clone(), problem }),
        }
    }
    Ok(events)
}

/// The events in `archive/`, a directory per day: what was folded, as long as it is kept.
pub fn archived(archive: &Root) -> Result<Events> {
    let none = Pack::default();
    let mut events = Events::default();
    for day in archive.dirs()? {
        let Ok(rel) = RelPath::parse_os(&day) else { continue };
        if let Some(dir) = archive.below(&rel)? {
            events.add(read(&dir, &none, None, LedgerLock::Free)?.events);
        }
    }
    Ok(events)
}
