//! Slugs: names as people write them, in a form that fits a branch, a directory and a command line.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::hash::Digest;

/// The longest slug, in bytes.
pub const LONGEST: usize = 50;

/// What a name that is only symbols is called, before the hash that tells it from others.
const NAMELESS: &str = "agent";

/// The slug of a name: small letters and digits of any script, and single dashes. Latin letters lose their accents, and
/// everything else becomes a dash. A name of symbols alone is told by a hash; one of punctuation alone has no slug.
pub fn slug(name: &str) -> Option<String> {
    let mut slug = String::new();
    // Lower case first, because a small letter can have a decomposition that the large one lacks.
    for c in name.nfkd().flat_map(char::to_lowercase).nfkd().filter(|c| !is_invisible(*c)) {
        if is_combining_mark(c) {
            // In other scripts a mark makes another letter, or is its vowel.
            if slug.ends_with(|last: char| !last.is_ascii()) {
                slug.push(c);
            }
        } else if let Some(ascii) = in_ascii(c) {
            slug.push_str(ascii);
        } else if c.is_ascii_alphanumeric() || is_letter(c) {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug: String = slug.nfc().collect();
    let slug = cut(&slug, LONGEST);
    match slug.is_empty() {
        true => name.contains(is_symbol).then(|| format!("{NAMELESS}-{}", hash(name))),
        false => Some(slug.to_owned()),
    }
}

/// The slug in ASCII letters, digits and dashes, of at most `longest` bytes, for what takes no others. Where letters
/// are lost a hash takes their place, after `nameless` if nothing else is left.
pub fn ascii_slug(name: &str, longest: usize, nameless: &str) -> Option<String> {
    let slug = slug(name)?;
    if slug.is_ascii() {
        return Some(cut(&slug, longest).to_owned());
    }
    let hash = hash(&slug);
    let kept: String = slug.chars().map(|c| if c.is_ascii() { c } else { '-' }).collect();
    let kept: Vec<&str> = kept.split('-').filter(|part| !part.is_empty()).collect();
    let kept = kept.join("-");
    let kept = if kept.is_empty() { nameless } else { &kept };
    Some(format!("{}-{hash}", cut(kept, longest.saturating_sub(hash.len() + 1))))
}

/// At most this many bytes of a slug, which does not end in a dash.
pub fn cut(slug: &str, longest: usize) -> &str {
    let end = (0..=longest.min(slug.len())).rfind(|at| slug.is_char_boundary(*at)).unwrap_or(0);
    slug[..end].trim_end_matches('-')
}

/// Six digits that tell this name from others, however its accents are encoded.
fn hash(name: &str) -> String {
    let mut hash = Digest::of(name.nfc().collect::<String>().as_bytes()).to_string();
    hash.truncate(6);
    hash
}

/// Latin letters that have no decomposition, as they are usually written without their own form.
fn in_ascii(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ı' => "i",
        'ħ' => "h",
        'ŧ' => "t",
        _ => return None,
    })
}

/// Whether a character that is not ASCII is a letter or digit of its script. Letters in boxes are symbols.
fn is_letter(c: char) -> bool {
    !c.is_ascii() && c.is_alphanumeric() && !matches!(c, '\u{1f100}'..='\u{1f1ff}')
}

/// Whether a name could consist of this character: an emoji or another sign, but no punctuation, space or control.
fn is_symbol(c: char) -> bool {
    let is_punctuation = matches!(c, '\0'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{feff}');
    !is_punctuation && !is_invisible(c) && !is_combining_mark(c) && !c.is_whitespace()
}

/// Whether a character shows nothing: two names would look the same.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}')
        || matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_in_ascii_and_latin_become_ascii() {
        for (name, expected) in [
            ("Feature A", "feature-a"),
            ("feature/auth", "feature-auth"),
            ("café", "cafe"),
            ("cafe\u{301}", "cafe"),
            ("../../etc", "etc"),
            ("--x--y__z--", "x-y-z"),
            ("ﬁx №1", "fix-no1"),
            ("a\u{301}b", "ab"),
            ("\u{1b}[31mred", "31mred"),
            ("a\u{200b}b", "a-b"),
            ("\u{202e}abc", "abc"),
            ("straße", "strasse"),
            ("STRAẞE", "strasse"),
            ("Ærø", "aero"),
            ("Łódź", "lodz"),
            ("Đà Nẵng", "da-nang"),
            ("İstanbul", "istanbul"),
            ("ａｂｃ", "abc"),
        ] {
            assert_eq!(slug(name).as_deref(), Some(expected), "{name}");
        }
    }

    #[test]
    fn letters_of_every_script_are_kept() {
        for (name, expected) in [
            ("日本語", "日本語"),
            ("日本語 AI", "日本語-ai"),
            ("Привет", "привет"),
            ("мир 2", "мир-2"),
            ("Ελλάδα", "ελλάδα"),
            ("مرحبا", "مرحبا"),
            ("שלום", "שלום"),
            ("हिन्दी", "हिन्दी"),
            ("ไทย", "ไทย"),
            ("한국어", "한국어"),
            ("አማርኛ", "አማርኛ"),
            ("й", "й"),
            ("и\u{306}", "й"),
            ("👩‍💻 fix", "fix"),
        ] {
            assert_eq!(slug(name).as_deref(), Some(expected), "{name}");
        }
        // At most 50 bytes, and no half of a letter.
        assert_eq!(slug(&"日".repeat(200)), Some("日".repeat(16)));
    }

    #[test]
    fn a_name_of_symbols_has_a_hash_and_one_of_punctuation_nothing() {
        let of = |name: &str| slug(name).unwrap();
        assert!(of("😀").starts_with("agent-") && of("😀").len() == 12 && of("😀") != of("🚀"));
        for name in ["", "!!!", "..", "/", "\u{301}", "—", "\u{200b}", " "] {
            assert_eq!(slug(name), None, "{name}");
        }
    }

    #[test]
    fn a_slug_in_ascii_has_a_hash_where_letters_were_lost() {
        let of = |name: &str| ascii_slug(name, 32, "worker").unwrap();
        assert_eq!(of("Café 2"), "cafe-2");
        assert_eq!(of(&"x".repeat(200)), "x".repeat(32));
        assert!(of("привет").starts_with("worker-") && of("привет").len() == 13);
        assert!(of("мир 2").starts_with("2-") && of("мир 2") != of("日本 2"));
        assert_eq!(of("й"), of("и\u{306}"));
        assert_eq!(ascii_slug("!!!", 32, "worker"), None);
    }

    proptest! {
        #[test]
        fn a_slug_is_a_slug_of_itself(name in ".*") {
            if let Some(once) = slug(&name) {
                prop_assert!(once.len() <= LONGEST && !once.starts_with('-') && !once.ends_with('-'));
                let is_good = |c: char| c == '-' || c.is_alphanumeric() || is_combining_mark(c);
                prop_assert!(once.chars().all(is_good) && !once.contains(char::is_uppercase), "{once}");
                prop_assert_eq!(slug(&once), Some(once.clone()));
                let ascii = ascii_slug(&name, 32, "worker").unwrap();
                prop_assert!(ascii.is_ascii() && ascii.len() <= 32 && !ascii.starts_with('-'));
                prop_assert_eq!(slug(&ascii), Some(ascii.clone()));
            }
        }
    }
}
