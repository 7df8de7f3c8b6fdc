//! What is remembered between runs, in git's private directory: parsed events, and that a ledger was in order.
//! Whatever is damaged, of another version or in doubt is read again; the output never depends on it.

use std::collections::hash_map::DefaultHasher;
use std::ffi::{OsStr, OsString};
use std::hash::{Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, CacheFile, Stat};
use shopfloor_core::hash::Digest;

use crate::event::{Bytes, Record};
use crate::facts::directory::{Fresh, Listing};

/// What a pack begins with. A change of what is in it, or of how events are read, has another number.
const MAGIC: &[u8] = b"ledger-synth events 1\n";

/// Parsed events by name and [`Stat`], one behind the other.
#[derive(Debug, Default)]
pub struct Pack {
    bytes: Arc<Vec<u8>>,
    /// Where each entry is, by its name; of one name the last counts.
    slots: Vec<Slot>,
    /// How many of the bytes are whole entries.
    length: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    name: (usize, usize),
    /// The stat's key, then the id, then the record up to `end`.
    key: usize,
    end: usize,
}

/// An entry's head: a checksum of the rest, and how long name and record are.
const HEAD: usize = 8 + 4 + 4;
const KEY: usize = 60;
const ID: usize = 32;

impl Pack {
    /// Reads a pack; what cannot be used is as good as not there.
    pub fn load(path: &Path) -> Pack {
        let bytes = fs::read_own(path).ok().flatten().unwrap_or_default();
        let mut pack = Pack { bytes: Arc::new(bytes), ..Pack::default() };
        if !pack.bytes.starts_with(MAGIC) {
            return Pack::default();
        }
        pack.length = MAGIC.len();
        while let Some(slot) = pack.slot_at(pack.length) {
            pack.length = slot.end;
            pack.slots.push(slot);
        }
        let bytes = &pack.bytes;
        // Sorted by name, a later entry first.
        pack.slots
            .sort_unstable_by(|a, b| bytes[a.name.0..a.name.1].cmp(&bytes[b.name.0..b.name.1]).then(b.end.cmp(&a.end)));
        pack.slots.dedup_by(|a, b| bytes[a.name.0..a.name.1] == bytes[b.name.0..b.name.1]);
        pack
    }

    fn slot_at(&self, at: usize) -> Option<Slot> {
        let head = self.bytes.get(at..at + HEAD)?;
        let number = |from: usize| head[from..from + 4].iter().rev().fold(0, |n, b| n << 8 | usize::from(*b));
        let (name, data) = (number(8), number(12));
        let key = (at + HEAD).checked_add(name)?;
        let end = (key + KEY + ID).checked_add(data)?;
        let body = self.bytes.get(at + 8..end)?;
        (head[..8] == checksum(body)).then_some(Slot { name: (at + HEAD, key), key, end })
    }

    /// The event that a file of this name held when this was true of it.
    pub fn get(&self, name: &OsStr, stat: &Stat) -> Option<Record> {
        let at = self.slots.binary_search_by(|slot| self.bytes[slot.name.0..slot.name.1].cmp(name.as_bytes())).ok()?;
        let slot = &self.slots[at];
        let (id, data) = (slot.key + KEY, slot.key + KEY + ID);
        (self.bytes[slot.key..id] == stat.key()).then(|| Record {
            id: Digest::from_bytes(&self.bytes[id..data]),
            bytes: Bytes::Part(self.bytes.clone(), data..slot.end),
        })
    }

    /// Adds what was read anew, or writes it all again when most of it is of no use any more. Files that
    /// changed after `since`, or just before, may change once more without showing it: they are left out.
    pub fn update(
        &self,
        path: &Path,
        records: &[Record],
        fresh: &[Fresh],
        live: usize,
        since: Timestamp,
    ) -> Result<()> {
        let fresh: Vec<&Fresh> = fresh.iter().filter(|fresh| fresh.stat.is_settled(since)).collect();
        let kept = live.saturating_sub(fresh.len());
        let is_wasteful = self.slots.len() > 2 * kept + 64;
        if fresh.is_empty() && !is_wasteful {
            return Ok(());
        }
        if self.length == 0 || is_wasteful {
            let mut file = CacheFile::create(path)?;
            file.write(MAGIC)?;
            return write(file, records, &fresh);
        }
        write(CacheFile::append(path, self.length as u64)?, records, &fresh)
    }
}

fn write(mut file: CacheFile, records: &[Record], fresh: &[&Fresh]) -> Result<()> {
    let mut entry = Vec::new();
    for fresh in fresh {
        let (name, record) = (fresh.name.as_bytes(), &records[fresh.record]);
        let (Ok(name_length), Ok(length)) = (u32::try_from(name.len()), u32::try_from(record.bytes.len())) else {
            continue;
        };
        entry.clear();
        entry.extend_from_slice(&[0; 8]);
        entry.extend_from_slice(&name_length.to_le_bytes());
        entry.extend_from_slice(&length.to_le_bytes());
        entry.extend_from_slice(name);
        entry.extend_from_slice(&fresh.stat.key());
        entry.extend_from_slice(record.id.as_bytes());
        entry.extend_from_slice(&record.bytes);
        let sum = checksum(&entry[8..]);
        entry[..8].copy_from_slice(&sum);
        file.write(&entry)?;
    }
    file.finish()
}

fn checksum(bytes: &[u8]) -> [u8; 8] {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish().to_le_bytes()
}

/// The print of a ledger in which nothing was to be done: the events as listed, `current.md`, and what else
/// decides what it must hold. None while a change might still not show.
pub fn print(listing: &Listing, current: Option<&Stat>, options: &str, since: Timestamp) -> Option<Vec<u8>> {
    let current = current.filter(|stat| stat.is_settled(since))?;
    let mut sum: u64 = 0;
    for (name, stat) in listing.names.iter().zip(&listing.stats) {
        let stat = stat.as_ref().filter(|stat| stat.is_settled(since))?;
        // Directories list in any order: a sum over all does not depend on it.
        sum = sum.wrapping_add(hash(&(name, stat.key())));
    }
    let whole = (sum, listing.names.len(), current.key(), options, env!("CARGO_PKG_VERSION"));
    Some(format!("quiet 1 {:x} {:x}\n", hash(&whole), hash(&(&whole, 1))).into_bytes())
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The names of both files, for the ledger this word stands for.
pub fn names(word: &str) -> (OsString, OsString) {
    (format!("{word}.events").into(), format!("{word}.quiet").into())
}
