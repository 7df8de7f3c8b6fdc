//! Reads lines of `.sweatshop-env` as its readers do: a POSIX shell, and direnv's `dotenv`, which follows `LINE` in
//! go-dotenv (github.com/direnv/go-dotenv, parse.go).

use crate::variable;

pub fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == b'\n').next().unwrap_or_default()
}

/// The bytes after the first `length` bytes and the line end that follows them.
pub fn after(bytes: &[u8], length: usize) -> &[u8] {
    bytes.get(length + 1..).unwrap_or_default()
}

/// Splits lines as direnv does.
pub fn segments(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|b| matches!(b, b'\r' | b'\n')).filter(|segment| !segment.is_empty())
}

/// A line as direnv reads it: an assignment, nothing (`Some(None)`), or an error for which direnv refuses the whole
/// file (`None`). Variables such as `$X` are not expanded.
pub fn direnv(line: &[u8]) -> Option<Option<(&str, &str)>> {
    let line = std::str::from_utf8(line).ok()?.trim_matches(is_space);
    if line.is_empty() || line.starts_with('#') {
        return Some(None);
    }
    let bare =
        line.strip_prefix("export").filter(|rest| rest.starts_with(is_space)).map(|r| r.trim_start_matches(is_space));
    // The name itself may be `export`.
    bare.and_then(direnv_assignment).or_else(|| direnv_assignment(line)).map(Some)
}

fn direnv_assignment(line: &str) -> Option<(&str, &str)> {
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let value = match rest.trim_start_matches(is_space).strip_prefix('=') {
        Some(value) => value.trim_start_matches(is_space),
        None => rest.strip_prefix(':').filter(|value| value.starts_with(is_space))?.trim_start_matches(is_space),
    };
    let is_end = |rest: &str| {
        let rest = rest.trim_matches(is_space);
        rest.is_empty() || rest.starts_with('#')
    };
    for quote in ['\'', '"'] {
        // Ends at the last quote that is followed by nothing but a comment.
        let ends = value.strip_prefix(quote).into_iter().flat_map(|inner| inner.rmatch_indices(quote));
        if let Some((at, _)) = ends.into_iter().find(|(at, _)| is_end(&value[at + 2..])) {
            return Some((name, &value[1..=at])).filter(|_| !name.is_empty());
        }
    }
    let end = value.find(|c: char| is_space(c) || c == '#').unwrap_or(value.len());
    (!name.is_empty() && is_end(&value[end..])).then(|| (name, &value[..end]))
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

/// Splits `export NAME=WORD` or `NAME=WORD` into the name and the rest.
pub fn assignment(line: &[u8]) -> Option<(&str, &[u8])> {
    let line = line.trim_ascii_start();
    let line = match line.strip_prefix(b"export") {
        Some(rest) if rest.starts_with(b" ") || rest.starts_with(b"\t") => rest.trim_ascii_start(),
        _ => line,
    };
    let equals = line.iter().position(|b| *b == b'=')?;
    let name = std::str::from_utf8(&line[..equals]).ok().filter(|n| variable::is_valid_name(n))?;
    Some((name, &line[equals + 1..]))
}

/// A word as a shell reads it, and the length of the logical line that it begins.
pub struct ScannedWord {
    pub word: Word,
    pub length: usize,
}

pub enum Word {
    /// The text that a shell would see, without evaluating anything.
    Text(String),
    /// Expansions, several words, more than one line, not UTF-8.
    Other,
    /// A quote never closes.
    Open,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

/// Reads as a shell does, to the end of the logical line, which quotes and escaped line ends continue.
pub fn scan(bytes: &[u8]) -> ScannedWord {
    let (mut text, mut plain, mut quote, mut ended) = (Vec::new(), true, Quote::None, false);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        at += 1;
        match (quote, byte) {
            (Quote::None, b'\n') => {
                at -= 1;
                break;
            }
            (Quote::None, b' ' | b'\t') => ended = true,
            (Quote::None, b'#') if ended && matches!(bytes[at - 2], b' ' | b'\t') => {
                at += first_line(&bytes[at..]).len();
            }
            (Quote::None, _) if ended && plain => {
                plain = false;
                at -= 1;
            }
            (Quote::None, b'\'') => quote = Quote::Single,
            (Quote::None, b'"') => quote = Quote::Double,
            (Quote::Single, b'\'') | (Quote::Double, b'"') => quote = Quote::None,
            (Quote::None, b'\\') | (Quote::Double, b'\\') => {
                let last = next == Some(b'\n') && at + 1 == bytes.len();
                at += usize::from(next.is_some() && !last);
                match (quote, next) {
                    (_, None | Some(b'\n')) => plain = false,
                    (Quote::Double, Some(b'n')) => text.push(b'\n'),
                    (Quote::Double, Some(b)) if !matches!(b, b'"' | b'$' | b'\\' | b'`') => text.extend([b'\\', b]),
                    (_, Some(b)) => text.push(b),
                }
            }
            (Quote::None, b'~') if at == 1 => plain = false,
            (Quote::None, b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' | b'\r') => plain = false,
            (Quote::None | Quote::Double, b'$' | b'`') | (_, b'\n') => plain = false,
            (_, byte) => text.push(byte),
        }
    }
    let word = match String::from_utf8(text) {
        _ if quote != Quote::None => Word::Open,
        Ok(text) if plain && !text.contains('\0') => Word::Text(text),
        _ => Word::Other,
    };
    ScannedWord { word, length: at }
}
