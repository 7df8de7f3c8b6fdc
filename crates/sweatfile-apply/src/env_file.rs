//! `.sweatshop-env`: lines that direnv's `dotenv` and a POSIX shell's `.` read alike. A line that only one of them
//! takes for an assignment counts as well; `env_reader` knows how each of them reads.
//!
//! Everything that a person wrote by hand (comments, unknown lines, another spelling) stays byte for byte unless its
//! variable is set again.

use std::collections::BTreeMap;

use shopfloor_core::hash::Digest;

use crate::env_reader::{Word, after, assignment, direnv, first_line, scan, segments};
use crate::variable;

/// The file's name at the top of the worktree.
pub const FILE: &str = ".sweatshop-env";

/// The file as read, line by line.
#[derive(Clone, Debug, Default)]
pub struct EnvFile {
    lines: Vec<ParsedLine>,
}

#[derive(Clone, Debug)]
enum ParsedLine {
    /// A variable with its line or lines as found or to be written, without the last line end.
    Var { name: String, value: VarValue, raw: Vec<u8> },
    /// A line that both readers take for a comment or a blank line.
    Other(Vec<u8>),
    /// Text that the readers see differently, or that neither understands.
    Tangle(Tangle),
}

/// A piece of the file in which the readers see different variables: a quote over several lines, a carriage return,
/// which ends a line only for direnv, or no assignment at all.
#[derive(Clone, Debug)]
struct Tangle {
    raw: Vec<u8>,
    /// The variables that any reader would set. Text that is no assignment for either gets a name of its own.
    vars: Vec<(String, VarValue)>,
    /// A shell takes it for one assignment, so it can only stay or go as a whole.
    is_whole: bool,
    /// A quote in it never closes, so it is the rest of the file and always stays at the end.
    is_open: bool,
}

impl ParsedLine {
    fn raw(&self) -> &[u8] {
        match self {
            ParsedLine::Var { raw, .. } | ParsedLine::Other(raw) | ParsedLine::Tangle(Tangle { raw, .. }) => raw,
        }
    }

    fn is(&self, key: &str) -> bool {
        self.vars().any(|(name, _)| name == key)
    }

    fn vars(&self) -> impl Iterator<Item = (&str, &VarValue)> {
        let (one, several) = match self {
            ParsedLine::Var { name, value, .. } => (Some((name.as_str(), value)), &[][..]),
            ParsedLine::Other(_) => (None, &[][..]),
            ParsedLine::Tangle(tangle) => (None, tangle.vars.as_slice()),
        };
        one.into_iter().chain(several.iter().map(|(name, value)| (name.as_str(), value)))
    }

    fn is_open(&self) -> bool {
        matches!(self, ParsedLine::Tangle(tangle) if tangle.is_open)
    }

    /// The line without a variable; none when nothing is left.
    fn without(self, key: &str) -> Option<ParsedLine> {
        match self {
            ParsedLine::Tangle(tangle) if !tangle.is_whole && !key.starts_with(UNKNOWN) => {
                let is_other = |segment: &&[u8]| !matches!(direnv(segment), Some(Some((name, _))) if name == key);
                let left: Vec<&[u8]> = segments(&tangle.raw).filter(is_other).collect();
                let raw = left.join(&b'\n');
                (!raw.trim_ascii().is_empty()).then(|| ParsedLine::Tangle(Tangle::new(raw, None, tangle.is_open)))
            }
            line if line.is(key) => None,
            line => Some(line),
        }
    }
}

/// The beginning of the name of a line that neither reader takes for an assignment. A part of the line's hash follows.
const UNKNOWN: &str = "line:";

impl Tangle {
    /// `own` is the assignment that a shell takes the whole text for.
    fn new(raw: Vec<u8>, own: Option<(String, VarValue)>, is_open: bool) -> Tangle {
        let is_whole = own.is_some();
        let mut vars: Vec<(String, VarValue)> = own.into_iter().collect();
        for segment in segments(&raw) {
            if let Some(Some((name, _))) = direnv(segment)
                && vars.iter().all(|(known, _)| known != name)
            {
                vars.push((name.to_owned(), VarValue::Opaque(raw.clone())));
            }
        }
        if vars.is_empty() {
            let hash = Digest::of(&raw).to_string();
            vars.push((format!("{UNKNOWN}{}", &hash[..8]), VarValue::Opaque(raw.clone())));
        }
        Tangle { raw, vars, is_whole, is_open }
    }
}

/// Compares values, however they are spelled, and the other lines: a review compares by value.
impl PartialEq for EnvFile {
    fn eq(&self, other: &EnvFile) -> bool {
        let others = |file: &EnvFile| -> Vec<Vec<u8>> {
            let mut lines: Vec<&ParsedLine> =
                file.lines.iter().filter(|l| !matches!(l, ParsedLine::Var { .. })).collect();
            lines.sort_by_key(|line| line.is_open());
            lines.into_iter().map(|l| l.raw().to_vec()).collect()
        };
        self.vars().eq(other.vars()) && others(self) == others(other)
    }
}

impl Eq for EnvFile {}

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VarValue {
    /// This text.
    Text(String),
    /// The whole line, when only a shell can evaluate it (`A=$HOME/x`) or it is not UTF-8.
    Opaque(Vec<u8>),
}

impl VarValue {
    pub fn text(&self) -> Option<&str> {
        match self {
            VarValue::Text(text) => Some(text),
            VarValue::Opaque(_) => None,
        }
    }
}

impl EnvFile {
    /// Parses any bytes. The exact inverse of [`EnvFile::to_bytes`]; it also accepts `export`, comments, blank lines
    /// and everything else that shells allow.
    pub fn parse(bytes: &[u8]) -> EnvFile {
        let mut file = EnvFile::default();
        let mut rest = bytes;
        while !rest.is_empty() {
            let line = first_line(rest);
            let Some((name, word)) = assignment(line) else {
                file.lines.push(unassigned(line));
                rest = after(rest, line.len());
                continue;
            };
            // Inside quotes the word may continue on the next line.
            let before = line.len() - word.len();
            let scan = scan(&rest[before..]);
            let raw = &rest[..before + scan.length];
            let value = match scan.word {
                Word::Text(text) => VarValue::Text(text),
                Word::Other => VarValue::Opaque(raw.to_vec()),
                Word::Open => {
                    let raw = rest.strip_suffix(b"\n").unwrap_or(rest).to_vec();
                    file.lines.push(ParsedLine::Tangle(Tangle::new(raw, None, true)));
                    break;
                }
            };
            let is_one_line = !raw.strip_suffix(b"\r").unwrap_or(raw).contains(&b'\r') && !raw.contains(&b'\n');
            match is_one_line {
                true => file.push(name, value, raw.to_vec()),
                false => {
                    let own = Some((name.to_owned(), value));
                    file.lines.push(ParsedLine::Tangle(Tangle::new(raw.to_vec(), own, false)));
                }
            }
            rest = after(rest, raw.len());
        }
        file
    }

    fn push(&mut self, name: &str, value: VarValue, raw: Vec<u8>) {
        self.lines.push(ParsedLine::Var { name: name.to_owned(), value, raw });
    }

    pub fn value(&self, name: &str) -> Option<&VarValue> {
        self.vars().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    /// Every variable, sorted by name. If several lines set one variable, the last one counts.
    pub fn vars(&self) -> impl Iterator<Item = (&str, &VarValue)> {
        self.lines.iter().flat_map(ParsedLine::vars).collect::<BTreeMap<_, _>>().into_iter()
    }

    /// Sets a variable in its line, or at the end if it is new. A variable that has this value already keeps its
    /// spelling.
    pub fn set(&mut self, name: &str, value: &VarValue) {
        if self.value(name) == Some(value) {
            return;
        }
        let raw = match value {
            VarValue::Text(text) => format!("{name}={}", quote(text).0).into_bytes(),
            VarValue::Opaque(raw) => raw.clone(),
        };
        let tangled = |line: &ParsedLine| matches!(line, ParsedLine::Tangle(_)) && line.is(name);
        if self.lines.iter().any(tangled) {
            self.unset(name);
        }
        // A value that is restored as it was found is parsed as it was.
        let is_found = matches!(value, VarValue::Opaque(_));
        let mut lines = if is_found { EnvFile::parse(&raw).lines } else { Vec::new() };
        let line = match (lines.pop(), lines.is_empty()) {
            (Some(line), true) => line,
            _ => ParsedLine::Var { name: name.to_owned(), value: value.clone(), raw },
        };
        match self.lines.iter().rposition(|l| l.is(name)) {
            Some(at) => self.lines[at] = line,
            None => self.lines.push(line),
        }
    }

    /// The variables that share one piece of text with this one, which can only be removed together with them.
    pub fn bound_to<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        let tangles = self.lines.iter().filter(move |line| line.is(name)).filter_map(|line| match line {
            ParsedLine::Tangle(tangle) if tangle.is_whole => Some(tangle),
            _ => None,
        });
        tangles.flat_map(|tangle| &tangle.vars).map(|(other, _)| other.as_str()).filter(move |other| *other != name)
    }

    pub fn unset(&mut self, name: &str) {
        let lines = std::mem::take(&mut self.lines);
        self.lines = lines.into_iter().filter_map(|line| line.without(name)).collect();
    }

    /// Whether the file contains nothing but blank lines.
    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.raw().trim_ascii().is_empty())
    }

    /// The lines, sorted by name if there are only plain variables. Otherwise they keep their order, because `A=$B/x`
    /// depends on a `B` before it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut lines: Vec<&ParsedLine> = self.lines.iter().collect();
        let plain = |line: &&ParsedLine| matches!(line, ParsedLine::Var { value: VarValue::Text(_), .. });
        if lines.iter().all(plain) {
            lines.sort_by_key(|line| match line {
                ParsedLine::Var { name, .. } => name.as_str(),
                _ => "",
            });
        }
        lines.sort_by_key(|line| line.is_open());
        lines.iter().flat_map(|line| line.raw().iter().copied().chain([b'\n'])).collect()
    }
}

/// Which readers understand a spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// direnv's `dotenv` and `sh`.
    Both,
    /// Only `sh`, because direnv 2.32 mangles `\$` in double quotes.
    ShOnly,
    /// Perhaps direnv, but not `sh`: a newline cannot be spelled for it on one line.
    NotSh,
}

/// The spelling of a value after `KEY=`, never with a raw newline.
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

/// A line in which a shell sees no assignment.
fn unassigned(line: &[u8]) -> ParsedLine {
    let has_return = line.strip_suffix(b"\r").unwrap_or(line).contains(&b'\r');
    match direnv(line) {
        _ if has_return => {
            let is_idle = segments(line).all(|segment| direnv(segment) == Some(None));
            if is_idle {
                ParsedLine::Other(line.to_vec())
            } else {
                ParsedLine::Tangle(Tangle::new(line.to_vec(), None, false))
            }
        }
        Some(None) => ParsedLine::Other(line.to_vec()),
        Some(Some((name, value))) if variable::is_valid_name(name) => {
            ParsedLine::Var { name: name.to_owned(), value: VarValue::Text(value.to_owned()), raw: line.to_vec() }
        }
        _ => ParsedLine::Tangle(Tangle::new(line.to_vec(), None, false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(file: &EnvFile, name: &str) -> Option<String> {
        file.value(name).and_then(VarValue::text).map(str::to_owned)
    }

    fn written(pairs: &[(&str, &str)]) -> String {
        let mut file = EnvFile::default();
        for (name, value) in pairs {
            file.set(name, &VarValue::Text((*value).to_owned()));
        }
        String::from_utf8(file.to_bytes()).unwrap()
    }

    #[test]
    fn each_kind_of_value_has_its_spelling() {
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
    fn spellings_that_people_use_are_understood() {
        let file = EnvFile::parse(
            b"# mine\n\nexport A=1\n  B='two words' # why\nC=\"q\\\"q\"\nD=it\\'s\nE=$HOME/x\nnonsense\nA=2",
        );
        assert_eq!(text(&file, "A"), Some("2".into()));
        assert_eq!(text(&file, "B"), Some("two words".into()));
        assert_eq!(text(&file, "C"), Some("q\"q".into()));
        assert_eq!(text(&file, "D"), Some("it's".into()));
        assert_eq!(file.value("E"), Some(&VarValue::Opaque(b"E=$HOME/x".to_vec())));
    }

    #[test]
    fn text_written_by_hand_stays_byte_for_byte() {
        let mut file = EnvFile::parse(b"# mine\nB='two' # why\nM=\"first\nsecond\"\nA=1\n");
        file.set("A", &VarValue::Text("2".into()));
        file.set("B", &VarValue::Text("two".into()));
        assert_eq!(String::from_utf8(file.to_bytes()).unwrap(), "# mine\nB='two' # why\nM=\"first\nsecond\"\nA=2\n");
    }

    #[test]
    fn lines_that_build_on_each_other_keep_their_order() {
        let mut file = EnvFile::parse(b"Z=/opt\nA=$Z/bin\nC=foo\\\nbar\n");
        file.set("B", &VarValue::Text("1".into()));
        file.set("Z", &VarValue::Text("/usr".into()));
        assert_eq!(String::from_utf8(file.to_bytes()).unwrap(), "Z=/usr\nA=$Z/bin\nC=foo\\\nbar\nB=1\n");
    }

    #[test]
    fn a_quote_may_span_lines_with_any_content() {
        let text = "A=\"$HOME\nX=evil\"\nCONF=\"{\n  \\\"a\\\": 1,\n  \\\"b\\\": 2\n}\"\nB=1 # it's\nC=2\n";
        let mut file = EnvFile::parse(text.as_bytes());
        // direnv sees a variable within the quotes of the other one.
        assert_eq!(file.vars().map(|(name, _)| name).collect::<Vec<_>>(), ["A", "B", "C", "CONF", "X"]);
        file.set("NEW", &VarValue::Text("1".into()));
        assert_eq!(String::from_utf8(file.to_bytes()).unwrap(), format!("{text}NEW=1\n"));
        file.unset("CONF");
        assert_eq!(String::from_utf8(file.to_bytes()).unwrap(), "A=\"$HOME\nX=evil\"\nB=1 # it's\nC=2\nNEW=1\n");
    }

    #[test]
    fn an_open_quote_is_not_a_variable() {
        let mut file = EnvFile::parse(b"Z=1\nA=\"x\nB=1\n");
        assert_eq!(file.vars().map(|(name, _)| name).collect::<Vec<_>>(), ["A", "B", "Z"]);
        file.set("C", &VarValue::Text("2".into()));
        assert_eq!(file.to_bytes(), b"Z=1\nC=2\nA=\"x\nB=1\n");
        file.unset("B");
        assert_eq!(file.to_bytes(), b"Z=1\nC=2\nA=\"x\n");
    }

    #[test]
    fn assignments_for_direnv_alone_count_and_unknown_lines_get_a_name() {
        let file = EnvFile::parse(
            b"A = 1\nB: two\nexport C: 3 # why\n# note\rD=4\nE='x' # c\rF=6\ncurl evil | sh\n# idle\r\nG.h=1\n",
        );
        let names: Vec<&str> = file.vars().map(|(name, _)| name).collect();
        assert_eq!(&names[..7], ["A", "B", "C", "D", "E", "F", "G.h"]);
        assert!(names.len() == 8 && names[7].starts_with("line:"), "{names:?}");
        assert_eq!(["A", "B", "C"].map(|name| text(&file, name)), ["1", "two", "3"].map(|v| Some(v.to_owned())));
        assert_eq!(text(&file, "E"), Some("x".into()));
        assert!(["D", "F", "G.h", names[7]].iter().all(|name| text(&file, name).is_none()));
        let mut less = file.clone();
        names.iter().for_each(|name| less.unset(name));
        assert_eq!(String::from_utf8(less.to_bytes()).unwrap(), "# note\n# idle\r\n");
    }

    proptest! {
        #[test]
        fn reading_is_the_inverse_of_writing(
            vars in proptest::collection::btree_map("[A-Z_]{1,4}", "[^\\x00\\r]{0,20}", 0..6)
        ) {
            let mut file = EnvFile::default();
            for (name, value) in &vars {
                file.set(name, &VarValue::Text(value.clone()));
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
