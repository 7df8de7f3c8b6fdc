//! An event as it is kept, in memory and in the cache: its id, and its content.

use std::ops::{Deref, Range};
use std::sync::Arc;

use shopfloor_core::hash::Digest;

use crate::canonical;
use crate::encoding::{Decoder, Encoder};
use crate::event::LedgerEvent;
use crate::front::Meta;

/// An event as it is kept.
#[derive(Clone, Debug)]
pub struct EventRecord {
    pub id: Digest,
    pub bytes: RecordBytes,
}

/// The bytes of an event: its own, or a part of a buffer that many share.
#[derive(Clone, Debug)]
pub enum RecordBytes {
    Own(Box<[u8]>),
    /// From the one position to the other.
    Part(Arc<Vec<u8>>, u32, u32),
}

impl RecordBytes {
    /// A part of a buffer. None: it is too far behind.
    pub fn part(all: &Arc<Vec<u8>>, range: Range<usize>) -> Option<RecordBytes> {
        let position = |at: usize| u32::try_from(at).ok();
        Some(RecordBytes::Part(all.clone(), position(range.start)?, position(range.end)?))
    }
}

impl Deref for RecordBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            RecordBytes::Own(bytes) => bytes,
            RecordBytes::Part(all, from, to) => all.get(*from as usize..*to as usize).unwrap_or_default(),
        }
    }
}

impl EventRecord {
    pub fn new(event: &LedgerEvent<'_>) -> EventRecord {
        // Copied, because a buffer that shrinks where it is leaves a gap behind it that nothing fits into.
        let bytes = RecordBytes::Own(Box::from(&*encode(event)));
        EventRecord { id: canonical::id(event), bytes }
    }

    /// Decodes the event. None: the bytes are not those of an event.
    pub fn decode(&self) -> Option<LedgerEvent<'_>> {
        decode(&self.bytes)
    }
}

/// Moves the bytes of these events into one buffer.
pub fn share<'r>(records: impl Iterator<Item = &'r mut EventRecord>) {
    let mut all = Vec::new();
    let mut moved = Vec::new();
    for record in records {
        let from = all.len();
        all.extend_from_slice(&record.bytes);
        moved.push((record, from..all.len()));
    }
    // Copied, because a buffer that shrinks where it is leaves a gap behind it that nothing fits into.
    let all = Arc::new(all.as_slice().to_vec());
    for (record, range) in moved {
        if let Some(bytes) = RecordBytes::part(&all, range) {
            record.bytes = bytes;
        }
    }
}

fn encode(event: &LedgerEvent<'_>) -> Vec<u8> {
    let mut out = Encoder::default();
    let meta = &event.meta;
    out.time(meta.ts);
    out.text(&meta.agent);
    out.maybe([&meta.branch, &meta.kind, &meta.reason, &meta.title]);
    event.entries.iter().for_each(|entry| out.entry(entry));
    out.bytes
}

fn decode(bytes: &[u8]) -> Option<LedgerEvent<'_>> {
    let mut from = Decoder { bytes };
    let (ts, agent) = (from.time()?, from.text()?);
    let [branch, kind, reason, title] = from.maybe()?;
    let meta = Meta { ts, agent, branch, kind, reason, title };
    let mut entries = Vec::new();
    while !from.bytes.is_empty() {
        entries.push(from.entry()?);
    }
    Some(LedgerEvent { meta, entries })
}
