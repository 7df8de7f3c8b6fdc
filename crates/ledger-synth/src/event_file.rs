//! The file of an event: its text, and the frontmatter and body in it.

use std::fmt::Display;

use shopfloor_core::error::Failure;

/// The largest event, in bytes. Snapshots may be larger.
pub const LIMIT: usize = 1 << 20;

/// Why a whole file is skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Counted from 1.
    pub line: usize,
    pub why: String,
}

impl Malformed {
    pub fn new(line: usize, why: impl Into<String>) -> Malformed {
        Malformed { line, why: why.into() }
    }

    /// The failure of a command that needs this file.
    pub fn in_file(&self, file: impl Display) -> Failure {
        Failure::malformed(format!("{file}:{}: {}", self.line, self.why))
    }
}

/// The two parts of an event's file.
pub struct FileParts<'a> {
    pub front: &'a str,
    pub body: &'a str,
}

/// Decodes the text of a file, without byte order mark and carriage returns. It must be UTF-8 without NUL.
pub fn decode(bytes: &[u8]) -> Result<String, Malformed> {
    let line_of = |at: usize| 1 + bytes[..at].iter().filter(|b| **b == b'\n').count();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(e) => return Err(Malformed::new(line_of(e.valid_up_to()), "not UTF-8")),
    };
    if let Some(at) = text.find('\0') {
        return Err(Malformed::new(line_of(at + bytes.len() - text.len()), "a NUL byte"));
    }
    Ok(text.replace("\r\n", "\n"))
}

/// Splits a file at the end of its frontmatter, the first line that is only `---`.
pub fn split(text: &str) -> Result<FileParts<'_>, Malformed> {
    if text.trim().is_empty() {
        return Err(Malformed::new(1, "the file is empty"));
    }
    let blank = text.len() - text.trim_start_matches([' ', '\t', '\n']).len();
    let start = text[..blank].rfind('\n').map_or(0, |at| at + 1);
    let rest = &text[start..];
    let first = rest.split_terminator('\n').next().unwrap_or_default();
    if first.trim_end() != "---" {
        return Err(Malformed::new(1, "no frontmatter: the first line must be `---`"));
    }
    let front_at = (first.len() + 1).min(rest.len());
    let mut at = front_at;
    for line in rest[front_at..].split_terminator('\n') {
        let end = at + line.len() + 1;
        if line.starts_with("---") && line.trim_end() == "---" {
            return Ok(FileParts { front: &rest[front_at..at], body: rest.get(end..).unwrap_or_default() });
        }
        at = end;
    }
    Err(Malformed::new(1, "the frontmatter has no closing `---`"))
}

/// Refuses a file with git's conflict markers, because nothing in it is reliable.
pub fn refuse_conflict_markers(text: &str) -> Result<(), Malformed> {
    let is_marker = |line: &str| {
        let rest = line.strip_prefix("<<<<<<<").or(line.strip_prefix(">>>>>>>"));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    match text.split('\n').position(is_marker) {
        Some(at) => Err(Malformed::new(at + 1, "git's conflict markers: the conflict in this file is not resolved")),
        None => Ok(()),
    }
}
