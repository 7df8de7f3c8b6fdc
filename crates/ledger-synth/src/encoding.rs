//! A compact form of events, for memory and for the cache, which is read without unpacking. It may change at any time,
//! with the numbers in the first lines of the cache's files. The canonical form, of which the id of an event is the
//! hash, never does.

use shopfloor_core::hash::Digest;

use crate::entry::{Checkpoint, Entry};
use crate::instant::EventTime;
use crate::section::{Section, SectionName};

/// The kinds of entries, in the lower bits of an entry's first byte. The bits above them are the number of its section,
/// or 0 if the name of the section follows.
const TEXT: u8 = 0;
const ITEM: u8 = 1;
const PAIR: u8 = 2;
const REMOVAL: u8 = 3;
const CHECKPOINT: u8 = 4;
const KIND_BITS: u32 = 3;

/// Bytes that grow.
#[derive(Default)]
pub struct Encoder {
    pub bytes: Vec<u8>,
}

impl Encoder {
    pub fn entry<T: AsRef<str>>(&mut self, entry: &Entry<'_, T>) {
        match entry {
            Entry::Text { section, text } => {
                self.head(TEXT, section);
                self.text(text.as_ref());
            }
            Entry::Item { section, text } => {
                self.head(ITEM, section);
                self.text(text.as_ref());
            }
            Entry::Pair { section, key, value: Some(value) } => {
                self.head(PAIR, section);
                self.text(key.as_ref());
                self.text(value.as_ref());
            }
            Entry::Pair { section, key, value: None } => {
                self.head(REMOVAL, section);
                self.text(key.as_ref());
            }
            Entry::Checkpoint(Checkpoint { phase, status, updated, more }) => {
                self.head(CHECKPOINT, &Section::Checkpoints.into());
                [phase, status, updated, more].into_iter().for_each(|part| self.text(part.as_ref()));
            }
        }
    }

    fn head(&mut self, kind: u8, section: &SectionName<'_>) {
        let number = section.section().map_or(0, |known| 1 + known.position() as u8);
        self.bytes.push(kind | (number << KIND_BITS));
        if number == 0 {
            self.text(section.as_str());
        }
    }

    /// Texts that may be missing: which ones are there, then those.
    pub fn maybe<const N: usize>(&mut self, texts: [Option<&str>; N]) {
        let present = texts.iter().enumerate().map(|(bit, text)| u8::from(text.is_some()) << bit);
        self.bytes.push(present.sum());
        texts.into_iter().flatten().for_each(|text| self.text(text));
    }

    pub fn time(&mut self, at: EventTime) {
        let (year, fields, nanosecond) = at.fields();
        self.bytes.extend_from_slice(&year.to_le_bytes());
        self.bytes.extend(fields.map(i8::cast_unsigned));
        self.bytes.extend_from_slice(&nanosecond.to_le_bytes());
    }

    pub fn text(&mut self, text: &str) {
        // No text is longer than its file.
        self.number(u32::try_from(text.len()).unwrap_or(u32::MAX));
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Seven bits in each byte, the lowest first; the eighth says that more follow.
    pub fn number(&mut self, mut number: u32) {
        while number >= 0x80 {
            self.bytes.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.bytes.push(number.to_le_bytes()[0]);
    }
}

/// The bytes that are not decoded yet. Each method returns None if they are not what it expects.
#[derive(Clone)]
pub struct Decoder<'a> {
    pub bytes: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub fn entry<T: From<&'a str>>(&mut self) -> Option<Entry<'a, T>> {
        let [head] = *self.array()?;
        let section = match head >> KIND_BITS {
            0 => SectionName::from(self.text()?),
            number => SectionName::from(*Section::ALL.get(usize::from(number) - 1)?),
        };
        Some(match head & ((1 << KIND_BITS) - 1) {
            TEXT => Entry::Text { section, text: self.text()?.into() },
            ITEM => Entry::Item { section, text: self.text()?.into() },
            PAIR => Entry::Pair { section, key: self.text()?.into(), value: Some(self.text()?.into()) },
            REMOVAL => Entry::Pair { section, key: self.text()?.into(), value: None },
            CHECKPOINT => Entry::Checkpoint(Checkpoint {
                phase: self.text()?.into(),
                status: self.text()?.into(),
                updated: self.text()?.into(),
                more: self.text()?.into(),
            }),
            _ => return None,
        })
    }

    pub fn maybe<const N: usize>(&mut self) -> Option<[Option<&'a str>; N]> {
        let [present] = *self.array()?;
        let mut texts = [None; N];
        for (bit, text) in texts.iter_mut().enumerate() {
            if present & (1 << bit) != 0 {
                *text = Some(self.text()?);
            }
        }
        Some(texts)
    }

    pub fn time(&mut self) -> Option<EventTime> {
        let year = i16::from_le_bytes(*self.array()?);
        let fields: &[u8; 5] = self.array()?;
        EventTime::from_fields((year, fields.map(u8::cast_signed), i32::from_le_bytes(*self.array()?)))
    }

    pub fn digest(&mut self) -> Option<Digest> {
        self.array::<32>().map(|bytes| Digest::from_bytes(bytes))
    }

    pub fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (array, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(array)
    }

    pub fn text(&mut self) -> Option<&'a str> {
        let length = self.number()?;
        let (text, rest) = self.bytes.split_at_checked(usize::try_from(length).ok()?)?;
        self.bytes = rest;
        std::str::from_utf8(text).ok()
    }

    pub fn number(&mut self) -> Option<u32> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_texts_and_times_at_their_borders() {
        let borders = [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, 0x1f_ffff, 0x20_0000, 0xfff_ffff, 0x1000_0000, u32::MAX];
        let texts: Vec<String> = [0, 1, 0x7f, 0x80, 0x3fff, 0x4000].map(|length| "x".repeat(length)).to_vec();
        let times = [EventTime::MIN, EventTime::default(), EventTime::MAX];
        let mut out = Encoder::default();
        borders.iter().for_each(|number| out.number(*number));
        texts.iter().for_each(|text| out.text(text));
        times.iter().for_each(|at| out.time(*at));
        out.maybe([None, Some("a"), None, Some("")]);
        let mut from = Decoder { bytes: &out.bytes };
        assert_eq!(borders.map(|_| from.number()), borders.map(Some));
        for text in &texts {
            assert_eq!(from.text(), Some(text.as_str()));
        }
        assert_eq!(times.map(|_| from.time()), times.map(Some));
        assert_eq!(from.maybe(), Some([None, Some("a"), None, Some("")]));
        assert!(from.bytes.is_empty());
        // What ends too early is nothing.
        for end in 0..5 {
            assert_eq!(Decoder { bytes: &[0xff; 5][..end] }.number(), None);
        }
        assert_eq!(Decoder { bytes: &[2, b'x'] }.text(), None);
    }
}
