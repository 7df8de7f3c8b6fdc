//! What is remembered between runs, in git's private directory: parsed events, and that a ledger was in order.
//! Entries that are damaged, doubtful or of another version are read again; the output never depends on the cache.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, CacheFile, Stat};
use shopfloor_core::hash::Digest;

use crate::record::{EventRecord, RecordBytes};

/// The beginning of a pack. The number changes with the format of a pack and with the way events are read.
const MAGIC: &[u8] = concat!("ledger-synth events 4 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

/// Identifies a file by its name and [`Stat`]: if either changes, so does the key.
pub type FileKey = [u8; 16];

/// The key of a file.
pub fn key(name: &OsStr, stat: &Stat) -> FileKey {
    let whole = (name, stat.key());
    let halves = [hash(&whole), hash(&(whole, 1))].map(u64::to_le_bytes);
    let mut key = [0; 16];
    key.iter_mut().zip(halves.as_flattened()).for_each(|(to, from)| *to = *from);
    key
}

/// A file in a directory of events, not opened yet.
#[derive(Debug)]
pub struct ListedFile {
    pub name: OsString,
    /// None if the file is gone or is not a regular file.
    pub stat: Option<Stat>,
}

/// An event that was not in the cache, and can be added to it.
pub struct UncachedEvent {
    /// Its index among the events that were read.
    pub record: usize,
    pub key: FileKey,
}

/// Parsed events, each under the key of its file.
#[derive(Debug, Default)]
pub struct Pack {
    bytes: Arc<Vec<u8>>,
    /// The position of each entry.
    slots: HashMap<FileKey, Slot, BuildHasherDefault<KeyHasher>>,
    /// The length of all whole entries, in bytes.
    length: usize,
}

/// Takes the beginning of a key as its hash: a key is one already.
#[derive(Debug, Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.first_chunk().map_or(self.0, |first| u64::from_le_bytes(*first));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The position of its id, which the event follows.
    at: usize,
    end: usize,
}

/// The layout of an entry: a checksum of the rest, the length of the event, the key, the id, the event.
const LENGTH: usize = 8;
const KEY: usize = LENGTH + 4;
const ID: usize = KEY + 16;
const RECORD: usize = ID + 32;

impl Pack {
    /// Loads a pack. A pack that cannot be used counts as empty.
    pub fn load(path: &Path) -> Pack {
        let bytes = fs::read_own(path).ok().flatten().unwrap_or_default();
        if !bytes.starts_with(MAGIC) {
            return Pack::default();
        }
        let mut pack = Pack { bytes: Arc::new(bytes), slots: HashMap::default(), length: MAGIC.len() };
        while let Some((key, slot)) = pack.slot_at(pack.length) {
            pack.length = slot.end;
            pack.slots.insert(key, slot);
        }
        pack
    }

    fn slot_at(&self, start: usize) -> Option<(FileKey, Slot)> {
        let rest = self.bytes.get(start..)?;
        let head = rest.get(..RECORD)?;
        let length = u32::from_le_bytes(*head[LENGTH..].first_chunk()?);
        let end = RECORD.checked_add(usize::try_from(length).ok()?)?;
        let entry = rest.get(..end)?;
        let key = *head[KEY..].first_chunk()?;
        (entry[..LENGTH] == checksum(&entry[LENGTH..])).then_some((key, Slot { at: start + ID, end: start + end }))
    }

    /// The event in the file that has this key.
    pub fn get(&self, key: &FileKey) -> Option<EventRecord> {
        let Slot { at, end } = *self.slots.get(key)?;
        let record = at + (RECORD - ID);
        let id = Digest::from_bytes(&self.bytes[at..record]);
        Some(EventRecord { id, bytes: RecordBytes::Part(self.bytes.clone(), record..end) })
    }

    /// Adds the events that were not in the cache, or starts a new pack if most entries are unused; `hits` are in use.
    pub fn update(&self, path: &Path, records: &[EventRecord], fresh: &[UncachedEvent], hits: usize) -> Result<()> {
        let is_wasteful = self.slots.len() > 2 * hits + 64;
        if fresh.is_empty() && !is_wasteful {
            return Ok(());
        }
        if self.length == 0 || is_wasteful {
            let mut file = CacheFile::create(path)?;
            file.write(MAGIC)?;
            return write(file, records, fresh);
        }
        write(CacheFile::append(path, self.length as u64)?, records, fresh)
    }
}

fn write(mut file: CacheFile, records: &[EventRecord], fresh: &[UncachedEvent]) -> Result<()> {
    let mut entry = Vec::new();
    for fresh in fresh {
        let record = &records[fresh.record];
        let Ok(length) = u32::try_from(record.bytes.len()) else { continue };
        entry.clear();
        entry.extend_from_slice(&[0; LENGTH]);
        entry.extend_from_slice(&length.to_le_bytes());
        entry.extend_from_slice(&fresh.key);
        entry.extend_from_slice(record.id.as_bytes());
        entry.extend_from_slice(&record.bytes);
        let sum = checksum(&entry[LENGTH..]);
        entry[..LENGTH].copy_from_slice(&sum);
        file.write(&entry)?;
    }
    file.finish()
}

fn checksum(bytes: &[u8]) -> [u8; 8] {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish().to_le_bytes()
}

/// The fingerprint of a ledger: its listed events, `current.md`, and the options that decide its content. None while
/// a file may change without a new time.
pub fn print(listing: &[ListedFile], current: Option<&Stat>, options: &str, since: Timestamp) -> Option<Vec<u8>> {
    let current = current.filter(|stat| stat.is_settled(since))?;
    let mut sum: u64 = 0;
    for ListedFile { name, stat } in listing {
        let stat = stat.as_ref().filter(|stat| stat.is_settled(since))?;
        // A sum does not depend on the order of the listing.
        sum = sum.wrapping_add(hash(&(name, stat.key())));
    }
    let whole = (sum, listing.len(), current.key(), options, env!("CARGO_PKG_VERSION"));
    Some(format!("quiet 1 {:x} {:x}\n", hash(&whole), hash(&(&whole, 1))).into_bytes())
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The names of the two cache files of a ledger.
pub fn names(word: &str) -> (OsString, OsString) {
    (format!("{word}.events").into(), format!("{word}.quiet").into())
}
