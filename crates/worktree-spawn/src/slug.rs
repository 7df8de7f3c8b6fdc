//! Names as people and agents write them, the slugs made from them, and the names that git accepts for branches.

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::slug::{self, LONGEST};

/// The longest branch: git appends `.lock` to its last component, and file systems take 255 bytes.
pub const LONGEST_BRANCH: usize = 244;

/// The slug of a name. Exit 2 when nothing is left.
pub fn slug(name: &str) -> Result<String> {
    slug::slug(name).ok_or_else(|| {
        Failure::usage(format!("the name `{name}` has no letter or digit that a branch could be named by"))
            .hint("choose a name with letters or digits, such as `feature-a`")
    })
}

/// The slug with a number appended, within the longest length.
pub fn numbered(slug: &str, n: usize) -> String {
    let suffix = format!("-{n}");
    format!("{}{suffix}", slug::cut(slug, LONGEST.saturating_sub(suffix.len())))
}

/// Whether git accepts the name for a branch (git-check-ref-format(1)).
pub fn is_branch_name(name: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.ends_with(".lock");
    let is_bad = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    !name.starts_with('-')
        && name != "HEAD"
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
    fn a_name_without_letters_is_refused() {
        for name in ["", "!!!", "..", "/", "\u{301}"] {
            assert_eq!(slug(name).unwrap_err().exit.code(), 2, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_slug_names_a_branch_also_with_a_number(name in ".*") {
            if let Ok(once) = slug(&name) {
                prop_assert!(is_branch_name(&once) && !once.contains('.'));
                let second = numbered(&once, 12);
                prop_assert!(second.len() <= LONGEST && second != once);
                prop_assert_eq!(slug(&second).unwrap(), second.clone());
            }
        }
    }
}
