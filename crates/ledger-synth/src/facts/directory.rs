//! A directory of events, read: listed, looked up in the cache, and what is new opened. Nothing but regular
//! files is opened, and no link is followed.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{Bytes, Root, Stat};
use shopfloor_core::proc::map_parallel;

use super::{Events, File, Skipped, SnapshotFile};
use crate::cache::{self, Key, Pack};
use crate::event::{self, Event, LIMIT, Malformed, Record};
use crate::snapshot;

/// How often a directory is read again that changes under our eyes.
const PATIENCE: usize = 1_000;

/// How often a directory that does not hold still is listed for two listings that agree.
const STEADY: usize = 50;

/// How many files are read before what they say is put away.
const PART: usize = 4096;

/// A file of a directory of events, unopened.
#[derive(Debug)]
pub struct Listed {
    pub name: OsString,
    /// None when it is gone by now, or no regular file.
    pub stat: Option<Stat>,
}

/// Lists the event files of a directory, in no order.
pub fn list(dir: &Root) -> Result<Vec<Listed>> {
    stated(dir, dir.names(is_event_name)?)
}

fn stated(dir: &Root, names: Vec<OsString>) -> Result<Vec<Listed>> {
    let stats = dir.stats_of(&names)?;
    Ok(names.into_iter().zip(stats).map(|(name, stat)| Listed { name, stat }).collect())
}

fn is_event_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    bytes.ends_with(b".md") && !bytes.starts_with(b".")
}

/// What one file came to.
pub enum Content {
    Event(Record),
    Snapshot(String),
    Malformed(Malformed),
}

/// A file's content, from its bytes. Snapshots are checked when all are read.
pub fn content(name: &OsStr, bytes: &[u8]) -> Content {
    if snapshot::is_one(name.as_bytes(), bytes) {
        let text = String::from_utf8_lossy(bytes);
        return Content::Snapshot(text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n"));
    }
    if bytes.len() > LIMIT {
        return Content::Malformed(Malformed::new(1, "larger than 1 MiB"));
    }
    match event::text(bytes).and_then(|text| Event::parse(&text).map(|event| Record::of(&event))) {
        Ok(record) => Content::Event(record),
        Err(problem) => Content::Malformed(problem),
    }
}

/// Reads one file; none when it is gone.
fn load(dir: &Root, name: &OsStr, stat: &Stat) -> Result<Option<Content>> {
    let size = usize::try_from(stat.size()).unwrap_or(usize::MAX);
    Ok(match dir.load(name, size, LIMIT)? {
        Bytes::Gone => None,
        Bytes::All(bytes) => Some(content(name, &bytes)),
        Bytes::Head(head) if snapshot::is_one(name.as_bytes(), &head) => match dir.load(name, size, usize::MAX >> 1)? {
            Bytes::All(bytes) | Bytes::Head(bytes) => Some(content(name, &bytes)),
            Bytes::Gone => None,
        },
        Bytes::Head(_) => Some(Content::Malformed(Malformed::new(1, "larger than 1 MiB"))),
    })
}

/// One event as it was read, for the cache.
pub struct Fresh {
    /// Its place in [`Events::records`].
    pub record: usize,
    pub key: Key,
    pub stat: Stat,
}

/// A directory, read.
#[derive(Default)]
pub struct Read {
    pub events: Events,
    /// What was not in the cache.
    pub fresh: Vec<Fresh>,
}

/// Reads a directory of events as it is at one time: nothing that goes away or is folded meanwhile makes it
/// something that never was.
pub fn read(dir: &Root, pack: &Pack, first: Option<Vec<Listed>>, is_locked: bool) -> Result<Read> {
    let mut listing = match first {
        Some(listing) => listing,
        None => list(dir)?,
    };
    for attempt in 0..PATIENCE {
        listing.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        // One look may miss both an event that comes and a snapshot that goes; two that agree have missed nothing.
        // Where writers never pause it has to do without: they only add.
        if attempt < STEADY {
            let mut now = dir.names(is_event_name)?;
            now.sort_unstable();
            if !listing.iter().map(|listed| &listed.name).eq(&now) {
                listing = stated(dir, now)?;
                continue;
            }
        }
        listing.retain(|listed| listed.stat.is_some());
        let mut read = Read::default();
        read.events.records.reserve_exact(listing.len());
        read.events.files.reserve_exact(listing.len());
        let place: Arc<Path> = dir.path().into();
        let mut is_whole = true;
        // A part at a time: what is read of all files at once is much.
        for part in listing.chunks(PART) {
            let loaded = map_parallel(part, |Listed { name, stat }| {
                let Some(stat) = stat else { return Ok(None) };
                match pack.get(&cache::key(name, stat)) {
                    Some(record) => Ok(Some(Found::Cached(record))),
                    None => load(dir, name, stat).map(|content| content.map(Found::Read)),
                }
            });
            for (listed, found) in part.iter().zip(loaded) {
                match (found?, listed.stat) {
                    (Some(found), Some(stat)) => {
                        read.take(File { dir: place.clone(), name: listed.name.as_os_str().into() }, stat, found);
                    }
                    _ => is_whole = false,
                }
            }
        }
        if is_whole && is_locked {
            return Ok(read);
        }
        let now = dir.names(is_event_name)?;
        if is_whole && is_unfolded(&listing, &now) {
            return Ok(read);
        }
        listing = stated(dir, now)?;
    }
    Err(Failure::failed(format!("{} changes faster than it can be read", dir.path().display()))
        .hint("wait for other commands to end and run it again"))
}

enum Found {
    Cached(Record),
    Read(Content),
}

impl Read {
    fn take(&mut self, file: File, stat: Stat, found: Found) {
        match found {
            Found::Cached(record) => self.events.push(record, file),
            Found::Read(Content::Event(record)) => {
                let key = cache::key(&file.name, &stat);
                self.fresh.push(Fresh { record: self.events.records.len(), key, stat });
                self.events.push(record, file);
            }
            Found::Read(Content::Snapshot(text)) => {
                self.events.snapshots.push(SnapshotFile { path: file.path(), text })
            }
            Found::Read(Content::Malformed(problem)) => {
                self.events.skipped.push(Skipped { path: file.path(), problem })
            }
        }
    }
}

/// Whether between two listings nothing went and no snapshot came: a snapshot is there before what it
/// stands for goes.
fn is_unfolded(before: &[Listed], after: &[OsString]) -> bool {
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
                let problem = Malformed::new(1, "no regular file");
                events.skipped.push(Skipped { path: path.clone(), problem });
            }
            Some(Content::Event(record)) => events.push(record, File::at(path)),
            Some(Content::Snapshot(text)) => events.snapshots.push(SnapshotFile { path: path.clone(), text }),
            Some(Content::Malformed(problem)) => events.skipped.push(Skipped { path: path.clone(), problem }),
        }
    }
    Ok(events)
}

/// The events in `archive/`, a directory per day: what was folded, as long as it is kept.
pub fn archived(archive: &Root) -> Result<Events> {
    let none = Pack::default();
    let mut events = Events::default();
    for day in archive.dirs()? {
        let Ok(rel) = shopfloor_core::path::RelPath::parse_os(&day) else { continue };
        if let Some(dir) = archive.below(&rel)? {
            events.add(read(&dir, &none, None, false)?.events);
        }
    }
    Ok(events)
}
