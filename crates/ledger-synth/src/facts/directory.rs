//! Reads a directory of events: lists it, looks its files up in the cache and opens the rest. Only regular files are
//! opened, and no link is followed.

use std::ffi::{OsStr, OsString};
use std::io::BufReader;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use hashbrown::HashSet;
use jiff::Timestamp;
use shopfloor_core::error::{At, Failure, Result};
use shopfloor_core::fs::{Bytes, Root, Stat};
use shopfloor_core::path::RelPath;
use shopfloor_core::proc::map_parallel;

use super::{EventFileContent, EventPath, Events};
use crate::cache::{self, Base, FileKey, LazyPack, ListedFile, Pack, UncachedEvent};
use crate::event::LedgerEvent;
use crate::event_file::{self, LIMIT, Malformed};
use crate::record::{EventRecord, RecordBuilder};
use crate::snapshot;

/// How often a directory is read again if it changes in the meantime.
const PATIENCE: usize = 1_000;

/// How often a changing directory is listed until two listings agree.
const STEADY: usize = 50;

/// How many files are read at a time.
const PART: usize = 4096;

/// How many events share a buffer.
const CHUNK: usize = 256;

/// The event files of a directory.
pub struct DirectoryListing {
    /// In no order.
    pub files: Vec<ListedFile>,
    /// The directory after it was listed.
    dir: Stat,
}

impl DirectoryListing {
    /// Whether the directory did not change while it was listed, which began after `since`.
    fn is_of_one_time(&self, since: Option<Timestamp>) -> bool {
        since.is_some_and(|since| self.dir.is_settled(since))
    }
}

/// How much is asked about each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingDetail {
    Names,
    /// What finds a file in the cache.
    Stats,
}

/// Lists the event files of a directory.
pub fn list(dir: &Root, detail: ListingDetail) -> Result<DirectoryListing> {
    listing(dir, dir.names(is_event_name)?, detail)
}

fn listing(dir: &Root, names: Vec<OsString>, detail: ListingDetail) -> Result<DirectoryListing> {
    let now = dir.stat()?;
    let files = match detail {
        ListingDetail::Names => names.into_iter().map(|name| ListedFile { name, stat: None }).collect(),
        ListingDetail::Stats => {
            let stats = dir.stats_of(&names)?;
            names.into_iter().zip(stats).map(|(name, stat)| ListedFile { name, stat }).collect()
        }
    };
    Ok(DirectoryListing { files, dir: now })
}

fn is_event_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    bytes.ends_with(b".md") && !bytes.starts_with(b".")
}

/// Parses the content of a file. Snapshots are checked later, together.
pub fn content(name: &OsStr, bytes: &[u8], records: &mut RecordBuilder) -> EventFileContent {
    if snapshot::is_one(name.as_bytes(), bytes) {
        return EventFileContent::Snapshot(Box::new(snapshot::parse(bytes)));
    }
    if bytes.len() > LIMIT {
        return EventFileContent::Malformed(Malformed::new(1, "larger than 1 MiB"));
    }
    let mut record = |text: &str| {
        let (event, first) = LedgerEvent::parse_forms(text)?;
        Ok(records.add(&event, first.as_ref().unwrap_or(&event)))
    };
    match event_file::decode(bytes).and_then(|text| record(&text)) {
        Ok(range) => EventFileContent::Event(range),
        Err(problem) => EventFileContent::Malformed(problem),
    }
}

/// Buffers that many files are loaded with.
#[derive(Default)]
struct Buffers {
    /// For the bytes of a file.
    bytes: Vec<u8>,
    records: RecordBuilder,
}

/// Loads a file in a run that began after `since`.
fn load(dir: &Root, name: &OsStr, since: Option<Timestamp>, buffers: &mut Buffers) -> Result<Loaded> {
    let Buffers { bytes, records } = buffers;
    let key = |stat: Stat| since.filter(|since| stat.is_settled(*since)).map(|_| cache::key(name, &stat));
    Ok(match dir.load(name, LIMIT, bytes)? {
        Bytes::Gone => Loaded::Gone,
        Bytes::Other => Loaded::Other,
        Bytes::Head(file, stat) if snapshot::is_one(name.as_bytes(), bytes) => {
            let size = usize::try_from(stat.size()).unwrap_or(usize::MAX);
            let read = snapshot::read(BufReader::new(file), size).at_path("read", || dir.path().join(name))?;
            Loaded::Read(EventFileContent::Snapshot(Box::new(read)), key(stat))
        }
        Bytes::Head(..) => Loaded::Read(EventFileContent::Malformed(Malformed::new(1, "larger than 1 MiB")), None),
        Bytes::All(stat) => Loaded::Read(content(name, bytes, records), key(stat)),
    })
}

/// The content of a directory of events.
#[derive(Default)]
pub struct DirectoryRead {
    /// What the base does not have.
    pub events: Events,
    /// Whether everything in the base is there.
    pub has_base: bool,
    /// Whether this is what the caller's listing names.
    pub of_first: bool,
    /// The events that can be added to the cache.
    pub fresh: Vec<UncachedEvent>,
    /// How many events were in the cache.
    pub hits: usize,
    /// The events and snapshots that can be remembered, those of the base included.
    pub settled: Vec<FileKey>,
    /// The events among `events` that may still change without a new time, and how many snapshots may.
    pub late: Vec<usize>,
    pub late_snapshots: usize,
    /// The files of events that are there but not among `events`.
    left_out: Vec<OsString>,
}

/// What earlier runs remembered of a directory, and since when this run can be remembered.
#[derive(Default)]
pub struct CacheUse {
    pub base: Option<Base>,
    pub pack: LazyPack,
    /// The events that the caller has from elsewhere. They are left out.
    pub known: HashSet<EventRecord>,
    pub since: Option<Timestamp>,
}

/// Whether the caller holds the ledger's lock, so that nothing is folded while it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerLock {
    Held,
    Free,
}

/// Reads a directory of events as it was at one time, even if files are removed or folded while it is read.
pub fn read(dir: &Root, cache: &CacheUse, first: Option<DirectoryListing>, lock: LedgerLock) -> Result<DirectoryRead> {
    let mut of_first = first.is_some();
    let mut listing = match first {
        Some(listing) => listing,
        None => list(dir, ListingDetail::Stats)?,
    };
    for attempt in 0..PATIENCE {
        // A single listing may miss both an event that appears and a snapshot that disappears; two listings that
        // agree have missed nothing. If writers never pause we go on without, because writers only add.
        if attempt < STEADY && !listing.is_of_one_time(cache.since) {
            let now = dir.names(is_event_name)?;
            // The order of a directory that does not change is the same.
            if !listing.files.iter().map(|listed| &listed.name).eq(&now) {
                listing = self::listing(dir, now, ListingDetail::Stats)?;
                of_first = false;
                continue;
            }
        }
        let read = read_listed(dir, cache, listing.files)?;
        let now = if read.is_some() && lock == LedgerLock::Held { None } else { Some(dir.names(is_event_name)?) };
        match (read, now) {
            (Some(read), None) => return Ok(DirectoryRead { of_first, ..read }),
            (Some(read), Some(now)) if read.is_unfolded(&now) => return Ok(DirectoryRead { of_first, ..read }),
            (_, now) => listing = self::listing(dir, now.unwrap_or_default(), ListingDetail::Stats)?,
        }
        of_first = false;
    }
    Err(Failure::failed(format!("{} changes faster than it can be read", dir.path().display()))
        .hint("wait for other commands to end and run the same command again"))
}

/// Reads the listed files. None: one of them is gone.
fn read_listed(dir: &Root, cache: &CacheUse, files: Vec<ListedFile>) -> Result<Option<DirectoryRead>> {
    let keys = map_parallel(&files, |file| file.stat.as_ref().map(|stat| cache::key(&file.name, stat)));
    let mut read = DirectoryRead::default();
    let base =
        cache.base.as_ref().filter(|base| keys.iter().flatten().filter(|key| base.has(key)).count() == base.count());
    // A snapshot is larger than any event.
    let event_size = |file: &ListedFile| file.stat.as_ref().map_or(0, |stat| stat.size().min(LIMIT as u64));
    let mut size = 0;
    let mut rest: Vec<(OsString, Option<FileKey>)> = Vec::with_capacity(files.len() - base.map_or(0, Base::count));
    for (file, key) in files.into_iter().zip(keys) {
        match key {
            Some(key) if base.is_some_and(|base| base.has(&key)) => {
                read.left_out.push(file.name);
                read.settled.push(key);
            }
            _ => {
                size += event_size(&file);
                rest.push((file.name, key));
            }
        }
    }
    read.has_base = base.is_some();
    // Few files are read again sooner than all events are loaded.
    let none = Pack::default();
    let pack = if read.has_base { &none } else { cache.pack.get(size) };
    read.events.records.reserve_exact(rest.len());
    // The bytes of all files at once would need much memory.
    for part in rest.chunks(PART) {
        let chunks: Vec<_> = part.chunks(CHUNK).collect();
        let loaded = map_parallel(&chunks, |chunk| load_chunk(dir, pack, cache.since, chunk));
        for (LoadedChunk { loaded, records }, files) in loaded.into_iter().zip(chunks) {
            // On this thread, because the allocator gives what another one allocated back to that one.
            let records = records.finish();
            for (loaded, (name, _)) in loaded.into_iter().zip(files) {
                let loaded = loaded?;
                let is_known = |record: EventRecord| cache.known.contains(&record);
                if !cache.known.is_empty() && loaded.record(&records).is_some_and(is_known) {
                    read.left_out.push(name.clone());
                } else if !read.take(EventPath { dir: dir.path(), name }, loaded, &records) {
                    return Ok(None);
                }
            }
        }
    }
    read.events.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    read.events.snapshots.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Some(read))
}

/// What loading a file came to.
enum Loaded {
    Cached(EventRecord, FileKey),
    /// With the key of a file that can be remembered.
    Read(EventFileContent, Option<FileKey>),
    Gone,
    /// It is no regular file.
    Other,
}

impl Loaded {
    /// The event, if it is one. `records` is the buffer of what was read.
    fn record(&self, records: &Arc<Vec<u8>>) -> Option<EventRecord> {
        match self {
            Loaded::Cached(record, _) => Some(record.clone()),
            Loaded::Read(EventFileContent::Event(range), _) => Some(EventRecord::part(records, range.clone())),
            Loaded::Read(..) | Loaded::Gone | Loaded::Other => None,
        }
    }
}

/// Some loaded files, and the buffer of their records.
struct LoadedChunk {
    loaded: Vec<Result<Loaded>>,
    records: RecordBuilder,
}

fn load_chunk(dir: &Root, pack: &Pack, since: Option<Timestamp>, files: &[(OsString, Option<FileKey>)]) -> LoadedChunk {
    let mut buffers = Buffers::default();
    let load = |(name, key): &(OsString, Option<FileKey>)| {
        let known = key.and_then(|key| Some(Loaded::Cached(pack.get(&key)?, key)));
        known.map_or_else(|| load(dir, name, since, &mut buffers), Ok)
    };
    LoadedChunk { loaded: files.iter().map(load).collect(), records: buffers.records }
}

impl DirectoryRead {
    /// Adds what a file holds, unless it is gone. `records` is the buffer of what was read.
    fn take(&mut self, file: EventPath<'_>, found: Loaded, records: &Arc<Vec<u8>>) -> bool {
        let at = self.events.records.len();
        let (key, content) = match found {
            Loaded::Gone => return false,
            Loaded::Other => return true,
            Loaded::Cached(record, key) => {
                self.hits += 1;
                self.settled.push(key);
                self.events.push(record, file);
                return true;
            }
            Loaded::Read(content, key) => (key, content),
        };
        match (&content, key) {
            (EventFileContent::Event(_), Some(key)) => self.fresh.push(UncachedEvent { record: at, key }),
            (EventFileContent::Event(_), None) => self.late.push(at),
            (EventFileContent::Snapshot(_), None) => self.late_snapshots += 1,
            (EventFileContent::Snapshot(_), Some(_)) | (EventFileContent::Malformed(_), _) => {}
        }
        if !matches!(content, EventFileContent::Malformed(_)) {
            self.settled.extend(key);
        }
        self.events.add_content(content, file, records);
        true
    }

    /// Whether nothing went until this listing and no snapshot came: a snapshot is there before what it stands for goes.
    fn is_unfolded(&self, after: &[OsString]) -> bool {
        let events = &self.events;
        let after: HashSet<&OsStr> = after.iter().map(OsString::as_os_str).collect();
        let other = events.snapshots.iter().map(|file| &file.path).chain(events.skipped.iter().map(|file| &file.path));
        let names = events.files.iter().map(|file| file.name).chain(other.filter_map(|path| path.file_name()));
        let names: HashSet<&OsStr> = names.chain(self.left_out.iter().map(OsString::as_os_str)).collect();
        let is_snapshot = |name: &OsStr| name.as_bytes().starts_with(b"snapshot_");
        names.is_subset(&after) && after.iter().all(|name| !is_snapshot(name) || names.contains(name))
    }
}

/// Files named one by one, in this order.
pub fn files(paths: &[PathBuf]) -> Result<Events> {
    let mut events = Events::default();
    for path in paths {
        let dir = Root::open(path.parent().unwrap_or(path))?;
        let Some(name) = path.file_name() else { continue };
        // Nothing else is opened: that would wake who writes to a pipe.
        let is_file = dir.stats_of(&[name.to_owned()])?.iter().any(Option::is_some);
        let mut buffers = Buffers::default();
        let loaded = if is_file { load(&dir, name, None, &mut buffers)? } else { Loaded::Other };
        let content = match loaded {
            Loaded::Read(content, _) => content,
            Loaded::Cached(..) | Loaded::Gone | Loaded::Other => {
                EventFileContent::Malformed(Malformed::new(1, "not a regular file"))
            }
        };
        events.add_content(content, EventPath::of(path), &buffers.records.finish());
    }
    Ok(events)
}

/// Passes on the events in `archive/`, a directory per day, in the order of their paths. They come in parts, because all
/// of them at once would need much memory.
pub fn each_archived(archive: &Root, mut pass_on: impl FnMut(Events) -> Result<()>) -> Result<()> {
    for day in archive.dirs()? {
        let Ok(rel) = RelPath::parse_os(&day) else { continue };
        let Some(dir) = archive.below(&rel)? else { continue };
        let mut names = dir.names(is_event_name)?;
        names.sort_unstable();
        let mut names = names.into_iter();
        while names.len() > 0 {
            pass_on(read_present(&dir, names.by_ref().take(PART).collect())?)?;
        }
    }
    Ok(())
}

/// Reads those of the named files that are not gone.
fn read_present(dir: &Root, mut names: Vec<OsString>) -> Result<Events> {
    let none = CacheUse::default();
    loop {
        let files = names.iter().map(|name| ListedFile { name: name.clone(), stat: None });
        if let Some(read) = read_listed(dir, &none, files.collect())? {
            return Ok(read.events);
        }
        let now: HashSet<OsString> = dir.names(is_event_name)?.into_iter().collect();
        names.retain(|name| now.contains(name));
    }
}
