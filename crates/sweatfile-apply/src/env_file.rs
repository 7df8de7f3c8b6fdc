//! `.sweatshop-env`: lines that direnv's `dotenv` and a POSIX shell's `.` read alike.
//!
//! What a person wrote by hand (comments, lines we do not understand, another spelling) stays byte
//! for byte unless its variable is set anew.

use std::collections::BTreeMap;

use crate::sweatfile::is_env_name;

/// The file's name at the top of the worktree.
pub const FILE: &str = ".sweatshop-env";

/// The file as read, line by line.
#[derive(Clone, Debug, Default)]
pub struct EnvFile {
    lines: Vec<Line>,
}

#[derive(Clone, Debug)]
enum Line {
    /// A variable, and the line (or lines) as found or to be written, without the last line end.
    Var { name: String, value: Value, raw: Vec<u8> },
    /// A comment, a blank line, what is not understood.
    Other(Vec<u8>),
    /// An assignment whose quote never closes, and all that a shell would take for a part of it: the rest
    /// of the file, and always its end.
    Open(Vec<u8>),
}

impl Line {
    fn raw(&self) -> &[u8] {
        match self {
            Line::Var { raw, .. } | Line::Other(raw) | Line::Open(raw) => raw,
        }
    }

    fn is(&self, key: &str) -> bool {
        matches!(self, Line::Var { name, .. } if name == key)
    }
}

/// Equal values and equal other lines, however the values are spelled: review compares by value.
impl PartialEq for EnvFile {
    fn eq(&self, other: &EnvFile) -> bool {
        let others = |file: &EnvFile| -> Vec<Vec<u8>> {
            let mut lines: Vec<&Line> = file.lines.iter().filter(|l| !matches!(l, Line::Var { .. })).collect();
            lines.sort_by_key(|line| matches!(line, Line::Open(_)));
            lines.into_iter().map(|l| l.raw().to_vec()).collect()
        };
        self.vars().eq(other.vars()) && others(self) == others(other)
    }
}

impl Eq for EnvFile {}

/// What a variable is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// This text.
    Text(String),
    /// Something only a shell can evaluate (`A=$HOME/x`), or not UTF-8: the whole line.
    Opaque(Vec<u8>),
}

impl Value {
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Opaque(_) => None,
        }
    }
}

impl EnvFile {
    /// Reads any bytes; the exact inverse of [`EnvFile::to_bytes`], and it takes `export`, comments,
    /// blank lines and what shells allow besides.
    pub fn parse(bytes: &[u8]) -> EnvFile {
        let mut file = EnvFile::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let line = first_line(rest);
            let Some((name, word)) = assignment(line) else {
                file.lines.push(Line::Other(line.to_vec()));
                rest = after(rest, line.len());
                continue;
            };
            // The word may go on over the line's end, inside quotes.
            let before = line.len() - word.len();
            let scan = scan(&rest[before..]);
            let raw = &rest[..before + scan.length];
            match scan.word {
                Word::Text(text) => file.push(name, Value::Text(text), raw.to_vec()),
                Word::Other => file.push(name, Value::Opaque(raw.to_vec()), raw.to_vec()),
                Word::Open => {
                    file.lines.push(Line::Open(rest.strip_suffix(b"\n").unwrap_or(rest).to_vec()));
                    break;
                }
            }
            rest = after(rest, raw.len());
        }
        file
    }

    fn push(&mut self, name: &str, value: Value, raw: Vec<u8>) {
        self.lines.push(Line::Var { name: name.to_owned(), value, raw });
    }

    pub fn value(&self, name: &str) -> Option<&Value> {
        self.vars().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    /// Every variable, sorted by name; of several lines for one the last counts.
    pub fn vars(&self) -> impl Iterator<Item = (&str, &Value)> {
        let vars = self.lines.iter().filter_map(|line| match line {
            Line::Var { name, value, .. } => Some((name.as_str(), value)),
            _ => None,
        });
        vars.collect::<BTreeMap<_, _>>().into_iter()
    }

    /// Sets a variable in its place, a new one at the end; one that has this value already keeps its
    /// spelling.
    pub fn set(&mut self, name: &str, value: &Value) {
        if self.value(name) == Some(value) {
            return;
        }
        let raw = match value {
            Value::Text(text) => format!("{name}={}", quote(text).0).into_bytes(),
            Value::Opaque(raw) => raw.clone(),
        };
        let line = Line::Var { name: name.to_owned(), value: value.clone(), raw };
        match self.lines.iter().rposition(|l| l.is(name)) {
            Some(at) => self.lines[at] = line,
            None => self.lines.push(line),
        }
    }

    pub fn unset(&mut self, name: &str) {
        self.lines.retain(|line| !line.is(name));
    }

    /// Whether nothing is in it that is worth a file.
    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.raw().trim_ascii().is_empty())
    }

    /// A line each: sorted by name when there are only plain variables, else in the order they were
    /// found, for `A=$B/x` means something only after `B`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut lines: Vec<&Line> = self.lines.iter().collect();
        let plain = |line: &&Line| matches!(line, Line::Var { value: Value::Text(_), .. });
        if lines.iter().all(plain) {
            lines.sort_by_key(|line| match line {
                Line::Var { name, .. } => name.as_str(),
                _ => "",
            });
        }
        lines.sort_by_key(|line| matches!(line, Line::Open(_)));
        lines.iter().flat_map(|line| line.raw().iter().copied().chain([b'\n'])).collect()
    }
}

/// Which readers understand a spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// direnv's `dotenv` and `sh`.
    Both,
    /// `sh`; direnv 2.32 mangles `\$` in double quotes.
    ShOnly,
    /// direnv, perhaps: a newline has no spelling for `sh` on one line.
    NotSh,
}

/// A value as it stands behind `KEY=`, never with a raw newline.
pub fn quote(value: &str) -> (String, Readers) {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:@%+,=-".contains(c);
    if value.chars().all(plain) {
        return (value.to_owned(), Readers::Both);
    }
    if !value.contains(['\'', '\n']) {
        return (format!("'{value}'"), Readers::Both);
    }
    let mut quoted = String::from("\"");
    for c in value.chars() {
        match c {
            '\n' => quoted.push_str("\\n"),
            '"' | '$' | '\\' | '`' => quoted.extend(['\\', c]),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    let readers = if value.contains('\n') {
        Readers::NotSh
    } else if value.contains(['$', '\\', '`']) {
        Readers::ShOnly
    } else {
        Readers::Both
    };
    (quoted, readers)
}

fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == b'\n').next().unwrap_or_default()
}

/// What follows the first `length` bytes and the line end behind them.
fn after(bytes: &[u8], length: usize) -> &[u8] {
    bytes.get(length + 1..).unwrap_or_default()
}

/// `export NAME=WORD` or `NAME=WORD`.
fn assignment(line: &[u8]) -> Option<(&str, &[u8])> {
    let line = line.trim_ascii_start();
    let line = match line.strip_prefix(b"export") {
        Some(rest) if rest.starts_with(b" ") || rest.starts_with(b"\t") => rest.trim_ascii_start(),
        _ => line,
    };
    let equals = line.iter().position(|b| *b == b'=')?;
    let name = std::str::from_utf8(&line[..equals]).ok().filter(|n| is_env_name(n))?;
    Some((name, &line[equals + 1..]))
}

/// A word of a shell, and how far the logical line it begins reaches.
struct Scan {
    word: Word,
    length: usize,
}

enum Word {
    /// What a shell would take it for, without evaluating anything.
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

/// Reads as a shell does, to the end of the logical line: quotes and escaped line ends carry it on.
fn scan(bytes: &[u8]) -> Scan {
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
    Scan { word, length: at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(file: &EnvFile, name: &str) -> Option<String> {
        file.value(name).and_then(Value::text).map(str::to_owned)
    }

    fn written(pairs: &[(&str, &str)]) -> String {
        let mut file = EnvFile::default();
        for (name, value) in pairs {
            file.set(name, &Value::Text((*value).to_owned()));
        }
        String::from_utf8(file.to_bytes()).unwrap()
    }

    #[test]
    fn spells_each_kind_of_value() {
        insta::assert_snapshot!(
            written(&[("B", "nvim"), ("A", "a b"), ("C", "it's"), ("D", "it's $5"), ("E", "x\nPATH=/evil"), ("F", r#"say "hi" $x \n"#)]),
            @r#"
        A='a b'
        B=nvim
        C="it's"
        D="it's \$5"
        E="x\nPATH=/evil"
        F='say "hi" $x \n'
        "#
        );
    }

    #[test]
    fn takes_what_people_write() {
        let file = EnvFile::parse(
            b"# mine\n\nexport A=1\n  B='two words' # why\nC=\"q\\\"q\"\nD=it\\'s\nE=$HOME/x\nnonsense\nA=2",
        );
        assert_eq!(text(&file, "A"), Some("2".into()));
        assert_eq!(text(&file, "B"), Some("two words".into()));
        assert_eq!(text(&file, "C"), Some("q\"q".into()));
        assert_eq!(text(&file, "D"), Some("it's".into()));
        assert_eq!(file.value("E"), Some(&Value::Opaque(b"E=$HOME/x".to_vec())));
    }

    #[test]
    fn what_is_by_hand_stays_as_it_stands() {
        let mut file = EnvFile::parse(b"# mine\nB='two' # why\nM=\"first\nsecond\"\nA=1\n");
        file.set("A", &Value::Text("2".into()));
        file.set("B", &Value::Text("two".into()));
        assert_eq!(String::from_utf8(file.to_bytes()).unwrap(), "# mine\nB='two' # why\nM=\"first\nsecond\"\nA=2\n");
    }

    #[test]
    fn lines_that_build_on_each_other_keep_their_order() {
        let mut file = EnvFile::parse(b"Z=/opt\nA=$Z/bin\nC=foo\\\nbar\n");
        file.set("B", &Value::Text("1".into()));
        file.set("Z", &Value::Text("/usr".into()));
        assert_eq!(String::from_utf8(file.to_bytes()).unwrap(), "Z=/usr\nA=$Z/bin\nC=foo\\\nbar\nB=1\n");
    }

    #[test]
    fn a_quote_may_go_on_over_lines_whatever_is_in_it() {
        let text = "A=\"$HOME\nX=evil\"\nCONF=\"{\n  \\\"a\\\": 1,\n  \\\"b\\\": 2\n}\"\nB=1 # it's\nC=2\n";
        let mut file = EnvFile::parse(text.as_bytes());
        assert_eq!(file.vars().map(|(name, _)| name).collect::<Vec<_>>(), ["A", "B", "C", "CONF"]);
        file.set("NEW", &Value::Text("1".into()));
        assert_eq!(String::from_utf8(file.to_bytes()).unwrap(), format!("{text}NEW=1\n"));
        file.unset("CONF");
        assert_eq!(String::from_utf8(file.to_bytes()).unwrap(), "A=\"$HOME\nX=evil\"\nB=1 # it's\nC=2\nNEW=1\n");
    }

    #[test]
    fn an_open_quote_is_no_variable() {
        let mut file = EnvFile::parse(b"Z=1\nA=\"x\nB=1\n");
        assert_eq!(file.vars().map(|(name, _)| name).collect::<Vec<_>>(), ["Z"]);
        file.set("C", &Value::Text("2".into()));
        assert_eq!(file.to_bytes(), b"Z=1\nC=2\nA=\"x\nB=1\n");
    }

    proptest! {
        #[test]
        fn reading_is_the_inverse_of_writing(
            vars in proptest::collection::btree_map("[A-Z_]{1,4}", "[^\\x00\\r]{0,20}", 0..6)
        ) {
            let mut file = EnvFile::default();
            for (name, value) in &vars {
                file.set(name, &Value::Text(value.clone()));
            }
            let bytes = file.to_bytes();
            prop_assert_eq!(bytes.iter().filter(|b| **b == b'\n').count(), vars.len());
            let read = EnvFile::parse(&bytes);
            let read: BTreeMap<String, String> =
                read.vars().map(|(n, v)| (n.to_owned(), v.text().unwrap().to_owned())).collect();
            prop_assert_eq!(read, vars);
        }
    }
}
