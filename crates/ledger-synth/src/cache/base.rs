//! What many files said together at an earlier run: as long as all of them are there unchanged, only the others need to
//! be read and added.

use std::collections::BTreeSet;
use std::hash::BuildHasherDefault;
use std::path::Path;

use hashbrown::HashSet;
use shopfloor_core::error::Result;
use shopfloor_core::fs::{self, CacheFile};
use shopfloor_core::hash::Digest;

use super::{FileKey, KeyHasher, hash};
use crate::encoding::{Decoder, Encoder};
use crate::fold::{self, Fold};
use crate::join::Join;

/// The beginning of a base; a checksum is its end. The number changes with the format of a base and with the way events
/// are read and joined.
const MAGIC: &[u8] = concat!("ledger-synth join 5 ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

/// How many bytes are added to the checksum at a time.
const BLOCK: usize = 1 << 16;

/// An earlier join, and the files that it is of.
#[derive(Debug)]
pub struct Base {
    files: HashSet<FileKey, BuildHasherDefault<KeyHasher>>,
    pub folded: Vec<Digest>,
    pub snapshots: BTreeSet<Digest>,
    pub retracted: BTreeSet<Digest>,
    pub events: Fold,
}

impl Base {
    /// Loads a base. None: there is none that can be used.
    pub fn load(path: &Path) -> Option<Base> {
        let mut bytes = fs::read_no_follow(path).ok()??;
        let (body, sum) = bytes.strip_prefix(MAGIC)?.split_last_chunk()?;
        if body.chunks(BLOCK).fold(0, next_sum) != u64::from_le_bytes(*sum) {
            return None;
        }
        let mut from = Decoder { bytes: body };
        let mut files = HashSet::default();
        let count = from.number()?;
        files.reserve((count as usize).min(bytes.len() / size_of::<FileKey>()));
        for _ in 0..count {
            files.insert(*from.array()?);
        }
        let mut digests = || {
            let count = from.number()?;
            (0..count).map(|_| from.digest()).collect::<Option<Vec<Digest>>>()
        };
        let (folded, snapshots, retracted) = (digests()?, digests()?, digests()?);
        let (at, end) = (MAGIC.len() + body.len() - from.bytes.len(), MAGIC.len() + body.len());
        bytes.truncate(end);
        let (snapshots, retracted) = (snapshots.into_iter().collect(), retracted.into_iter().collect());
        Some(Base { files, folded, snapshots, retracted, events: Fold::at(bytes, at) })
    }

    /// How many files it is of.
    pub fn count(&self) -> usize {
        self.files.len()
    }

    pub fn has(&self, file: &FileKey) -> bool {
        self.files.contains(file)
    }

    /// Writes the join of these files, all of which are events or snapshots.
    pub fn write(path: &Path, files: &[FileKey], join: &Join<'_>) -> Result<()> {
        let mut head = Encoder::default();
        head.number(u32::try_from(files.len()).unwrap_or_default());
        head.bytes.extend_from_slice(files.as_flattened());
        let mut digests = |count: usize, all: &mut dyn Iterator<Item = &Digest>| {
            head.number(u32::try_from(count).unwrap_or_default());
            all.for_each(|digest| head.bytes.extend_from_slice(digest.as_bytes()));
        };
        digests(join.folded.len(), &mut join.folded.iter());
        digests(join.snapshots.len(), &mut join.snapshots.iter());
        digests(join.retracted.len(), &mut join.retracted.iter());
        let mut out = SummedFile { file: CacheFile::create(path)?, block: head.bytes, sum: 0 };
        out.file.write(MAGIC)?;
        fold::write(join, |piece| out.write(piece))?;
        out.finish()
    }
}

/// A cache file that ends with its checksum.
struct SummedFile {
    file: CacheFile,
    /// What is not written yet.
    block: Vec<u8>,
    sum: u64,
}

impl SummedFile {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.block.extend_from_slice(bytes);
        let whole = self.block.len() / BLOCK * BLOCK;
        for block in self.block[..whole].chunks(BLOCK) {
            self.sum = next_sum(self.sum, block);
            self.file.write(block)?;
        }
        self.block.drain(..whole);
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        if !self.block.is_empty() {
            self.sum = next_sum(self.sum, &self.block);
        }
        self.file.write(&self.block)?;
        self.file.write(&self.sum.to_le_bytes())?;
        self.file.finish()
    }
}

fn next_sum(sum: u64, block: &[u8]) -> u64 {
    hash(sum, &block)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_base_that_was_changed_or_cut_off_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("join");
        let join = Join { retracted: BTreeSet::from([Digest::of(b"a")]), ..Join::default() };
        Base::write(&path, &[[1; 16], [2; 16]], &join).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let base = Base::load(&path).unwrap();
        assert_eq!((base.count(), base.has(&[2; 16]), base.has(&[3; 16])), (2, true, false));
        assert_eq!(base.retracted, join.retracted);
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            fs::replace(&path, &changed, None).unwrap();
            assert!(Base::load(&path).is_none(), "byte {at}");
            fs::replace(&path, &whole[..at], None).unwrap();
            assert!(Base::load(&path).is_none(), "{at} bytes");
        }
    }

    proptest! {
        /// The checksum is no secret, so whoever can write the file can forge one.
        #[test]
        fn a_base_of_any_bytes_is_read_or_refused(start in any::<bool>(), rest in vec(any::<u8>(), 0..200)) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("join");
            // Four empty lists lead to the events.
            let lists: &[u8] = if start { &[0; 4] } else { &[] };
            let body = [lists, &rest[..]].concat();
            let sum = body.chunks(BLOCK).fold(0, next_sum).to_le_bytes();
            fs::replace(&path, &[MAGIC, &body[..], &sum[..]].concat(), None).unwrap();
            if let Some(base) = Base::load(&path) {
                prop_assert!(base.count() <= rest.len() && base.events.said().count() <= base.events.parts().count());
            }
        }
    }
}
