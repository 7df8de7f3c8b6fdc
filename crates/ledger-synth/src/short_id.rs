//! Short ids: what people and agents type to name an event, a question or a decision.

use serde::{Serialize, Serializer};
use shopfloor_core::hash::Digest;

/// The letters of base 32 (RFC 4648), in lower case.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The first 40 bits of a hash in base 32. It depends on nothing but what is named, so joins do not change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShortId([u8; 8]);

impl ShortId {
    pub fn of_event(id: Digest) -> ShortId {
        ShortId::of(&id)
    }

    pub fn of_question(text: &str) -> ShortId {
        ShortId::of(&Digest::of(format!("question\0{text}").as_bytes()))
    }

    /// The id of what a section says under a key, whatever its value is: `decisions`, `lexer`.
    pub fn of_key(section: &str, key: &str) -> ShortId {
        ShortId::of(&Digest::of(format!("key\0{section}\0{key}").as_bytes()))
    }

    fn of(digest: &Digest) -> ShortId {
        let bits = digest.short() >> 24;
        let mut letters = [0; 8];
        for (at, letter) in (0..).zip(&mut letters) {
            *letter = LETTERS[(bits >> (35 - 5 * at) & 31) as usize];
        }
        ShortId(letters)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Whether any id can begin so.
    pub fn may_begin_with(prefix: &str) -> bool {
        let is_letter = |byte: u8| LETTERS.contains(&byte.to_ascii_lowercase());
        (1..=size_of::<ShortId>()).contains(&prefix.len()) && prefix.bytes().all(is_letter)
    }

    /// Whether this is the beginning of the id, in letters of either case.
    pub fn begins_with(&self, prefix: &str) -> bool {
        !prefix.is_empty() && self.0.get(..prefix.len()).is_some_and(|own| own.eq_ignore_ascii_case(prefix.as_bytes()))
    }
}

impl Serialize for ShortId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl std::fmt::Display for ShortId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_the_first_bits_of_the_hash() {
        let all = Digest::parse(&"ff".repeat(32)).unwrap();
        assert_eq!(ShortId::of_event(all).as_str(), "77777777");
        let one = Digest::parse(&format!("0000000001{}", "00".repeat(27))).unwrap();
        assert_eq!(ShortId::of_event(one).as_str(), "aaaaaaab");
        let id = ShortId::of_question("Drop Windows?");
        assert!(id.begins_with(&id.as_str()[..1]) && id.begins_with(&id.as_str().to_uppercase()));
        assert!(!id.begins_with("") && !id.begins_with("aaaaaaaaa"));
        assert_ne!(id, ShortId::of_key("question", "Drop Windows?"));
    }
}
