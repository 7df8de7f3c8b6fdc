//! An event as it is kept, in memory and in the cache: its id, and its content.

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::sync::Arc;

use shopfloor_core::hash::Digest;

use crate::canonical;
use crate::encoding::{Decoder, Encoder};
use crate::entry::Entry;
use crate::event::LedgerEvent;
use crate::front::Meta;
use crate::section::Section;
use crate::source::Source;

/// An event as it is kept.
#[derive(Clone, Debug)]
pub struct EventRecord {
    pub id: Digest,
    pub bytes: RecordBytes,
}

/// The bytes of an event: its own, or a part of a buffer that many share.
#[derive(Clone, Debug)]
pub enum RecordBytes {
    Own(Vec<u8>),
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
        EventRecord { id: canonical::id(event), bytes: RecordBytes::Own(encode(event)) }
    }

    /// Decodes the event. None: the bytes are not those of an event.
    pub fn decode(&self) -> Option<LedgerEvent<'_>> {
        let mut from = Decoder { bytes: &self.bytes };
        let (ts, agent) = (from.time()?, from.text()?.into());
        let [branch, kind, reason, title] = from.maybe()?.map(|text| text.map(Cow::Borrowed));
        let mut entries = Vec::new();
        while !from.bytes.is_empty() {
            entries.push(from.entry()?);
        }
        Some(LedgerEvent { meta: Meta { ts, agent, branch, kind, reason, title }, entries })
    }

    /// Decodes what the ledger says of the event, and the event's entries one by one.
    pub fn parts(&self) -> Option<(Source<'_>, Entries<'_>)> {
        let mut from = Decoder { bytes: &self.bytes };
        let (ts, agent) = (from.time()?, from.text()?);
        let [branch, _, _, title] = from.maybe()?;
        let entries = Entries(from);
        let now = || {
            entries.clone().find_map(|entry| match entry {
                Entry::Text { section, text } if section == Section::Now => Some(text),
                _ => None,
            })
        };
        Some((Source { id: self.id, ts, agent, branch, topic: title.or_else(now) }, entries))
    }
}

/// The entries of an event that are not decoded yet.
#[derive(Clone)]
pub struct Entries<'a>(Decoder<'a>);

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a, &'a str>;

    fn next(&mut self) -> Option<Entry<'a, &'a str>> {
        if self.0.bytes.is_empty() { None } else { self.0.entry() }
    }
}

/// Moves the bytes of these events into one buffer.
pub fn share(records: &mut [&mut EventRecord]) {
    // Of the right size, because a buffer that shrinks where it is leaves a gap behind it that nothing fits into.
    let mut all = Vec::with_capacity(records.iter().map(|record| record.bytes.len()).sum());
    records.iter().for_each(|record| all.extend_from_slice(&record.bytes));
    let all = Arc::new(all);
    let mut from = 0;
    for record in records {
        let to = from + record.bytes.len();
        if let Some(bytes) = RecordBytes::part(&all, from..to) {
            record.bytes = bytes;
        }
        from = to;
    }
}

fn encode(event: &LedgerEvent<'_>) -> Vec<u8> {
    let mut out = Encoder::with_capacity(512);
    let meta = &event.meta;
    out.time(meta.ts);
    out.text(&meta.agent);
    out.maybe([&meta.branch, &meta.kind, &meta.reason, &meta.title].map(Option::as_deref));
    event.entries.iter().for_each(|entry| out.entry(entry));
    out.bytes
}
