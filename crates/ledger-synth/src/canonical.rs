//! The canonical form of an event. The hash of the first form in which it was read is its id, however and wherever it
//! is written.

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::sync::Arc;

use shopfloor_core::hash::Digest;

use crate::entry::{Checkpoint, Entry};
use crate::event::LedgerEvent;
use crate::front::Meta;
use crate::instant::EventTime;

/// An event in its canonical form.
#[derive(Clone, Debug)]
pub struct CanonicalEvent {
    pub id: Digest,
    pub bytes: CanonicalBytes,
}

/// The bytes of an event: its own, or a part of a buffer that many share.
#[derive(Clone, Debug)]
pub enum CanonicalBytes {
    Own(Box<[u8]>),
    Part(Arc<Vec<u8>>, Range<usize>),
}

impl Deref for CanonicalBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            CanonicalBytes::Own(bytes) => bytes,
            CanonicalBytes::Part(all, range) => all.get(range.clone()).unwrap_or_default(),
        }
    }
}

impl CanonicalEvent {
    pub fn encode(event: &LedgerEvent<'_>) -> CanonicalEvent {
        let bytes = encode(event);
        CanonicalEvent { id: Digest::of(&bytes), bytes: CanonicalBytes::Own(bytes.into()) }
    }

    /// Decodes the event. None: the bytes are not a canonical form.
    pub fn decode(&self) -> Option<LedgerEvent<'_>> {
        decode(&self.bytes)
    }
}

/// Writes the length of each part before it, so that no two events share a form.
fn encode(event: &LedgerEvent<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    let text = |out: &mut Vec<u8>, text: &str| {
        // No text is longer than its file.
        out.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    };
    let maybe = |out: &mut Vec<u8>, value: Option<&str>| {
        out.push(u8::from(value.is_some()));
        if let Some(value) = value {
            text(out, value);
        }
    };
    let meta = &event.meta;
    out.extend_from_slice(&meta.ts.as_nanosecond().to_le_bytes());
    text(&mut out, &meta.agent);
    for value in [&meta.branch, &meta.kind, &meta.reason, &meta.title] {
        maybe(&mut out, value.as_deref());
    }
    for entry in &event.entries {
        match entry {
            Entry::Text { section, text: value } => {
                out.push(0);
                text(&mut out, section.as_str());
                text(&mut out, value);
            }
            Entry::Item { section, text: value } => {
                out.push(1);
                text(&mut out, section.as_str());
                text(&mut out, value);
            }
            Entry::Pair { section, key, value } => {
                out.push(2);
                text(&mut out, section.as_str());
                text(&mut out, key);
                maybe(&mut out, value.as_deref());
            }
            Entry::Checkpoint(checkpoint) => {
                out.push(3);
                for part in [&checkpoint.phase, &checkpoint.status, &checkpoint.updated, &checkpoint.more] {
                    text(&mut out, part);
                }
            }
        }
    }
    out
}

fn decode(bytes: &[u8]) -> Option<LedgerEvent<'_>> {
    let mut from = Decoder { bytes };
    let ts = i128::from_le_bytes(*from.array()?);
    let meta = Meta {
        ts: EventTime::from_nanosecond(ts)?,
        agent: from.text()?,
        branch: from.maybe()?,
        kind: from.maybe()?,
        reason: from.maybe()?,
        title: from.maybe()?,
    };
    let mut entries = Vec::new();
    while !from.bytes.is_empty() {
        entries.push(match from.array()? {
            [0] => Entry::Text { section: from.text()?.into(), text: from.text()? },
            [1] => Entry::Item { section: from.text()?.into(), text: from.text()? },
            [2] => Entry::Pair { section: from.text()?.into(), key: from.text()?, value: from.maybe()? },
            [3] => Entry::Checkpoint(Checkpoint {
                phase: from.text()?,
                status: from.text()?,
                updated: from.text()?,
                more: from.text()?,
            }),
            _ => return None,
        });
    }
    Some(LedgerEvent { meta, entries })
}

struct Decoder<'a> {
    bytes: &'a [u8],
}

impl<'a> Decoder<'a> {
    fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (array, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(array)
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        let length = u32::from_le_bytes(*self.array()?);
        let (text, rest) = self.bytes.split_at_checked(usize::try_from(length).ok()?)?;
        self.bytes = rest;
        std::str::from_utf8(text).ok().map(Cow::Borrowed)
    }

    fn maybe(&mut self) -> Option<Option<Cow<'a, str>>> {
        match self.array()? {
            [0] => Some(None),
            [1] => self.text().map(Some),
            _ => None,
        }
    }
}
