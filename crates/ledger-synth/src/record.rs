//! An event as it is kept, in memory and in the cache: its id, and its content.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use shopfloor_core::hash::Digest;

use crate::canonical;
use crate::encoding::{Decoder, Encoder};
use crate::entry::Entry;
use crate::event::LedgerEvent;
use crate::front::Meta;
use crate::section::Section;
use crate::source::Source;

/// An event as it is kept: the bytes of its id, which the encoded event follows.
#[derive(Clone, Debug)]
pub enum EventRecord {
    Own(Vec<u8>),
    /// A part of a buffer that many share, from the one position to the other.
    Part(Arc<Vec<u8>>, u32, u32),
}

/// The length of an id.
pub const ID: usize = 32;

impl EventRecord {
    pub fn new(event: &LedgerEvent<'_>) -> EventRecord {
        EventRecord::with_id(canonical::id(event), event)
    }

    /// The record of an event whose id is that of another form of it.
    pub fn with_id(id: Digest, event: &LedgerEvent<'_>) -> EventRecord {
        let mut out = Encoder::with_capacity(512);
        out.bytes.extend_from_slice(id.as_bytes());
        let meta = &event.meta;
        out.time(meta.ts);
        out.text(&meta.agent);
        out.maybe([&meta.branch, &meta.kind, &meta.reason, &meta.title].map(Option::as_deref));
        event.entries.iter().for_each(|entry| out.entry(entry));
        EventRecord::Own(out.bytes)
    }

    /// The record in a part of a buffer. None: it lies beyond the first 4 GiB.
    pub fn part(all: &Arc<Vec<u8>>, range: Range<usize>) -> Option<EventRecord> {
        let position = |at: usize| u32::try_from(at).ok();
        Some(EventRecord::Part(all.clone(), position(range.start)?, position(range.end)?))
    }

    pub fn bytes(&self) -> &[u8] {
        match self {
            EventRecord::Own(bytes) => bytes,
            EventRecord::Part(all, from, to) => all.get(*from as usize..*to as usize).unwrap_or_default(),
        }
    }

    pub fn id(&self) -> Digest {
        Digest::from_bytes(self.bytes().get(..ID).unwrap_or_default())
    }

    fn event(&self) -> Decoder<'_> {
        Decoder { bytes: self.bytes().get(ID..).unwrap_or_default() }
    }

    /// Decodes the event. None: the bytes are not those of an event.
    pub fn decode(&self) -> Option<LedgerEvent<'_>> {
        let mut from = self.event();
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
        let mut from = self.event();
        let (ts, agent) = (from.time()?, from.text()?);
        let [branch, _, _, title] = from.maybe()?;
        let entries = Entries(from);
        let now = || {
            entries.clone().find_map(|entry| match entry {
                Entry::Text { section, text } if section == Section::Now => Some(text),
                _ => None,
            })
        };
        Some((Source { id: self.id(), ts, agent, branch, topic: title.or_else(now) }, entries))
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
    let mut all = Vec::with_capacity(records.iter().map(|record| record.bytes().len()).sum());
    records.iter().for_each(|record| all.extend_from_slice(record.bytes()));
    let all = Arc::new(all);
    let mut from = 0;
    for record in records {
        let to = from + record.bytes().len();
        if let Some(part) = EventRecord::part(&all, from..to) {
            **record = part;
        }
        from = to;
    }
}
