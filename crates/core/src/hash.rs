//! SHA-256 digests as values: lower-case hex when shown, as everywhere in our formats.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;

use sha2::{Digest as _, Sha256};

/// A digest of bytes that come in pieces.
#[derive(Clone, Debug, Default)]
pub struct DigestBuilder(Sha256);

impl DigestBuilder {
    /// Adds a piece.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all pieces, one after the other.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// The digest of everything that is read, piece by piece, so that a file of any size needs little memory.
    pub fn of_stream(stream: &mut impl io::Read) -> io::Result<Digest> {
        let mut hasher = Sha256::new();
        let mut piece = [0; 1 << 14];
        loop {
            match stream.read(&mut piece) {
                Ok(0) => return Ok(Digest(hasher.finalize().into())),
                Ok(n) => hasher.update(&piece[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// The first eight bytes as a number, for choosing a place in a table.
    pub fn short(&self) -> u64 {
        self.0[..8].iter().fold(0, |n, b| n << 8 | u64::from(*b))
    }

    /// A random digest, to identify something.
    pub fn random() -> Digest {
        let seed = || RandomState::new().build_hasher().finish().to_le_bytes();
        Digest::of(&[seed(), seed(), seed(), seed()].concat())
    }

    /// Its 64 hex digits.
    pub fn hex(&self) -> [u8; 64] {
        // Manifests hold hundreds of digests, so they are not formatted byte by byte.
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 64];
        for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
        }
        text
    }

    /// Reads 64 hex digits.
    pub fn parse(hex: &str) -> Option<Digest> {
        let digit = |b: u8| char::from(b).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let mut bytes = [0; 32];
        let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
        if pairs.len() != bytes.len() || !rest.is_empty() {
            return None;
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Digest(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.hex()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl serde::Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Digest::parse(&text).ok_or_else(|| serde::de::Error::custom("not a SHA-256 in hex"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_sha256_and_reads_itself_back() {
        let digest = Digest::of(b"abc");
        assert_eq!(digest.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        assert_eq!(Digest::parse("xyz"), None);
    }
}
