//! Parsed events, each under the key of its file.

use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, CacheFile};

use super::{FileKey, KeyHasher, checksum};
use crate::record::EventRecord;

/// The beginning of a pack. The number changes with the format of a pack and with the way events are read.
const MAGIC: &[u8] = concat!("ledger-synth events 9 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

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

    /// The pack, for events of so many bytes.
    pub fn get(&self, events: u64) -> &Pack {
        self.pack.get_or_init(|| self.path.as_deref().map(|path| Pack::load_for(path, events)).unwrap_or_default())
    }

    /// The pack, if somebody needed it.
    pub fn loaded(&self) -> Option<&Pack> {
        self.pack.get()
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
    /// Where each record begins and ends.
    slots: HashMap<FileKey, (usize, usize), BuildHasherDefault<KeyHasher>>,
    /// The length of all whole entries in the file, in bytes.
    length: usize,
    /// Whether it was not loaded, because most of its events are gone.
    is_outgrown: bool,
}

/// A pack is not loaded if it has many times more bytes than the events that it could save, and more than these.
const TIMES: u64 = 4;
const SMALL: u64 = 512 << 10;

/// How many entries may be unused in a small pack.
const FEW: usize = 64;

/// The layout of an entry: a checksum of the rest, the length of the record, the key, the record.
const LENGTH: usize = 8;
const KEY: usize = LENGTH + 4;
const RECORD: usize = KEY + 16;

/// An entry in the file.
struct PackEntry {
    key: FileKey,
    record: Range<usize>,
}

impl Pack {
    /// Loads a pack for events of so many bytes, unless it takes less time to read them.
    fn load_for(path: &Path, events: u64) -> Pack {
        let size = path.symlink_metadata().map_or(0, |meta| meta.len());
        match size > TIMES.saturating_mul(events).max(SMALL) {
            true => Pack { is_outgrown: true, ..Pack::default() },
            false => Pack::load(path),
        }
    }

    /// Loads a pack. A pack that cannot be used counts as empty.
    pub fn load(path: &Path) -> Pack {
        let mut bytes = fs::read_own(path).ok().flatten().unwrap_or_default();
        if !bytes.starts_with(MAGIC) {
            return Pack::default();
        }
        let (mut slots, mut length, mut kept) = (HashMap::default(), MAGIC.len(), 0);
        while let Some(PackEntry { key, record }) = entry_at(&bytes, length) {
            length = record.end;
            // Only the records are kept, because what is between them is much if there are a hundred thousand events.
            let to = kept + record.len();
            bytes.copy_within(record, kept);
            slots.insert(key, (kept, to));
            kept = to;
        }
        bytes.truncate(kept);
        bytes.shrink_to_fit();
        Pack { bytes: Arc::new(bytes), slots, length, is_outgrown: false }
    }

    /// The event in the file that has this key.
    pub fn get(&self, key: &FileKey) -> Option<EventRecord> {
        let (from, to) = *self.slots.get(key)?;
        Some(EventRecord::part(&self.bytes, from..to))
    }

    /// Adds the events that were not in the cache, or starts a new pack if most entries are unused; `hits` are in use.
    pub fn update(&self, path: &Path, records: &[EventRecord], fresh: &[UncachedEvent], hits: usize) -> Result<()> {
        let is_wasteful = self.is_outgrown || self.slots.len() > 2 * hits + FEW;
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

fn entry_at(bytes: &[u8], start: usize) -> Option<PackEntry> {
    let rest = bytes.get(start..)?;
    let length = u32::from_le_bytes(*rest.get(LENGTH..)?.first_chunk()?);
    let end = RECORD.checked_add(usize::try_from(length).ok()?)?;
    let entry = rest.get(..end)?;
    let key = *entry[KEY..].first_chunk()?;
    let record = start + RECORD..start + end;
    (entry[..LENGTH] == checksum(&entry[LENGTH..])).then_some(PackEntry { key, record })
}

fn write(mut file: CacheFile, records: &[EventRecord], fresh: &[UncachedEvent]) -> Result<()> {
    let mut entry = Vec::new();
    for fresh in fresh {
        let record = &records[fresh.record];
        let Ok(length) = u32::try_from(record.bytes().len()) else { continue };
        entry.clear();
        entry.extend_from_slice(&[0; LENGTH]);
        entry.extend_from_slice(&length.to_le_bytes());
        entry.extend_from_slice(&fresh.key);
        entry.extend_from_slice(record.bytes());
        let sum = checksum(&entry[LENGTH..]);
        entry[..LENGTH].copy_from_slice(&sum);
        file.write(&entry)?;
    }
    file.finish()
}
