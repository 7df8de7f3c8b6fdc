//! What is remembered between runs, in git's private directory: parsed events, what they said together, and that a
//! ledger was in order. What is damaged, doubtful or of another version is read again; the output never depends on it.

mod base;
mod pack;

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::quality::FixedState;
use jiff::Timestamp;
use shopfloor_core::fs::Stat;

pub use base::Base;
pub use pack::{LazyPack, Pack, UncachedEvent};

/// Identifies a file by its name and [`Stat`]: if either changes, so does the key.
pub type FileKey = [u8; 16];

/// The key of a file.
pub fn key(name: &OsStr, stat: &Stat) -> FileKey {
    let whole = (name, stat.key());
    let halves = [hash(0, &whole), hash(1, &whole)].map(u64::to_le_bytes);
    let mut key = [0; 16];
    key.iter_mut().zip(halves.as_flattened()).for_each(|(to, from)| *to = *from);
    key
}

/// A file in a directory of events, not opened yet.
#[derive(Debug)]
pub struct ListedFile {
    pub name: OsString,
    /// None if nobody asked, if the file is gone, or if it is not a regular file.
    pub stat: Option<Stat>,
}

/// The fingerprint of a ledger: its listed events, `current.md`, and the options that decide its content. None while
/// a file may change without a new time.
pub fn print(listing: &[ListedFile], current: Option<&Stat>, options: &str, since: Timestamp) -> Option<Vec<u8>> {
    let current = current.filter(|stat| stat.is_settled(since))?;
    let mut sum: u64 = 0;
    for ListedFile { name, stat } in listing {
        let stat = stat.as_ref().filter(|stat| stat.is_settled(since))?;
        // A sum does not depend on the order of the listing.
        sum = sum.wrapping_add(hash(0, &(name, stat.key())));
    }
    let whole = (sum, listing.len(), current.key(), options, env!("CARGO_PKG_VERSION"));
    Some(format!("quiet 3 {:x} {:x}\n", hash(0, &whole), hash(1, &whole)).into_bytes())
}

/// One of two independent hashes.
fn hash(which: u64, value: &impl Hash) -> u64 {
    FixedState::with_seed(which).hash_one(value)
}

/// The checksum of a file that was written without waiting for the disk, so that a crash may leave anything in it.
fn checksum(bytes: &[u8]) -> [u8; 8] {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(bytes);
    hasher.finish().to_le_bytes()
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

/// The name of a cache file of a ledger.
pub fn name(word: &str, what: &str) -> OsString {
    format!("{word}.{what}").into()
}
