//! An event as it is kept, in memory and in the cache: its id, and its content.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
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

/// An event as it is kept: the bytes of its id, which the encoded event follows, in a buffer that many share.
#[derive(Clone, Debug)]
pub struct EventRecord {
    all: Arc<Vec<u8>>,
    from: usize,
    to: usize,
}

/// The length of an id.
pub const ID: usize = 32;

impl PartialEq for EventRecord {
    fn eq(&self, other: &EventRecord) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for EventRecord {}

impl Hash for EventRecord {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

impl EventRecord {
    /// The record of one event.
    pub fn new(event: &LedgerEvent<'_>) -> EventRecord {
        EventRecord::of(event, event)
    }

    /// The record of one event, which was read as `first` at first.
    pub fn of(event: &LedgerEvent<'_>, first: &LedgerEvent<'_>) -> EventRecord {
        let mut records = RecordBuilder::default();
        let range = records.add(event, first);
        EventRecord::part(&records.finish(), range)
    }

    /// The record in a part of a buffer.
    pub fn part(all: &Arc<Vec<u8>>, Range { start, end }: Range<usize>) -> EventRecord {
        EventRecord { all: all.clone(), from: start, to: end }
    }

    pub fn bytes(&self) -> &[u8] {
        self.all.get(self.from..self.to).unwrap_or_default()
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

/// A buffer of records while events are added.
#[derive(Default)]
pub struct RecordBuilder {
    out: Encoder,
    /// Room for the canonical form of an event.
    form: Vec<u8>,
}

impl RecordBuilder {
    /// Adds the record of an event, and returns which part of the buffer it is. The id is that of `first`, the event as
    /// it was read at first.
    pub fn add(&mut self, event: &LedgerEvent<'_>, first: &LedgerEvent<'_>) -> Range<usize> {
        let RecordBuilder { out, form } = self;
        let from = out.bytes.len();
        out.bytes.extend_from_slice(canonical::id_with(first, form).as_bytes());
        let meta = &event.meta;
        out.time(meta.ts);
        out.text(&meta.agent);
        out.maybe([&meta.branch, &meta.kind, &meta.reason, &meta.title].map(Option::as_deref));
        event.entries.iter().for_each(|entry| out.entry(entry));
        from..out.bytes.len()
    }

    /// Adds the record of an event without the entries for which `wanted` is false. None: no entry is left.
    pub fn add_part(
        &mut self,
        record: &EventRecord,
        mut wanted: impl FnMut(&Entry<'_, &str>) -> bool,
    ) -> Option<Range<usize>> {
        let (_, mut entries) = record.parts()?;
        let out = &mut self.out.bytes;
        let from = out.len();
        out.extend_from_slice(record.bytes().strip_suffix(entries.0.bytes)?);
        let head = out.len();
        loop {
            let rest = entries.0.bytes;
            let Some(entry) = entries.next() else { break };
            if wanted(&entry) {
                out.extend_from_slice(&rest[..rest.len() - entries.0.bytes.len()]);
            }
        }
        if out.len() == head {
            out.truncate(from);
            return None;
        }
        Some(from..out.len())
    }

    pub fn finish(self) -> Arc<Vec<u8>> {
        // Of the right size, because a buffer that shrinks where it is leaves a gap behind it that nothing fits into.
        Arc::new(self.out.bytes.as_slice().to_vec())
    }
}
