//! Values as agents write them: verbatim, unless the whole value is a quoted scalar, a block or a flow collection. If
//! strict YAML reads a string without ` #`, we read the same string.

use std::borrow::Cow;

use serde_yaml::Value;

/// Longer or deeper flow collections are read as text, because parsing costs the square of their nesting.
const FLOW_LIMIT: usize = 16 << 10;
const FLOW_DEPTH: usize = 64;

/// The text of a value: the text after its marker or key, and the lines that continue it.
pub fn text(first: &str, rest: &[&str]) -> String {
    let first = trim(first);
    match first.as_bytes().first() {
        Some(b'|' | b'>') if is_block_header(first) && !rest.is_empty() => Some(block(first, rest)),
        Some(b'"' | b'\'') => quoted(first, rest),
        _ => None,
    }
    .unwrap_or_else(|| joined(first, rest))
}

/// Whether a plain value is YAML's null.
pub fn is_null(first: &str, rest: &[&str]) -> bool {
    rest.is_empty() && matches!(trim(first), "~" | "null" | "Null" | "NULL")
}

/// Parses a value that is one flow collection, as YAML does.
pub fn flow(first: &str, rest: &[&str]) -> Option<Value> {
    let first = trim(first);
    let close = match first.as_bytes().first()? {
        b'[' => ']',
        b'{' => '}',
        _ => return None,
    };
    let whole = if rest.is_empty() { Cow::Borrowed(first) } else { format!("{first}\n{}", rest.join("\n")).into() };
    let nests = whole.bytes().filter(|b| matches!(b, b'[' | b'{')).count();
    let is_flow = whole.trim_end().ends_with(close);
    // A comment would be lost, and an alias can repeat a text many times.
    let is_more = whole.contains(" #") || whole.contains("\t#") || has_anchor(&whole);
    if !is_flow || is_more || whole.len() > FLOW_LIMIT || nests > FLOW_DEPTH {
        return None;
    }
    let value: Value = serde_yaml::from_str(&literal(&whole)).ok()?;
    matches!(value, Value::Sequence(_) | Value::Mapping(_)).then_some(value)
}

/// The value in a line of YAML, behind the marks of lists and the key.
pub fn value_of(line: &str) -> &str {
    let mut value = trim(line);
    while let Some(rest) = value.strip_prefix("- ") {
        value = trim(rest);
    }
    match pair(value) {
        Some((key, after)) if !key.contains(" #") => after,
        _ => value,
    }
}

/// A value as YAML that keeps its words: a number or a truth that YAML would spell in another way, and ` #12`, which
/// YAML takes for a comment.
pub fn as_written(value: &str) -> Cow<'_, str> {
    if value.starts_with(['[', '{']) {
        return literal(value).into();
    }
    let is_marked = value.starts_with(['"', '\'', '|', '>', '&', '*', '!', '%', '@', '`', '#']);
    if !is_marked && (value.contains(" #") || value.contains("\t#") || is_spelt_anew(value)) {
        return format!("'{}'", value.replace('\'', "''")).into();
    }
    value.into()
}

/// Whether YAML reads a word as a number or a truth.
fn is_spelt_anew(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && matches!(serde_yaml::from_str(word), Ok(Value::Number(_) | Value::Bool(_)))
}

/// Quotes the words of a flow collection that YAML would read as numbers or booleans and so spell differently:
/// `3.10`.
fn literal(flow: &str) -> String {
    let (mut out, mut at) = (String::with_capacity(flow.len() + 16), 0);
    while let Some(c) = flow[at..].chars().next() {
        let rest = &flow[at..];
        let length = match c {
            '"' | '\'' => closing_quote(rest).map_or(rest.len(), |end| end + 1),
            '[' | ']' | '{' | '}' | ',' | ' ' | '\t' | '\n' | ':' => 1,
            _ => {
                let ends = |(i, c): (usize, char)| {
                    let is_end = matches!(c, '[' | ']' | '{' | '}' | ',' | '\n')
                        || (c == ':' && rest[i + 1..].starts_with([' ', ',', ']', '}', '\n', '\t']));
                    is_end.then_some(i)
                };
                rest.char_indices().find_map(ends).unwrap_or(rest.len())
            }
        };
        let word = &rest[..length];
        let bare = word.trim_end();
        if is_spelt_anew(bare) {
            out.push_str(&format!("'{bare}'{}", &word[bare.len()..]));
        } else {
            out.push_str(word);
        }
        at += length;
    }
    out
}

/// Whether something in a flow collection looks like YAML's `&anchor` or `*alias`.
fn has_anchor(flow: &str) -> bool {
    let bytes = flow.as_bytes();
    let is_mark =
        |at: usize| matches!(bytes[at], b'&' | b'*') && bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
    (1..bytes.len()).any(|at| is_mark(at) && matches!(bytes[at - 1], b' ' | b'\t' | b'\n' | b'[' | b'{' | b',' | b':'))
}

/// A YAML value as the text a person would have written.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => n.to_string(),
        Value::String(s) => s.clone(),
        other => serde_yaml::to_string(other).unwrap_or_default().trim_end().to_owned(),
    }
}

/// `key: value` or `key:`; the key may be quoted.
pub fn pair(line: &str) -> Option<(Cow<'_, str>, &str)> {
    let line = trim(line);
    if line.starts_with(['"', '\'']) {
        let end = closing_quote(line)?;
        let rest = line[end + 1..].trim_start().strip_prefix(':')?;
        let is_pair = rest.is_empty() || rest.starts_with([' ', '\t']);
        return Some((quoted(&line[..=end], &[])?.into(), trim(rest))).filter(|_| is_pair);
    }
    let is_end = |at: &usize| line.as_bytes().get(at + 1).is_none_or(|next| matches!(next, b' ' | b'\t'));
    let at = line.match_indices(':').map(|(at, _)| at).find(is_end)?;
    let key = line[..at].trim_end();
    (!key.is_empty()).then(|| (Cow::Borrowed(key), trim(&line[at + 1..])))
}

/// Finds the end of the quote that a text begins with.
fn closing_quote(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.first()?;
    let escape = if quote == b'"' { b'\\' } else { quote };
    let mut at = 1;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == quote || *byte == escape)?;
        let is_escape = bytes[at] == escape && (escape != quote || bytes.get(at + 1) == Some(&quote));
        if !is_escape {
            return Some(at);
        }
        at += 2;
    }
}

/// The text of a bullet (`-`, `*`), if the line is one. A numbered item keeps its number, which gives the order.
pub fn bullet(line: &str) -> Option<&str> {
    let (first, rest) = line.as_bytes().split_first()?;
    match first {
        b'-' | b'*' => rest.first().is_none_or(|next| matches!(next, b' ' | b'\t')).then(|| trim(&line[1..])),
        b'0'..=b'9' => {
            let digits = 1 + rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let rest = line[digits..].strip_prefix(['.', ')']).filter(|_| digits <= 4)?;
            (rest.starts_with(' ') && !trim(rest).is_empty()).then(|| trim(line))
        }
        _ => None,
    }
}

/// The indentation of a line, in characters.
pub fn indent(line: &str) -> usize {
    line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The lines without the indentation that they share.
pub fn dedented<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let by = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line)).min().unwrap_or(0);
    lines.iter().map(|line| line.get(by..).unwrap_or("").trim_end()).collect()
}

/// A nested block as text: folded if YAML would read one plain scalar, otherwise its lines as they are.
pub fn nested(lines: &[&str]) -> String {
    let lines = dedented(lines);
    match lines.as_slice() {
        [] => String::new(),
        [first, rest @ ..] if lines.iter().all(|line| is_prose(line)) => text(first, rest),
        _ => lines.join("\n"),
    }
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

fn is_block_header(first: &str) -> bool {
    let marks = first[1..].split([' ', '\t']).next().unwrap_or_default();
    let comment = trim(&first[1 + marks.len()..]);
    let signs = marks.bytes().filter(|b| matches!(b, b'+' | b'-')).count();
    let digits = marks.bytes().filter(|b| (b'1'..=b'9').contains(b)).count();
    signs <= 1 && digits <= 1 && signs + digits == marks.len() && (comment.is_empty() || comment.starts_with('#'))
}

/// A `|` or `>` block, or its lines as they are if YAML cannot read it.
fn block(header: &str, rest: &[&str]) -> String {
    let document = format!("{header}\n{}\n", rest.join("\n"));
    serde_yaml::from_str::<String>(&document).unwrap_or_else(|_| dedented(rest).join("\n"))
}

/// Parses a value that is one quoted scalar from its first to its last character.
fn quoted(first: &str, rest: &[&str]) -> Option<String> {
    let quote = *first.as_bytes().first()?;
    if !rest.is_empty() {
        let whole = format!("{first}\n{}", rest.join("\n"));
        let whole = whole.trim_end();
        let is_whole = closing_quote(whole)? + 1 == whole.len();
        return is_whole.then(|| serde_yaml::from_str::<String>(whole).ok()).flatten();
    }
    if closing_quote(first)? + 1 != first.len() {
        return None;
    }
    let inside = first.get(1..first.len() - 1)?;
    match quote {
        _ if !inside.contains([char::from(quote), '\\']) => Some(inside.to_owned()),
        b'\'' => Some(inside.replace("''", "'")),
        _ => serde_yaml::from_str::<String>(first).ok(),
    }
}

/// Whether this line is read as a part of the plain text before it.
fn is_prose(line: &str) -> bool {
    let line = trim(line);
    let marks = ["```", "~~~", "#", "|", ">"];
    let is_structure = bullet(line).is_some() || marks.iter().any(|mark| line.starts_with(mark));
    !is_structure && !line.contains(": ") && !line.ends_with(':') && !line.contains(" #")
}

/// Folds continuation lines as YAML folds a plain scalar, or keeps them if they have a structure of their own.
pub fn joined(first: &str, rest: &[&str]) -> String {
    if rest.is_empty() {
        return first.to_owned();
    }
    if !rest.iter().all(|line| is_prose(line)) {
        let lines = dedented(rest);
        return [&[first], lines.as_slice()].concat().join("\n");
    }
    let (mut text, mut breaks) = (first.to_owned(), 0);
    for line in rest.iter().map(|line| trim(line)) {
        if line.is_empty() {
            breaks += 1;
            continue;
        }
        match breaks {
            0 if text.is_empty() => {}
            0 => text.push(' '),
            n => text.extend(std::iter::repeat_n('\n', n)),
        }
        text.push_str(line);
        breaks = 0;
    }
    text
}

/// The value as YAML that our grammar and any YAML reader read back equal: plain if that is beyond doubt, otherwise
/// in double quotes.
pub fn written(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " _./()+,;=@!?-".contains(c) || c == '\'';
    let starts_well = text.starts_with(|c: char| c.is_alphabetic());
    // Words that some YAML readers do not read as text.
    let words = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    let is_word = words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if starts_well && !text.ends_with(' ') && text.chars().all(is_plain) && !is_word {
        return text.to_owned();
    }
    in_quotes(text)
}

/// Whether our grammar reads a value on one line back equal, without quotes.
pub fn is_verbatim(text: &str) -> bool {
    let is_marked = text.starts_with(['"', '\'', '|', '>', '[', '{', '&', '*', '!', '#', '-', '~', '?', '%', '@', '`']);
    !text.is_empty() && text == text.trim() && !text.chars().any(char::is_control) && !is_marked && !is_null(text, &[])
}

/// The value in double quotes.
pub fn in_quotes(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            ' '..='~' => out.push(c),
            c if c.is_alphanumeric() || is_printable(c) => out.push(c),
            c if u32::from(c) <= 0xff => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if u32::from(c) <= 0xffff => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// Whether a character that is no letter shows as what it is: dashes, quotes, arrows, signs and emoji.
fn is_printable(c: char) -> bool {
    matches!(c, '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{bf}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}')
        || matches!(c, '\u{20a0}'..='\u{20c0}' | '\u{2190}'..='\u{2bff}' | '\u{1f300}'..='\u{1faff}')
}

/// The name as a file name that is valid everywhere: other characters are percent-encoded, and long names are cut.
pub fn safe(agent: &str) -> String {
    let mut name = String::new();
    for c in agent.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') && !(c == '.' && name.is_empty()) {
            name.push(c);
        } else {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|b| name.push_str(&format!("%{b:02X}")));
        }
        if name.len() > 100 {
            break;
        }
    }
    name
}

/// The name that a file name of [`safe`] stands for, as far as it was not cut.
pub fn from_safe(name: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        let code = code.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
