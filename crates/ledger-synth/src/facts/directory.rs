//! Reads a directory of events: lists it, looks its files up in the cache and opens the rest. Only regular files are
//! opened, and no link is followed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{Bytes, Root, Stat};
use shopfloor_core::path::RelPath;
use shopfloor_core::proc::map_parallel;

use super::{EventPath, Events, Skipped, SnapshotFile};
use crate::cache::{self, FileKey, ListedFile, Pack, UncachedEvent};
use crate::canonical;
use crate::event::LedgerEvent;
use crate::event_file::{self, LIMIT, Malformed};
use crate::record::EventRecord;
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
    Event(EventRecord),
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
    match event_file::decode(bytes).and_then(|text| identified(&text)) {
        Ok(record) => EventFileContent::Event(record),
        Err(problem) => EventFileContent::Malformed(problem),
    }
}

/// The event in a text, under the id that it always had.
fn identified(text: &str) -> Result<EventRecord, Malformed> {
    let (event, first) = LedgerEvent::parse_forms(text)?;
    let record = EventRecord::new(&event);
    Ok(match first {
        Some(first) => EventRecord { id: canonical::id(&first), ..record },
        None => record,
    })
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
    /// The events that can be added to the cache.
    pub fresh: Vec<UncachedEvent>,
    /// How many events were in the cache.
    pub hits: usize,
}

/// What earlier runs remembered of a directory, and since when this run can be remembered.
#[derive(Default)]
pub struct CacheUse {
    pub pack: Pack,
    pub since: Option<Timestamp>,
}

/// Whether the caller holds the ledger's lock, so that nothing is folded while it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerLock {
    Held,
    Free,
}

/// Reads a directory of events as it was at one time, even if files are removed or folded while it is read.
pub fn read(dir: &Root, cache: &CacheUse, first: Option<Vec<ListedFile>>, lock: LedgerLock) -> Result<DirectoryRead> {
    let mut listing = match first {
        Some(listing) => listing,
        None => list(dir)?,
    };
    for attempt in 0..PATIENCE {
        // A single listing may miss both an event that appears and a snapshot that disappears; two listings that
        // agree have missed nothing. If writers never pause we go on without, because writers only add.
        if attempt < STEADY {
            let now = dir.names(is_event_name)?;
            // The order of a directory that does not change is the same.
            if !listing.iter().map(|listed| &listed.name).eq(&now) {
                listing = stated(dir, now)?;
                continue;
            }
        }
        listing.retain(|listed| listed.stat.is_some());
        listing.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut read = DirectoryRead::default();
        read.events.records.reserve_exact(listing.len());
        read.events.files.reserve_exact(listing.len());
        let place: Arc<Path> = dir.path().into();
        let mut is_whole = true;
        // The bytes of all files at once would need much memory.
        for part in listing.chunks_mut(PART) {
            let loaded = map_parallel(part, |ListedFile { name, stat }| {
                let Some(stat) = stat else { return Ok(None) };
                match cache.pack.get(&cache::key(name, stat)) {
                    Some(record) => Ok(Some(Loaded::Cached(record))),
                    None => load(dir, name, stat).map(|content| content.map(Loaded::Read)),
                }
            });
            for (listed, found) in part.iter_mut().zip(loaded) {
                match (found?, listed.stat) {
                    (Some(found), Some(stat)) => {
                        // A file that changed just now may change again without a new time.
                        let since = cache.since.filter(|since| stat.is_settled(*since));
                        let key = since.map(|_| cache::key(&listed.name, &stat));
                        let name = std::mem::take(&mut listed.name).into();
                        read.take(EventPath { dir: place.clone(), name }, key, found);
                    }
                    _ => is_whole = false,
                }
            }
        }
        if is_whole && lock == LedgerLock::Held {
            return Ok(read);
        }
        let now = dir.names(is_event_name)?;
        if is_whole && is_unfolded(&read.events, &now) {
            return Ok(read);
        }
        listing = stated(dir, now)?;
    }
    Err(Failure::failed(format!("{} changes faster than it can be read", dir.path().display()))
        .hint("wait for other commands to end and run the same command again"))
}

enum Loaded {
    Cached(EventRecord),
    Read(EventFileContent),
}

impl DirectoryRead {
    /// Adds what a file holds. `key` is that of a file that can be added to the cache.
    fn take(&mut self, file: EventPath, key: Option<FileKey>, found: Loaded) {
        match found {
            Loaded::Cached(record) => {
                self.hits += 1;
                self.events.push(record, file);
            }
            Loaded::Read(EventFileContent::Event(record)) => {
                self.fresh.extend(key.map(|key| UncachedEvent { record: self.events.records.len(), key }));
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
fn is_unfolded(before: &Events, after: &[OsString]) -> bool {
    let mut after: Vec<&OsStr> = after.iter().map(OsString::as_os_str).collect();
    after.sort_unstable();
    let other = before.snapshots.iter().map(|file| &file.path).chain(before.skipped.iter().map(|file| &file.path));
    let names = before.files.iter().map(|file| &*file.name).chain(other.filter_map(|path| path.file_name()));
    let mut names: Vec<&OsStr> = names.collect();
    names.sort_unstable();
    let is_snapshot = |name: &OsStr| name.as_bytes().starts_with(b"snapshot_");
    names.iter().all(|name| after.binary_search(name).is_ok())
        && after.iter().all(|name| !is_snapshot(name) || names.binary_search(name).is_ok())
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
    let none = CacheUse::default();
    let mut events = Events::default();
    for day in archive.dirs()? {
        let Ok(rel) = RelPath::parse_os(&day) else { continue };
        if let Some(dir) = archive.below(&rel)? {
            events.add(read(&dir, &none, None, LedgerLock::Free)?.events);
        }
    }
    Ok(events)
}
