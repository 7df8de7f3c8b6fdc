//! The newer format of sweatfiles, to which their first author went on. It is recognised and never run; what has a place in
//! ours can be converted.

use shopfloor_core::path::RelPath;
use shopfloor_core::text::Position;
use toml::{Table, Value};
use toml_edit::{Document, Item};

use crate::env_variable;
use crate::setup_step::SetupStep;
use crate::sweatfile::{Body, FileEntry, NEWER, Sweatfile, TOP, key_of, parse};

/// A sweatfile of ours, and as lines of comments what has no place in one.
pub struct Converted {
    pub sweatfile: Sweatfile,
    pub rest: Vec<String>,
}

/// Converts a text. What it has in our format stays. Without a value if it is no TOML, or has nothing of the newer format.
pub fn convert(text: &str) -> Option<Converted> {
    let document = Document::parse(text).ok()?;
    let mut converted = Converted { sweatfile: parse(text.as_bytes()).sweatfile, rest: Vec::new() };
    for (top, item) in document.iter().filter(|(key, _)| !TOP.contains(key)) {
        let Some(table) = item.as_table_like() else {
            converted.leave(top, item);
            continue;
        };
        for (key, item) in table.iter() {
            let is_taken = match (top, key) {
                ("hooks", "create") => converted.take_commands(item),
                ("direnv", "dotenv") => converted.take_variables(item),
                ("direnv", "envrc") => converted.take_envrc(item),
                ("git", "excludes") => lines(item)
                    .map(|lines| converted.sweatfile.git_excludes.get_or_insert_default().extend(lines))
                    .is_some(),
                _ => false,
            };
            if !is_taken {
                converted.leave(&format!("{top}.{key}"), item);
            }
        }
    }
    document.iter().any(|(key, _)| NEWER.contains(&key)).then_some(converted)
}

impl Sweatfile {
    /// Its merged form, again with what clears inherited things, and without arrays that inherit.
    pub fn with_clears(&self, mut table: Table) -> Table {
        let lists = [("git_excludes", self.git_excludes.is_none()), ("setup", self.setup.is_none())];
        lists.iter().filter(|(_, inherits)| *inherits).for_each(|(key, _)| drop(table.remove(*key)));
        if self.teardown.as_ref().is_some_and(Vec::is_empty) {
            table.insert("teardown".into(), Value::Array(Vec::new()));
        }
        let mut clear = |key: &str, name: String, value: Value| {
            let inner = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
            inner.as_table_mut().map(|inner| inner.insert(name, value));
        };
        let entry = |key: &str| Value::Table(Table::from_iter([(key.to_owned(), Value::from(""))]));
        let env = self.env.iter().filter(|(_, value)| value.is_empty());
        env.for_each(|(name, _)| clear("env", name.clone(), "".into()));
        let files = self.files.iter().filter(|(_, entry)| entry.body == Body::Clear);
        files.for_each(|(path, _)| clear("files", key_of(path), entry("source")));
        table
    }
}

impl Converted {
    /// Behind what direnv may have to load.
    fn take_commands(&mut self, item: &Item) -> bool {
        let Some(commands) = lines(item) else { return false };
        // What theirs sets, ours calls `SWEATFILE_WORKTREE`.
        let own = |command: String| match command.contains("WORKTREE") {
            true => format!("export WORKTREE=\"$PWD\"; {command}"),
            false => command,
        };
        let steps = commands.into_iter().filter(|command| !command.trim().is_empty()).map(own);
        let setup = self.sweatfile.setup.get_or_insert_default();
        setup.extend(steps.map(|command| SetupStep::plain(&command)));
        true
    }

    fn take_variables(&mut self, item: &Item) -> bool {
        let Some(table) = item.as_table_like() else { return false };
        for (key, item) in table.iter() {
            let text =
                item.as_str().map(|text| text.replace("${WORKTREE}", "{worktree}").replace("$WORKTREE", "{worktree}"));
            let is_free = !self.sweatfile.env.contains_key(key);
            match text
                .filter(|text| is_free && env_variable::is_valid_name(key) && !text.contains('$') && !text.is_empty())
            {
                Some(text) => {
                    self.sweatfile.template |= text.contains("{worktree}");
                    self.sweatfile.env.insert(key.to_owned(), text);
                }
                None => self.leave(&format!("direnv.dotenv.{key}"), item),
            }
        }
        true
    }

    fn take_envrc(&mut self, item: &Item) -> bool {
        let (Some(lines), Ok(path)) = (lines(item), RelPath::parse(".envrc")) else { return false };
        if self.sweatfile.files.contains_key(&path) {
            return false;
        }
        let mut text = lines.join("\n") + "\n";
        if !text.contains(".sweatshop-env") {
            text.push_str("dotenv_if_exists .sweatshop-env\n");
        }
        let body = Body::Content { text, template: false };
        self.sweatfile.files.insert(path, FileEntry { body, at: Position { line: 1, column: 1 } });
        self.sweatfile.setup.get_or_insert_default().insert(0, SetupStep::plain("direnv allow"));
        true
    }

    fn leave(&mut self, key: &str, item: &Item) {
        if let Some(table) = item.as_table() {
            return table.iter().for_each(|(inner, item)| self.leave(&format!("{key}.{inner}"), item));
        }
        let text = item.to_string();
        let mut lines = text.trim().lines();
        self.rest.push(format!("{key} = {}", lines.next().unwrap_or_default()));
        self.rest.extend(lines.map(str::to_owned));
    }
}

/// A string, or the strings of an array.
fn lines(item: &Item) -> Option<Vec<String>> {
    match item.as_str() {
        Some(text) => Some(vec![text.to_owned()]),
        None => item.as_array()?.iter().map(|line| line.as_str().map(str::to_owned)).collect(),
    }
}
