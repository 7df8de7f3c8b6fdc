//! Names of environment variables: which ones are valid, and which ones make other programs run code.

use shopfloor_core::env::starts_programs;

/// Whether every shell takes this as the name of a variable.
pub fn is_valid_name(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(word) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// The note that is printed beside a variable that makes other programs run something.
pub fn danger_note(name: &str) -> Option<&'static str> {
    starts_programs(name).then_some("(changes what other programs run)")
}
