//! Names of environment variables: which ones are valid, and which ones make other programs run code.

/// Whether every shell takes this as the name of a variable.
pub fn is_valid_name(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(word) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a value of this variable can become code in other programs.
pub fn is_dangerous(name: &str) -> bool {
    let exact = ["PATH", "BASH_ENV", "ENV", "NODE_OPTIONS", "RUSTC_WRAPPER", "IFS", "SHELL", "EDITOR", "PAGER"];
    let prefixes = ["LD_", "DYLD_", "GIT_", "PYTHON", "DIRENV_", "PERL5", "RUBY"];
    exact.contains(&name) || prefixes.iter().any(|p| name.starts_with(p))
}

/// The note that is printed beside a dangerous variable.
pub fn danger_note(name: &str) -> Option<&'static str> {
    is_dangerous(name).then_some("(changes what other programs run)")
}
