//! Many events in one: their sources, and everything that they say together.

use shopfloor_core::hash::Digest;

use crate::encoding::{Decoder, Encoder};
use crate::entry::Entry;
use crate::join::Join;
use crate::source::Source;

/// The sources and the entries of many events, in few bytes.
#[derive(Clone, Debug, Default)]
pub struct Fold {
    bytes: Vec<u8>,
    /// Where the first part begins.
    from: usize,
}

/// A part of a fold.
pub enum FoldPart<'a> {
    Source(Source<'a>),
    /// What was said, and by which source of the fold.
    Entry(Entry<'a, &'a str>, u32),
}

const SOURCE: u8 = 0;
const ENTRY: u8 = 1;

impl Fold {
    /// A fold in these bytes, from this position on.
    pub fn at(bytes: Vec<u8>, from: usize) -> Fold {
        Fold { bytes, from }
    }

    /// Its parts, each source before what it says.
    pub fn parts(&self) -> impl Iterator<Item = FoldPart<'_>> {
        let mut from = Decoder { bytes: self.bytes.get(self.from..).unwrap_or_default() };
        // Cannot end too early, because we encoded the parts or compared their checksum.
        std::iter::from_fn(move || match from.array()? {
            [SOURCE] => source(&mut from).map(FoldPart::Source),
            [ENTRY] => Some(FoldPart::Entry(from.entry()?, from.number()?)),
            _ => None,
        })
    }

    pub fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        self.parts().filter_map(|part| match part {
            FoldPart::Source(source) => Some(source),
            FoldPart::Entry(..) => None,
        })
    }

    /// Everything that was said, each with the event that said it.
    pub fn said(&self) -> impl Iterator<Item = (Entry<'_, &str>, Digest)> {
        let mut ids = Vec::new();
        self.parts().filter_map(move |part| match part {
            FoldPart::Source(source) => {
                ids.push(source.id);
                None
            }
            FoldPart::Entry(entry, of) => Some((entry, *ids.get(of as usize)?)),
        })
    }
}

fn source<'a>(from: &mut Decoder<'a>) -> Option<Source<'a>> {
    let (id, ts, agent) = (from.digest()?, from.time()?, from.text()?);
    let [branch, topic] = from.maybe()?;
    Some(Source { id, ts, agent, branch, topic })
}

/// A fold while parts are added.
#[derive(Default)]
pub struct FoldBuilder {
    out: Encoder,
    sources: u32,
}

impl FoldBuilder {
    /// Room for about so many bytes, so that a large fold is not moved again and again while it grows. Room that is not
    /// used takes no memory.
    pub fn with_room(size: usize) -> FoldBuilder {
        const MOST: usize = 1 << 30;
        let mut builder = FoldBuilder::default();
        // Without the room it only takes more memory.
        let _ = builder.out.bytes.try_reserve_exact(size.min(MOST));
        builder
    }

    pub fn source(&mut self, source: &Source<'_>) {
        self.sources += 1;
        self.out.bytes.push(SOURCE);
        self.out.bytes.extend_from_slice(source.id.as_bytes());
        self.out.time(source.ts);
        self.out.text(source.agent);
        self.out.maybe([source.branch, source.topic]);
    }

    /// `of` is the number of the source that said it, among those that were added.
    pub fn entry<T: AsRef<str>>(&mut self, entry: &Entry<'_, T>, of: u32) {
        self.out.bytes.push(ENTRY);
        self.out.entry(entry);
        self.out.number(of);
    }

    /// How many sources were added.
    pub fn sources(&self) -> u32 {
        self.sources
    }

    pub fn finish(self) -> Fold {
        Fold { bytes: self.out.bytes, from: 0 }
    }
}

/// Passes the parts of a join on, in pieces.
pub fn write<E>(join: &Join<'_>, mut pass_on: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    const PIECE: usize = 1 << 16;
    let mut builder = FoldBuilder::default();
    let sources = join.sources.iter().map(|source| FoldPart::Source(*source));
    let entries = join.entries().map(|(entry, of)| FoldPart::Entry(entry, of));
    for part in sources.chain(entries) {
        match part {
            FoldPart::Source(source) => builder.source(&source),
            FoldPart::Entry(entry, of) => builder.entry(&entry, of),
        }
        if builder.out.bytes.len() >= PIECE {
            pass_on(&builder.out.bytes)?;
            builder.out.bytes.clear();
        }
    }
    pass_on(&builder.out.bytes)
}
