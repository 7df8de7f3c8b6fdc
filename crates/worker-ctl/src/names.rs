//! The names of workers and hosts.

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::slug::ascii_slug;

/// The longest name of a worker, in bytes.
pub const LONGEST_NAME: usize = 32;

/// Checks a worker's name, which becomes part of a branch, a directory and a tmux session.
pub fn checked_name(name: &str) -> Result<&str> {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    let is_good = name.len() <= LONGEST_NAME
        && name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name.chars().all(is_inner)
        && name != "all";
    if is_good {
        return Ok(name);
    }
    let slug = ascii_slug(name, LONGEST_NAME, "worker").filter(|slug| slug != "all");
    let tip = slug.map(|slug| format!(", such as `{slug}`")).unwrap_or_default();
    Err(Failure::usage(format!("`{name}` cannot be a worker's name")).hint(format!(
        "use 1 to {LONGEST_NAME} lower-case letters, digits, `_` and `-`, starting with a letter or digit{tip}"
    )))
}

/// The same for a host's name.
pub fn checked_host_name(name: &str) -> Result<&str> {
    checked_name(name).map_err(|failure| Failure { message: format!("`{name}` cannot be a host's name"), ..failure })
}

/// The name of a new worker: in other scripts than ours the slug of what was typed, since branches, sessions and
/// addresses all have it.
pub fn new_name(typed: &str) -> Result<String> {
    let slug = ascii_slug(typed, LONGEST_NAME, "worker").filter(|_| !typed.is_ascii());
    checked_name(slug.as_deref().unwrap_or(typed)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_lower_case_and_safe_in_a_path() {
        for good in ["adam", "a", "0x", "a_b-c", &"x".repeat(32)] {
            assert!(checked_name(good).is_ok(), "{good}");
        }
        for bad in ["../x", "-a", "a.b", "a:b", "", &"x".repeat(200), "HEAD", "Adam", "all", "ä", "a b"] {
            assert_eq!(checked_name(bad).unwrap_err().exit.code(), 2, "{bad}");
        }
    }
}
