//! Parsed events, each under the key of its file.

use std::hash::BuildHasherDefault;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, CacheFile};
use shopfloor_core::hash::Digest;

use super::{FileKey, KeyHasher, checksum};
use crate::record::{EventRecord, RecordBytes};

/// The beginning of a pack. The number changes with the format of a pack and with the way events are read.
const MAGIC: &[u8] = concat!("ledger-synth events 5 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

/// A pack that is loaded when it is needed.
#[derive(Debug, Default)]
pub struct LazyPack {
    path: Option<PathBuf>,
    pack: OnceLock<Pack>,
}

impl LazyPack {
    pub fn new(path: &Path) -> LazyPack {
        LazyPack { path: Some(path.to_path_buf()), pack: OnceLock::new() }
    }

    pub fn get(&self) -> &Pack {
        self.pack.get_or_init(|| self.path.as_deref().map(Pack::load).unwrap_or_default())
    }
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
        Some(EventRecord { id, bytes: RecordBytes::part(&self.bytes, record..end)? })
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
