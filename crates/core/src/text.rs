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
    let name = name.to_lowercase();
    // A short name scores low even if only two of its letters are swapped.
    let is_slip = |k: &str| name.len() > 2 && strsim::osa_distance(&name, k) == 1;
    let score = |k: &str| strsim::jaro_winkler(&name, k).max(if is_slip(k) { 0.8 } else { 0.0 });
    let scored = known.iter().map(|k| (score(k), *k));
    scored.filter(|(score, _)| *score > 0.75).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, k)| k)
}

/// The question after a name that is not known, as the end of a message; empty if no known one is near.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    nearest(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// What a reader of a table complains of, with the nearest key in place of all keys where it does not know one.
pub fn of_unknown_key(complaint: &str) -> String {
    let quoted: Vec<&str> = complaint.split('`').skip(1).step_by(2).collect();
    let near = quoted.split_first().filter(|_| complaint.starts_with("unknown field"));
    match near.map(|(key, known)| (key, did_you_mean(key, known))) {
        Some((key, question)) if !question.is_empty() => format!("unknown setting `{key}`{question}"),
        _ => complaint.to_owned(),
    }
}

/// Whether a text is like one of these patterns, which blanks separate. One `*` in a pattern stands for anything.
pub fn is_like(text: &str, patterns: &str) -> bool {
    patterns.split_ascii_whitespace().any(|pattern| match pattern.split_once('*') {
        Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| rest.ends_with(tail)),
        None => text == pattern,
    })
}

/// A text in which a backslash stands before three octal digits, the letter of a control character, or what is meant
/// itself. So git writes names in quotes and, with digits alone, the kernel mount points.
pub(crate) fn unescaped(text: &[u8]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((first, after)) = rest.split_first() {
        let (byte, length) = match after {
            _ if *first != b'\\' => (*first, 1),
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                ((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'), 4)
            }
            [b'a', ..] => (7, 2),
            [b'b', ..] => (8, 2),
            [b't', ..] => (b'\t', 2),
            [b'n', ..] => (b'\n', 2),
            [b'v', ..] => (11, 2),
            [b'f', ..] => (12, 2),
            [b'r', ..] => (b'\r', 2),
            [other, ..] => (*other, 2),
            [] => (*first, 1),
        };
        bytes.push(byte);
        rest = &rest[length..];
    }
    bytes
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

/// A document of JSON in which such characters are escaped too: a terminal would obey some of them.
pub fn printable_json(document: &str) -> String {
    document.chars().fold(String::with_capacity(document.len()), |mut out, c| {
        match c {
            c if c.is_control() || is_invisible(c) => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
            }
            c => out.push(c),
        }
        out
    })
}

/// The same for the lines of a diff: line ends and tabs stay, and so do bytes that are not UTF-8, unless a terminal may
/// take them for control characters. On request colours stay that cannot hide a text: neither black, white, a background
/// nor concealed.
pub fn printable_lines(bytes: &[u8], keeps_colours: bool) -> Vec<u8> {
    let is_visible = |code: &str| {
        code.is_empty() || matches!(code.parse(), Ok(0..=4 | 7 | 9 | 21..=24 | 27 | 29 | 31..=36 | 39 | 49 | 91..=96))
    };
    let sets_colour = |rest: &str| {
        let codes = rest.strip_prefix('[').and_then(|rest| rest.split_once('m')).map(|(codes, _)| codes);
        let is_code = |codes: &&str| codes.chars().all(|c| c.is_ascii_digit() || c == ';');
        codes.filter(is_code).is_some_and(|codes| codes.split(';').all(is_visible))
    };
    let mut out = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for (at, c) in chunk.valid().char_indices() {
            let (part, rest) = chunk.valid()[at..].split_at(c.len_utf8());
            match c {
                '\n' | '\t' => out.push(part.as_bytes()[0]),
                '\r' if rest.starts_with('\n') || rest.starts_with("\x1b[m\n") => out.push(b'\r'),
                '\x1b' if keeps_colours && sets_colour(rest) => out.push(b'\x1b'),
                c if c.is_control() || is_invisible(c) => out.extend(printable(part).into_bytes()),
                _ => out.extend_from_slice(part.as_bytes()),
            }
        }
        for byte in chunk.invalid() {
            match byte {
                0x80..=0x9f => out.extend(format!("\\x{byte:x}").into_bytes()),
                byte => out.push(*byte),
            }
        }
    }
    out
}

/// Puts U+FFFD in place of each escape of half a character in a document of JSON. JavaScript writes one where a text was
/// cut between the halves, and no text of ours can hold it.
pub fn mend_half_characters(json: &mut [u8]) {
    let mut at = 0;
    while let Some(next) = json.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        at += next;
        at += match (escaped_unit(json, at), escaped_unit(json, at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                json[at..at + 6].copy_from_slice(b"\\ufffd");
                6
            }
            _ => 2,
        };
    }
}

/// The unit of UTF-16 whose escape is at this place of a document of JSON.
fn escaped_unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The text where tmux expands formats: each `#` twice. tmux itself leaves those before a `[` as they are.
pub fn escape_format(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('#') {
        let after = rest[at..].trim_start_matches('#');
        let marks = &rest[at..rest.len() - after.len()];
        out.extend([&rest[..at], marks, if after.starts_with('[') { "" } else { marks }]);
        rest = after;
    }
    out + rest
}

/// Bidirectional controls (Unicode UAX #9), line separators, and what a terminal shows as nothing at all
/// (Default_Ignorable_Code_Point of UAX #44, but for the selectors that make a sign an emoji).
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}' | '\u{ffa0}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// The word by which JSON names a value. Lines of text have the same.
pub fn word(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_value(value).ok();
    json.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
}

/// The JSON object with the keys of two, one after the other.
pub fn both(mut first: serde_json::Value, mut second: serde_json::Value) -> serde_json::Value {
    if let (Some(all), Some(more)) = (first.as_object_mut(), second.as_object_mut()) {
        all.append(more);
    }
    first
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
        assert_eq!(nearest("evn", &known), Some("env"));
        assert_eq!(nearest("zzz", &known), None);
    }

    #[test]
    fn printable_disarms_escapes_and_direction_marks() {
        assert_eq!(printable("a\x1b[2Jb\u{202e}c\nd é"), "a\\u{1b}[2Jb\\u{202e}c\\nd é");
    }

    #[test]
    fn printable_lines_keep_colours_line_ends_and_other_encodings() {
        let shown = |bytes: &[u8]| printable_lines(bytes, true);
        let coloured = "\x1b[32m+\x1b[m\x1b[32mé\t\x1b[m\r\x1b[m\n-x\r\n\x1b[1;96m";
        assert_eq!(shown(coloured.as_bytes()), coloured.as_bytes());
        assert_eq!(printable_lines(b"\x1b[32m+", false), b"\\u{1b}[32m+");
        // Concealed, black, and a background of its own colour.
        assert_eq!(shown(b"\x1b[8ma\x1b[30mb\x1b[32;42mc"), b"\\u{1b}[8ma\\u{1b}[30mb\\u{1b}[32;42mc");
        assert_eq!(shown("a\u{9b}2J\u{202e}b\rc\x07".as_bytes()), b"a\\u{9b}2J\\u{202e}b\\rc\\u{7}");
        assert_eq!(shown(b"\x1b]0;t\x1b[2J"), b"\\u{1b}]0;t\\u{1b}[2J");
        assert_eq!(shown(b"caf\xe9 \x9b2J\xc2"), b"caf\xe9 \\x9b2J\xc2");
    }

    #[test]
    fn halves_of_characters_are_mended_and_nothing_else() {
        for (json, mended) in [
            (r#""a \ud83d""#, "a \u{fffd}"),
            (r#""\uDE00\ud83d\ude00\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}\u{fffd}\u{1f600}"),
            (r#""\\ud83d \u00e9\n""#, "\\ud83d \u{e9}\n"),
        ] {
            let mut json = json.as_bytes().to_vec();
            mend_half_characters(&mut json);
            assert_eq!(serde_json::from_slice::<String>(&json).unwrap(), mended);
        }
        for cut in ["\\", "\\u", "\\ud8", "\\ud83d\\"] {
            mend_half_characters(&mut cut.as_bytes().to_vec());
        }
    }

    #[test]
    fn formats_of_tmux_are_escaped() {
        assert_eq!(escape_format("a#(b) ##c#"), "a##(b) ####c##");
        assert_eq!(escape_format("#[x] ##[y] #{z}"), "#[x] ##[y] ##{z}");
        assert_eq!(escape_format("plain"), "plain");
    }

    #[test]
    fn shell_words_paste_back() {
        assert_eq!(shell_word(Path::new("/a/b-c")), "/a/b-c");
        assert_eq!(shell_word(Path::new("/a b'c")), r"'/a b'\''c'");
    }
}
