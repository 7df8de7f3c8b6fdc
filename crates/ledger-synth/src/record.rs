//! An event as it is kept, in memory and in the cache: its id, and its content in as few bytes as can be read at once.
//! The form may change at any time, with the number in the cache's first line. The canonical form, of which the id is
//! the hash, never does.

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::sync::Arc;

use shopfloor_core::hash::Digest;

use crate::canonical;
use crate::entry::{Checkpoint, Entry};
use crate::event::LedgerEvent;
use crate::front::Meta;
use crate::instant::EventTime;
use crate::section::{Section, SectionName};

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
    Part(Arc<Vec<u8>>, Range<usize>),
}

impl Deref for RecordBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            RecordBytes::Own(bytes) => bytes,
            RecordBytes::Part(all, range) => all.get(range.clone()).unwrap_or_default(),
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

const NANOS: i128 = 1_000_000_000;

/// The kinds of entries, in the lower bits of an entry's first byte. The bits above them are the number of its section,
/// or 0 if the name of the section follows.
const TEXT: u8 = 0;
const ITEM: u8 = 1;
const PAIR: u8 = 2;
const REMOVAL: u8 = 3;
const CHECKPOINT: u8 = 4;
const KIND_BITS: u32 = 3;

fn encode(event: &LedgerEvent<'_>) -> Vec<u8> {
    let mut out = Encoder(Vec::with_capacity(512));
    let meta = &event.meta;
    let at = meta.ts.as_nanosecond();
    // The years that a time may have need 39 bits of seconds.
    out.0.extend_from_slice(&i64::try_from(at.div_euclid(NANOS)).unwrap_or_default().to_le_bytes());
    out.number(u32::try_from(at.rem_euclid(NANOS)).unwrap_or_default());
    out.text(&meta.agent);
    let fields = [&meta.branch, &meta.kind, &meta.reason, &meta.title];
    let present = fields.iter().enumerate().map(|(bit, field)| u8::from(field.is_some()) << bit);
    out.0.push(present.sum());
    fields.into_iter().flatten().for_each(|field| out.text(field));
    for entry in &event.entries {
        match entry {
            Entry::Text { section, text } => {
                out.head(TEXT, section);
                out.text(text);
            }
            Entry::Item { section, text } => {
                out.head(ITEM, section);
                out.text(text);
            }
            Entry::Pair { section, key, value: Some(value) } => {
                out.head(PAIR, section);
                out.text(key);
                out.text(value);
            }
            Entry::Pair { section, key, value: None } => {
                out.head(REMOVAL, section);
                out.text(key);
            }
            Entry::Checkpoint(Checkpoint { phase, status, updated, more }) => {
                out.head(CHECKPOINT, &Section::Checkpoints.into());
                [phase, status, updated, more].into_iter().for_each(|part| out.text(part));
            }
        }
    }
    out.0
}

struct Encoder(Vec<u8>);

impl Encoder {
    fn head(&mut self, kind: u8, section: &SectionName<'_>) {
        let known = section.section().and_then(|known| Section::ALL.iter().position(|section| *section == known));
        let number = known.and_then(|at| u8::try_from(at + 1).ok()).unwrap_or_default();
        self.0.push(kind | (number << KIND_BITS));
        if number == 0 {
            self.text(section.as_str());
        }
    }

    fn text(&mut self, text: &str) {
        // No text is longer than its file.
        self.number(u32::try_from(text.len()).unwrap_or(u32::MAX));
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Seven bits in each byte, the lowest first; the eighth says that more follow.
    fn number(&mut self, mut number: u32) {
        while number >= 0x80 {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
    }
}

fn decode(bytes: &[u8]) -> Option<LedgerEvent<'_>> {
    let mut from = Decoder { bytes };
    let seconds = i64::from_le_bytes(*from.array()?);
    let ts = EventTime::from_nanosecond(i128::from(seconds) * NANOS + i128::from(from.number()?))?;
    let agent = from.text()?;
    let [present] = *from.array()?;
    let mut field = |bit: u8| if present & (1 << bit) == 0 { Some(None) } else { from.text().map(Some) };
    let meta = Meta { ts, agent, branch: field(0)?, kind: field(1)?, reason: field(2)?, title: field(3)? };
    let mut entries = Vec::new();
    while !from.bytes.is_empty() {
        entries.push(from.entry()?);
    }
    Some(LedgerEvent { meta, entries })
}

struct Decoder<'a> {
    bytes: &'a [u8],
}

impl<'a> Decoder<'a> {
    fn entry(&mut self) -> Option<Entry<'a>> {
        let [head] = *self.array()?;
        let section = match head >> KIND_BITS {
            0 => self.text()?.into(),
            number => SectionName::from(*Section::ALL.get(usize::from(number) - 1)?),
        };
        Some(match head & ((1 << KIND_BITS) - 1) {
            TEXT => Entry::Text { section, text: self.text()? },
            ITEM => Entry::Item { section, text: self.text()? },
            PAIR => Entry::Pair { section, key: self.text()?, value: Some(self.text()?) },
            REMOVAL => Entry::Pair { section, key: self.text()?, value: None },
            CHECKPOINT => Entry::Checkpoint(Checkpoint {
                phase: self.text()?,
                status: self.text()?,
                updated: self.text()?,
                more: self.text()?,
            }),
            _ => return None,
        })
    }

    fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (array, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(array)
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        let length = self.number()?;
        let (text, rest) = self.bytes.split_at_checked(usize::try_from(length).ok()?)?;
        self.bytes = rest;
        std::str::from_utf8(text).ok().map(Cow::Borrowed)
    }

    fn number(&mut self) -> Option<u32> {
        let mut number = 0;
        for shift in (0..u32::BITS).step_by(7) {
            let [byte] = *self.array()?;
            number |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}
