//! Small things about text that all tools say the same way: positions in a file, the nearest known
//! name, a word for a shell, a name made safe for a terminal.

use std::fmt;
use std::path::Path;

/// A place in a text file, both counted from 1; the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// The position of byte `offset` of `text`.
    pub fn of(text: &str, offset: usize) -> Position {
        let mut end = offset.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        Position { line: 1 + before.matches('\n').count(), column: 1 + before[line_start..].chars().count() }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The known name a misspelt one most likely meant, if any is near.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let scored = known.iter().map(|k| (strsim::jaro_winkler(&name.to_lowercase(), k), *k));
    scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, k)| k)
}

/// A path as one word of a command line that can be pasted into `sh`.
pub fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The text with control and bidirectional characters, which a terminal would obey or be fooled by,
/// written as escapes. One line stays one line.
pub fn printable(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || is_invisible(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
        out
    })
}

/// Bidirectional controls (Unicode UAX #9), zero-width characters and line separators.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Reads a value from a string as it stands in the input, which is not copied first.
pub(crate) struct Parsed<F> {
    pub parse: F,
    pub what: &'static str,
}

impl<T, F: Fn(&str) -> Result<T, String>> serde::de::Visitor<'_> for Parsed<F> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.what)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        assert_eq!(Position::of("ab\ncd", 0).to_string(), "1:1");
        assert_eq!(Position::of("ab\ncd", 4).to_string(), "2:2");
        assert_eq!(Position::of("é=1", 2).to_string(), "1:2");
        assert_eq!(Position::of("é", 1).to_string(), "1:1");
        assert_eq!(Position::of("a", 99).to_string(), "1:2");
    }

    #[test]
    fn nearest_finds_typos_and_nothing_else() {
        let known = ["git_excludes", "setup", "env", "files"];
        assert_eq!(nearest("git_exclude", &known), Some("git_excludes"));
        assert_eq!(nearest("Setpu", &known), Some("setup"));
        assert_eq!(nearest("zzz", &known), None);
    }

    #[test]
    fn printable_disarms_escapes_and_direction_marks() {
        assert_eq!(printable("a\x1b[2Jb\u{202e}c\nd é"), "a\\u{1b}[2Jb\\u{202e}c\\nd é");
    }

    #[test]
    fn shell_words_paste_back() {
        assert_eq!(shell_word(Path::new("/a/b-c")), "/a/b-c");
        assert_eq!(shell_word(Path::new("/a b'c")), r"'/a b'\''c'");
    }
}
