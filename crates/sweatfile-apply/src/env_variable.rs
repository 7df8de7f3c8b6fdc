//! Variables: which names are valid, which ones make other programs run code, and the line of `.sweatshop-env` that
//! sets one. It is read as direnv's `dotenv` does, which follows `LINE` in go-dotenv (github.com/direnv/go-dotenv,
//! parse.go), with the value as a POSIX shell sees it.

use shopfloor_core::env::starts_programs;
use shopfloor_core::hash::Digest;

/// Whether every shell takes this as the name of a variable.
pub fn is_valid_name(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(word) && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// The note that is printed beside a variable that makes other programs run something.
pub fn danger_note(name: &str) -> Option<&'static str> {
    starts_programs(name).then_some("(changes what other programs run)")
}

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VarValue {
    /// This text.
    Text(String),
    /// The whole line, when only a shell can evaluate it (`A=$HOME/x`) or it is not UTF-8.
    Opaque(Vec<u8>),
}

/// The beginning of the name of a line that is no assignment. A part of the line's hash follows.
const UNKNOWN: &str = "line:";

/// The variable that a line sets. A line that is no assignment gets a name of its own, so that a person sees it.
pub fn read(line: &[u8]) -> (String, VarValue) {
    let opaque = || VarValue::Opaque(line.to_vec());
    match assignment(line.trim_ascii()) {
        Some((name, word)) => {
            let text = word_text(word).filter(|_| is_valid_name(name));
            (name.to_owned(), text.map_or_else(opaque, VarValue::Text))
        }
        None => (format!("{UNKNOWN}{}", &Digest::of(line).to_string()[..8]), opaque()),
    }
}

/// The value of the line of a variable, if direnv and a shell read the same; otherwise what is wrong with it.
pub fn common_value(line: &[u8]) -> Result<String, String> {
    let shell = || "only a shell can evaluate its value".to_owned();
    let (name, word) = assignment(line.trim_ascii()).filter(|(name, _)| is_valid_name(name)).ok_or_else(shell)?;
    match (word_text(word), direnv_text(word)) {
        (Some(text), Some(direnv)) if text == direnv => Ok(text),
        (None, _) if word.iter().any(|byte| matches!(byte, b'$' | b'`')) => Err(shell()),
        (Some(text), _) if text.contains('\n') || text.contains('\'') && text.contains(['$', '\\', '`']) => {
            Err("direnv and a shell read its value differently, however it is quoted".to_owned())
        }
        _ => Err(format!("direnv and a shell read its value differently; quote it: `{name}='...'`")),
    }
}

/// Splits `NAME=WORD`, `NAME = WORD` or `NAME: WORD`, with `export` or without it, into the name and the word.
fn assignment(line: &[u8]) -> Option<(&str, &[u8])> {
    let bare = line.strip_prefix(b"export").filter(|rest| rest.starts_with(b" ") || rest.starts_with(b"\t"));
    // The name itself may be `export`.
    bare.and_then(|rest| named_word(rest.trim_ascii_start())).or_else(|| named_word(line))
}

fn named_word(line: &[u8]) -> Option<(&str, &[u8])> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    let (name, rest) = line.split_at(line.iter().take_while(|byte| is_name(byte)).count());
    let is_blank = |rest: &&[u8]| rest.first().is_some_and(u8::is_ascii_whitespace);
    let word = rest.trim_ascii_start().strip_prefix(b"=").or_else(|| rest.strip_prefix(b":").filter(is_blank))?;
    let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
    // Without a blank before it, `#` begins no comment.
    Some((name, if word.trim_ascii_start().starts_with(b"#") { word } else { word.trim_ascii_start() }))
}

/// The text of a word as direnv reads it. None for what it refuses, and for a variable or an end of a line in it.
fn direnv_text(word: &[u8]) -> Option<String> {
    let word = std::str::from_utf8(word).ok()?.trim();
    // A quote ends at the last one behind which there is at most a comment.
    let quoted = |quote: char| {
        let inner = word.strip_prefix(quote)?;
        let is_end = |at: &usize| matches!(inner[at + 1..].trim_start().chars().next(), None | Some('#'));
        inner.rmatch_indices(quote).map(|(at, _)| at).find(is_end).map(|at| &inner[..at])
    };
    let text = match (quoted('\''), quoted('"')) {
        (Some(text), _) => return Some(text.to_owned()),
        // direnv makes a line's end and a carriage return of these.
        (_, Some(text)) if text.contains("\\n") || text.contains("\\r") => return None,
        (_, Some(text)) => {
            let mut escapes = false;
            let is_kept = |c: &char| {
                escapes = *c == '\\' && !escapes;
                !escapes
            };
            text.chars().filter(is_kept).collect()
        }
        _ => word.split('#').next().map(str::trim_end).filter(|text| !text.contains(char::is_whitespace))?.to_owned(),
    };
    (!text.contains('$')).then_some(text)
}

/// The text of a word, without evaluating anything. None for expansions, several words, and quotes that do not close.
fn word_text(word: &[u8]) -> Option<String> {
    let (mut text, mut quote, mut at) = (Vec::new(), None, 0);
    while let Some(&byte) = word.get(at) {
        at += 1;
        match (quote, byte) {
            (None, b' ' | b'\t') => {
                let rest = word[at..].trim_ascii_start();
                if !rest.is_empty() && !rest.starts_with(b"#") {
                    return None;
                }
                break;
            }
            (None, b'\'' | b'"') => quote = Some(byte),
            (Some(open), byte) if byte == open => quote = None,
            (None | Some(b'"'), b'\\') => {
                let escaped = *word.get(at)?;
                at += 1;
                match (quote, escaped) {
                    (Some(_), b'n') => text.push(b'\n'),
                    (Some(_), byte) if !matches!(byte, b'"' | b'$' | b'\\' | b'`') => text.extend([b'\\', byte]),
                    (_, byte) => text.push(byte),
                }
            }
            (None, b'~') if at == 1 => return None,
            (None, b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')') | (None | Some(b'"'), b'$' | b'`') => return None,
            (_, byte) => text.push(byte),
        }
    }
    String::from_utf8(text).ok().filter(|text| quote.is_none() && !text.contains('\0'))
}
