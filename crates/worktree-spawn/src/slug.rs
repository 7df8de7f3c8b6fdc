//! Names as people and agents write them, the slugs made from them, and the names that git accepts for branches.

use shopfloor_core::error::{Failure, Result};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The longest slug, in bytes.
const LONGEST: usize = 50;

/// The longest branch: git appends `.lock` to its last component, and file systems take 255 bytes.
pub const LONGEST_BRANCH: usize = 244;

/// The slug of a name: ASCII letters, digits and single dashes. Accents are dropped and everything else becomes a dash.
/// Exit 2 when nothing is left.
pub fn slug(name: &str) -> Result<String> {
    let mut slug = String::new();
    for c in name.nfkd().filter(|c| !is_combining_mark(*c)) {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    slug.truncate(LONGEST);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() {
        return Err(Failure::usage(format!(
            "the name `{name}` has no letter or digit that a branch could be named by"
        ))
        .hint("choose a name with ASCII letters or digits, such as `feature-a`"));
    }
    Ok(slug.to_owned())
}

/// The slug with a number appended, within the longest length.
pub fn numbered(slug: &str, n: usize) -> String {
    let suffix = format!("-{n}");
    let stem = slug.get(..slug.len().min(LONGEST.saturating_sub(suffix.len()))).unwrap_or(slug);
    format!("{}{suffix}", stem.trim_end_matches('-'))
}

/// Whether git accepts the name for a branch (git-check-ref-format(1)).
pub fn is_branch_name(name: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.ends_with(".lock");
    let is_bad = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    !name.starts_with('-')
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(is_bad)
        && name.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_become_slugs() {
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
        ] {
            assert_eq!(slug(name).unwrap(), expected, "{name}");
        }
        for name in ["", "!!!", "..", "/", "日本", "\u{301}"] {
            assert_eq!(slug(name).unwrap_err().exit.code(), 2, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_slug_is_a_slug_of_itself(name in ".*") {
            if let Ok(once) = slug(&name) {
                prop_assert!(once.len() <= LONGEST && !once.starts_with('-') && !once.ends_with('-'));
                prop_assert!(once.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
                prop_assert_eq!(slug(&once).unwrap(), once.clone());
                let second = numbered(&once, 12);
                prop_assert!(second.len() <= LONGEST && second != once);
                prop_assert_eq!(slug(&second).unwrap(), second.clone());
            }
        }
    }
}
