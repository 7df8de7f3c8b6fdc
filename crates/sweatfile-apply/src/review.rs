//! Env review: the changes to `.sweatshop-env` since the snapshot, and the edit that promotes a variable into a
//! sweatfile.

use shopfloor_core::text::Position;
use toml_edit::{DocumentMut, Item, Table, TomlError, Value};

use crate::env_file::{EnvFile, VarValue};
use crate::sweatfile::{self, toml_string};

/// A variable that was added or changed since the snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub key: String,
    pub old: Option<VarValue>,
    pub new: VarValue,
    /// The line that sets it now.
    pub line: Vec<u8>,
}

impl Change {
    /// In a word.
    pub fn kind(&self) -> &'static str {
        if self.old.is_some() { "changed" } else { "added" }
    }
}

/// The added and changed variables, compared by value and sorted by key; see [`removed`] for the rest.
pub fn changes(before: &EnvFile, now: &EnvFile) -> Vec<Change> {
    let differing = now.vars().filter(|(key, new)| before.value(key) != Some(new));
    differing
        .map(|(key, new)| {
            let (old, line) = (before.value(key).cloned(), now.line(key).to_vec());
            Change { key: key.to_owned(), old, new: new.clone(), line }
        })
        .collect()
}

/// The names of the variables that were removed since the snapshot.
pub fn removed(before: &EnvFile, now: &EnvFile) -> Vec<String> {
    before.vars().filter(|(key, _)| now.value(key).is_none()).map(|(key, _)| key.to_owned()).collect()
}

/// Sets `key` under `[env]` in a sweatfile's text and keeps everything else: comments, order, unknown keys, line ends and
/// a misplaced `setup`. Fails with the position and the reason when that is not possible.
pub fn promote(text: &str, key: &str, value: &str) -> Result<String, String> {
    let (mark, body) = text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 });
    let mut document: DocumentMut = body.replace("\r\n", "\n").parse().map_err(|e: TomlError| {
        let at = Position::of(body, e.span().map_or(0, |s| s.start));
        format!("{at}: {}", e.message())
    })?;
    if !document.contains_key("env") {
        append_env(&mut document);
    }
    let mut new: Value = toml_string(value).parse().map_err(|e: TomlError| e.to_string())?;
    let env = document["env"].as_table_like_mut().ok_or("`env` is not a table")?;
    if let Some(old) = env.get_mut(key).and_then(Item::as_value_mut) {
        *new.decor_mut() = old.decor().clone();
        *old = new;
    } else {
        if let Some((_, last)) = document["env"].as_inline_table_mut().and_then(|table| table.iter_mut().last()) {
            // The blank before the brace stays before it.
            new.decor_mut().set_suffix(last.decor().suffix().cloned().unwrap_or_default());
            last.decor_mut().set_suffix("");
        }
        document["env"][key] = Item::Value(new);
    }
    let newline = if body.contains("\r\n") { "\r\n" } else { "\n" };
    let edited = format!("{mark}{}", document.to_string().replace('\n', newline));
    verify(text, &edited, key, value)?;
    Ok(edited)
}

/// Adds an empty `[env]` at the end, below the comments there.
fn append_env(document: &mut DocumentMut) {
    let mut above = document.trailing().as_str().unwrap_or_default().to_owned();
    document.set_trailing("");
    if !above.is_empty() && !above.ends_with('\n') {
        above.push('\n');
    }
    let is_first = above.is_empty() && document.is_empty();
    let mut table = Table::new();
    table.decor_mut().set_prefix(if is_first { above } else { above + "\n" });
    table.set_position(Some(isize::MAX));
    document.insert("env", Item::Table(table));
}

/// Parses the edited text: the key must have the value, and nothing else may have changed.
fn verify(before: &str, after: &str, key: &str, value: &str) -> Result<(), String> {
    let (old, new) = (sweatfile::parse(before.as_bytes()), sweatfile::parse(after.as_bytes()));
    let mut expected = old.sweatfile;
    expected.env.insert(key.to_owned(), value.to_owned());
    let mut edited = new.sweatfile;
    // An entry contains its position, which may have moved.
    for (path, entry) in &mut edited.files {
        if let Some(old) = expected.files.get(path) {
            entry.at = old.at;
        }
    }
    if new.problems.is_empty() && edited == expected {
        return Ok(());
    }
    Err(match new.problems.first() {
        Some(problem) => format!("{}: {}", problem.at, problem.text),
        None => "it cannot be edited without changing something else".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: &str) -> VarValue {
        VarValue::Text(value.into())
    }

    #[test]
    fn changes_compare_values_and_leave_out_removals() {
        let before = EnvFile::parse(b"A=1\nC=3\nD='4'\n");
        let now = EnvFile::parse(b"D=4\nB=2\nA=9\n");
        let found: Vec<_> = changes(&before, &now).into_iter().map(|c| (c.kind(), c.key, c.new)).collect();
        assert_eq!(found, [("changed", "A".into(), text("9")), ("added", "B".into(), text("2"))]);
        assert_eq!(removed(&before, &now), ["C"]);
    }

    #[test]
    fn promote_edits_only_the_lines_needed() {
        let cases = [
            ("", "[env]\nK = \"v\"\n"),
            ("setup = []\n", "setup = []\n\n[env]\nK = \"v\"\n"),
            ("x = 1", "x = 1\n\n[env]\nK = \"v\"\n"),
            ("[env]\nA = \"1\" # why\n\n[files]\n", "[env]\nA = \"1\" # why\nK = \"v\"\n\n[files]\n"),
            ("[env]\nK = 'old' # why\nB=\"2\"", "[env]\nK = \"v\" # why\nB=\"2\"\n"),
            ("[env]\n# mine\nK = \"o\"\n# end\n", "[env]\n# mine\nK = \"v\"\n# end\n"),
            ("# a\n# [env]\n# b", "# a\n# [env]\n# b\n\n[env]\nK = \"v\"\n"),
            (
                "[files.b]\ncopy = \"/b\"\n[x]\n[files.a] # e\ncopy = \"/a\"\n# end\n",
                "[files.b]\ncopy = \"/b\"\n[x]\n[files.a] # e\ncopy = \"/a\"\n# end\n\n[env]\nK = \"v\"\n",
            ),
            ("[env]\n# none yet\n", "[env]\nK = \"v\"\n# none yet\n"),
            ("[env]", "[env]\nK = \"v\"\n"),
            ("env = { A = \"1\" }\n", "env = { A = \"1\", K = \"v\" }\n"),
            ("env = {}\n", "env = { K = \"v\" }\n"),
            ("env.A = \"1\"\nsetup = []\n", "env.A = \"1\"\nenv.K = \"v\"\nsetup = []\n"),
            ("[env]\nsetup = [\n  \"x\",\n]\n# end\n", "[env]\nsetup = [\n  \"x\",\n]\nK = \"v\"\n# end\n"),
            ("\u{feff}[env]\r\nA = \"1\"\r\n", "\u{feff}[env]\r\nA = \"1\"\r\nK = \"v\"\r\n"),
        ];
        for (before, after) in cases {
            assert_eq!(promote(before, "K", "v").as_deref(), Ok(after), "{before:?}");
        }
    }

    #[test]
    fn a_text_that_cannot_be_edited_is_an_error() {
        assert!(promote("env = 1", "K", "v").is_err());
        assert!(promote("[env\n", "K", "v").unwrap_err().starts_with("1:"));
    }

    proptest! {
        #[test]
        fn any_value_is_promoted_and_read_back(
            value in "[^\\x00\\r]{0,12}",
            layout in prop_oneof![Just(""), Just("setup=[]\n"), Just("[env]\nA=\"1\"\n"), Just("env={A=\"1\"}"), Just("env.A=\"1\"\n"), Just("[env]\nK=\"o\"\n[files.x]\ncontent=\"c\"\n")],
        ) {
            let edited = promote(layout, "K", &value).unwrap();
            prop_assert_eq!(&sweatfile::parse(edited.as_bytes()).sweatfile.env["K"], &value);
        }
    }
}
