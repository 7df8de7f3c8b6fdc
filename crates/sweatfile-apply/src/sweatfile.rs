//! The sweatfile format: parses a text into what one layer asks for, or into every problem with its position.

use std::collections::{BTreeMap, BTreeSet};

use shopfloor_core::config::is_anothers_home;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::{Position, did_you_mean, is_like};
use toml_edit::{Document, Item, TableLike, Value};

use crate::cache::Cache;
use crate::env_variable;
use crate::placeholder::{is_within_quotes, unknown_filter};
use crate::setup_step::SetupStep;

/// The content of one sweatfile. `None` means absent, which inherits; an empty array clears.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweatfile {
    pub git_excludes: Option<Vec<String>>,
    /// An empty value removes the inherited key.
    pub env: BTreeMap<String, String>,
    pub files: BTreeMap<RelPath, FileEntry>,
    pub caches: BTreeMap<RelPath, Cache>,
    pub setup: Option<Vec<SetupStep>>,
    /// What undoes the set-up where a worktree goes.
    pub teardown: Option<Vec<String>>,
    /// Whether `[env]` values and commands have placeholders.
    pub template: bool,
}

/// One `[files.KEY]`, by its destination (the key with a dot before it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    pub body: Body,
    pub at: Position,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// `source = ""`: clears an inherited entry.
    Clear,
    /// A link to this path, as written.
    Source(String),
    /// A copy of this path, as written.
    Copy(String),
    /// A file with these bytes.
    Content { text: String, template: bool },
}

/// A problem or a warning in a sweatfile, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub at: Position,
    pub text: String,
}

/// A parsed sweatfile with its problems and warnings. A sweatfile with a problem does not count at all.
#[derive(Clone, Debug, Default)]
pub struct ParsedSweatfile {
    pub sweatfile: Sweatfile,
    pub problems: Vec<Remark>,
    /// Misplaced arrays, which are hoisted; `check --strict` treats them as problems.
    pub hoisted: Vec<Remark>,
    pub warnings: Vec<Remark>,
}

/// The keys at the top of ours.
pub const TOP: [&str; 7] = ["git_excludes", "env", "files", "caches", "setup", "teardown", "template"];
/// The keys of the newer format, to which the first author of sweatfiles went on.
pub const NEWER: [&str; 13] = [
    "hooks",
    "direnv",
    "git",
    "claude",
    "mcps",
    "allowed-mcps",
    "start-commands",
    "session-entry",
    "auth",
    "sysprompt",
    "pre-merge-skills",
    "remotes",
    "post-merge",
];
const ENTRY: [&str; 4] = ["source", "content", "copy", "template"];
/// What git reads in a worktree only if it is no link.
const READ_BY_GIT: &str = ".gitignore .gitattributes .mailmap .gitmodules";
/// Commands that do nothing but change the shell that they run in.
const STATE: &str =
    "cd pushd popd export unset set shopt umask ulimit alias unalias readonly deactivate declare typeset workon";
/// Arrays that belong to the top level. Written after a table header, they end up in that table.
const ARRAYS: [&str; 3] = ["git_excludes", "setup", "teardown"];

/// Parses a sweatfile and finds every problem, not just the first one. Only a syntax error ends the search.
pub fn parse(bytes: &[u8]) -> ParsedSweatfile {
    let mut parser = Parser::default();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => {
            let at = Position::of(&String::from_utf8_lossy(&bytes[..e.valid_up_to()]), e.valid_up_to());
            parser.problem(at, "not UTF-8");
            return parser.parsed;
        }
    };
    // The line ends of the file are no part of the values in it. Columns and lines stay as they are.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let mut parser = Parser { text: &text, ..parser };
    match Document::parse(parser.text) {
        Ok(document) => parser.document(document.as_table()),
        Err(e) => {
            let at = Position::of(parser.text, e.span().map_or(0, |s| s.start));
            let line = parser.text.lines().nth(at.line - 1).unwrap_or_default().trim();
            let line: String = line.chars().take(60).collect();
            parser.problem(at, format!("{} (in `{line}`)", e.message().replace('\n', ", ")));
        }
    }
    parser.parsed
}

#[derive(Default)]
struct Parser<'a> {
    text: &'a str,
    parsed: ParsedSweatfile,
    /// What is wrong with values of `[env]` if they are templates, which `template` may say later.
    in_templates: Vec<Remark>,
}

impl Parser<'_> {
    fn document(&mut self, table: &toml_edit::Table) {
        let mut newer: Vec<(Position, &str)> = Vec::new();
        for (key, item) in table.iter() {
            let at = self.at(table, key);
            match key {
                "git_excludes" | "setup" | "teardown" => self.array(key, at, item),
                "env" => self.env(at, item),
                "files" => self.files(at, item),
                "caches" => self.caches(at, item),
                "template" => match item.as_bool() {
                    Some(on) => self.parsed.sweatfile.template = on,
                    None => self.problem(at, format!("`template` must be true or false, not {}", with_article(item))),
                },
                _ if NEWER.contains(&key) => newer.push((at, key)),
                _ => {
                    let text = format!("unknown key `{key}` is ignored{}", did_you_mean(key, &TOP));
                    self.parsed.warnings.push(Remark { at, text });
                }
            }
        }
        if let Some((at, _)) = newer.first() {
            let keys = newer.iter().map(|(_, key)| *key).collect::<Vec<_>>().join("`, `");
            let text =
                format!("`{keys}`: of the newer format, and not run; `sweatfile-apply convert` prints it in this one");
            self.parsed.warnings.push(Remark { at: *at, text });
        }
        if self.parsed.sweatfile.template {
            self.parsed.problems.append(&mut self.in_templates);
        }
        self.prefixes();
    }

    /// The entries of the table `name`, each with its position. A problem if it is none.
    fn entries<'i>(&mut self, name: &str, at: Position, item: &'i Item) -> Vec<(&'i str, Position, &'i Item)> {
        match item.as_table_like() {
            Some(table) => self.hoist(table),
            None => {
                self.problem(at, format!("`{name}` must be a table, not {}", with_article(item)));
                Vec::new()
            }
        }
    }

    fn env(&mut self, at: Position, item: &Item) {
        for (key, at, item) in self.entries("env", at, item) {
            if !env_variable::is_valid_name(key) {
                self.problem(at, format!("`{key}` is not a variable name; it must match [A-Za-z_][A-Za-z0-9_]*"));
                continue;
            }
            match item.as_str() {
                Some(value) if value.contains(['\0', '\r']) => {
                    self.problem(at, format!("the value of `{key}` contains a NUL or a carriage return"));
                }
                Some(value) => {
                    let text = unknown_filter(value).map(|why| format!("`{key}` in [env]: {why}"));
                    self.in_templates.extend(text.map(|text| Remark { at, text }));
                    self.parsed.sweatfile.env.insert(key.to_owned(), value.to_owned());
                }
                None => {
                    let hint = match item.as_value().filter(|v| !v.is_array() && !v.is_inline_table()) {
                        Some(value) => format!("; write `{key} = \"{}\"`", value.to_string().trim()),
                        None => String::new(),
                    };
                    self.problem(at, format!("`{key}` in [env] must be a string, not {}{hint}", with_article(item)));
                }
            }
        }
    }

    fn files(&mut self, at: Position, item: &Item) {
        for (key, at, item) in self.entries("files", at, item) {
            let Some(entry) = item.as_table_like() else {
                let (kind, header) = (with_article(item), quoted(key));
                self.problem(at, format!("files entry `{key}` must be a table, not {kind}; write `[files.{header}]`"));
                continue;
            };
            let destination = destination(key).map_err(|why| self.problem(at, format!("files entry `{key}`: {why}")));
            if let (Ok(destination), Some(mut body)) = (destination, self.entry(key, at, entry)) {
                if let Body::Source(source) = &mut body
                    && is_like(&destination.name().to_string_lossy(), READ_BY_GIT)
                {
                    body = Body::Copy(std::mem::take(source));
                }
                self.parsed.sweatfile.files.insert(destination, FileEntry { body, at });
            }
        }
    }

    fn caches(&mut self, at: Position, item: &Item) {
        for (key, at, item) in self.entries("caches", at, item) {
            let path = RelPath::parse(key.trim_end_matches('/')).map_err(|why| why.to_string());
            let cache = item.as_table_like().ok_or_else(|| "it must be a table".to_owned());
            match path.and_then(|path| Ok((path, Cache::parse(cache?)?))) {
                Ok((path, cache)) => drop(self.parsed.sweatfile.caches.insert(path, cache)),
                Err(why) => self.problem(at, format!("caches entry `{key}`: {why}")),
            }
        }
    }

    fn entry(&mut self, key: &str, at: Position, table: &dyn TableLike) -> Option<Body> {
        let (mut texts, mut template, mut good) = (BTreeMap::new(), None, true);
        for (name, at, item) in self.hoist(table) {
            let wrong = match (name, item.as_str(), item.as_bool()) {
                ("source" | "copy", Some(path), _) if path.contains('\0') => format!("`{name}` contains a NUL byte"),
                ("source" | "copy", Some(path), _) if is_anothers_home(path) => {
                    format!("`{name}`: only `~` and `~/path` are expanded, not `{path}`")
                }
                ("source" | "copy" | "content", Some(text), _) => {
                    texts.insert(name, text.to_owned());
                    continue;
                }
                ("template", _, Some(on)) => {
                    template = Some(on);
                    continue;
                }
                ("template", ..) => format!("`template` must be true or false, not {}", with_article(item)),
                ("source" | "content" | "copy", ..) => {
                    format!("`{name}` must be a string, not {}", with_article(item))
                }
                _ => unknown_in_entry(key, name, item),
            };
            good = false;
            self.problem(at, format!("files entry `{key}`: {wrong}"));
        }
        if !good {
            return None;
        }
        let is_full = |name: &&str| texts.get(*name).is_some_and(|text| !text.is_empty());
        let full: Vec<&str> = ["source", "copy", "content"].into_iter().filter(is_full).collect();
        if full.len() > 1 {
            self.problem(at, format!("files entry `{key}` has both `{}`; give one of them", full.join("` and `")));
            return None;
        }
        let mut text = |name: &str| texts.remove(name).unwrap_or_default();
        let body = match full.first() {
            Some(&"source") => Body::Source(text("source")),
            Some(&"copy") => Body::Copy(text("copy")),
            Some(_) => Body::Content { text: text("content"), template: template == Some(true) },
            None if texts.contains_key("source") || texts.contains_key("copy") => Body::Clear,
            None if texts.contains_key("content") => Body::Content { text: String::new(), template: false },
            None => {
                self.problem(at, format!("files entry `{key}` needs one of `source`, `content` or `copy`"));
                return None;
            }
        };
        if let Body::Content { text, template: true } = &body
            && let Some(why) = unknown_filter(text)
        {
            self.problem(at, format!("files entry `{key}`: {why}"));
            return None;
        }
        if template == Some(true) && !matches!(body, Body::Content { .. }) {
            self.problem(at, format!("files entry `{key}`: `template` works only with `content`"));
            return None;
        }
        Some(body)
    }

    /// The entries of a table, each with its position. Takes an array such as `setup` below a table header for the
    /// top-level one. TOML gives it to the table, but its author can only have meant the file.
    fn hoist<'i>(&mut self, table: &'i dyn TableLike) -> Vec<(&'i str, Position, &'i Item)> {
        let mut entries = Vec::new();
        for (key, item) in table.iter() {
            let at = self.at(table, key);
            if !ARRAYS.contains(&key) || !item.is_array() {
                entries.push((key, at, item));
                continue;
            }
            let text = format!("`{key}` is below a table header; move it above the first table");
            self.parsed.hoisted.push(Remark { at, text });
            self.array(key, at, item);
        }
        entries
    }

    fn array(&mut self, key: &str, at: Position, item: &Item) {
        let holds = if key == "setup" { "strings and tables" } else { "strings" };
        let parse = |table: &dyn TableLike| SetupStep::parse(table).map_err(|why| format!("an item of `{key}`: {why}"));
        let read = |value: &Value| match (value.as_str(), value.as_inline_table().filter(|_| key == "setup")) {
            (Some(text), _) => Ok(SetupStep::plain(text)),
            (None, Some(table)) => parse(table),
            (None, None) => Err(format!("`{key}` must hold {holds} only, not {}", value.type_name())),
        };
        // TOML writes an array that has only tables as `[[setup]]`, too.
        let tables = item.as_array_of_tables().filter(|_| key == "setup");
        let items: Vec<_> = match (item.as_array(), tables) {
            (Some(array), _) => array.iter().map(|value| (value.span(), read(value))).collect(),
            (None, Some(tables)) => tables.iter().map(|table| (table.span(), parse(table))).collect(),
            (None, None) => {
                return self.problem(at, format!("`{key}` must be an array of {holds}, not {}", with_article(item)));
            }
        };
        let (count, mut steps) = (items.len(), Vec::new());
        for (index, (span, step)) in items.into_iter().enumerate() {
            let at = Position::of(self.text, span.map_or(0, |s| s.start));
            let is_named =
                |other: &SetupStep| step.as_ref().is_ok_and(|step| step.name.is_some() && step.name == other.name);
            match step {
                Ok(step) if steps.iter().any(is_named) => {
                    self.problem(at, format!("two steps are called `{}`", step.name()));
                }
                Ok(step) if self.item(key, at, &step.run, index + 1 == count) => steps.push(step),
                Ok(_) => {}
                Err(why) => self.problem(at, why),
            }
        }
        let strings = |steps: Vec<SetupStep>| steps.into_iter().map(|step| step.run).collect();
        let sweatfile = &mut self.parsed.sweatfile;
        let is_second = match key {
            "setup" => sweatfile.setup.replace(steps).is_some(),
            "teardown" => sweatfile.teardown.replace(strings(steps)).is_some(),
            _ => sweatfile.git_excludes.replace(strings(steps)).is_some(),
        };
        if is_second {
            self.problem(at, format!("`{key}` is given in two places; keep one of them, above the first table"));
        }
    }

    /// Whether the text of an item of an array is one.
    fn item(&mut self, key: &str, at: Position, text: &str, is_last: bool) -> bool {
        let is_command = key != "git_excludes";
        if text.contains('\0') {
            self.problem(at, format!("an item of `{key}` contains a NUL byte"));
        } else if !is_command && (text.trim().is_empty() || text.contains(['\n', '\r'])) {
            self.problem(at, "an exclude pattern must be one line that is not empty");
        } else if !is_command && text.starts_with('#') {
            self.problem(at, format!("the exclude pattern `{text}` would be a comment; write `\\\\{text}`"));
        } else {
            if is_command {
                let quoted =
                    "a placeholder stands within quotes or behind a backslash; its value is one word without them";
                let why = unknown_filter(text).or(is_within_quotes(text).then(|| quoted.to_owned()));
                let why = why.map(|why| format!("an item of `{key}`: {why}"));
                self.in_templates.extend(why.map(|text| Remark { at, text }));
            }
            if is_command && only_sets_state(text, is_last) {
                let why = "has no effect outside of its own shell; join it with the next command by `&&`";
                self.parsed.warnings.push(Remark { at, text: format!("`{text}` {why}") });
            }
            return true;
        }
        false
    }

    /// Finds entries inside each other: with `claude` as a link, `claude/x` would be written through the link.
    fn prefixes(&mut self) {
        let problems = prefix_clashes(self.parsed.sweatfile.files.iter().map(|(path, entry)| (path, &entry.body)));
        for (outer, inner) in problems {
            let at = self.parsed.sweatfile.files[&inner].at;
            let (outer, inner) = (key_of(&outer), key_of(&inner));
            self.problem(at, format!("files entries `{outer}` and `{inner}`: one lies inside the other"));
        }
    }

    fn problem(&mut self, at: Position, text: impl Into<String>) {
        self.parsed.problems.push(Remark { at, text: text.into() });
    }

    fn at(&self, table: &dyn TableLike, key: &str) -> Position {
        let in_key = table.get_key_value(key).and_then(|(k, item)| k.span().or(item.span()));
        Position::of(self.text, in_key.map_or(0, |s| s.start))
    }
}

/// Whether a set-up command changes only its own shell, as `cd x` and `X=y` do. A script that is read with `.` may work, and
/// as the last command it is meant to.
fn only_sets_state(command: &str, is_last: bool) -> bool {
    let command = command.trim();
    let inner = command.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(command);
    if inner.split_whitespace().next() == Some("eval") {
        return !is_last;
    }
    let parts: Vec<&str> = inner.split(';').flat_map(|part| part.split("&&")).map(str::trim).collect();
    let is_plain = |part: &&str| !part.contains(['&', '|', '\n', '`', '(', ')']);
    let mut parts = parts.iter().filter(|part| !part.is_empty()).peekable();
    parts.peek().is_some() && parts.all(|part| is_plain(part) && sets_state(part, is_last))
}

/// The same of a simple command.
fn sets_state(command: &str, is_last: bool) -> bool {
    let mut words = command.split_whitespace();
    let is_assignment = |word: &str| word.split_once('=').is_some_and(|(name, _)| env_variable::is_valid_name(name));
    match (words.clone().next().unwrap_or_default(), words.clone().nth(1)) {
        ("." | "source", _) => !is_last,
        ("nvm" | "fnm", Some("use")) | ("conda" | "mamba", Some("activate")) => true,
        ("pyenv" | "rbenv" | "nodenv" | "asdf", Some("shell")) | ("module", Some("load")) => true,
        (first, _) => is_like(first, STATE) || !first.is_empty() && words.all(is_assignment),
    }
}

/// Pairs of destinations where one contains the other; cleared entries do not count.
pub fn prefix_clashes<'a>(files: impl Iterator<Item = (&'a RelPath, &'a Body)>) -> Vec<(RelPath, RelPath)> {
    let placed: BTreeSet<&RelPath> = files.filter(|(_, body)| **body != Body::Clear).map(|(path, _)| path).collect();
    let clashes = placed.iter().flat_map(|inner| {
        let above = std::iter::successors(inner.parent(), RelPath::parent);
        above.filter(|outer| placed.contains(outer)).map(|outer| (outer, (*inner).clone()))
    });
    clashes.collect()
}

/// The destination of a key in `[files]`: the key with a dot before it.
fn destination(key: &str) -> Result<RelPath, String> {
    let lower = key.to_ascii_lowercase();
    if key == "." || key == ".." || key.starts_with("./") || key.starts_with("../") {
        return Err("the path must not have `.` or `..` components".into());
    }
    if let Some(bare) = key.strip_prefix('.') {
        return Err(format!("drop the leading dot, it is added: `{}`", quoted(bare)));
    }
    if lower.split('/').next() == Some("git") {
        return Err("it would lie in git's own directory".into());
    }
    if lower.starts_with("sweatshop-env") {
        return Err("`.sweatshop-env` is written from [env]; the name is reserved".into());
    }
    if lower.starts_with("shopfloor-tmp-") {
        return Err("the name is reserved for temporary files".into());
    }
    // The key is checked without the dot too, so that `/etc` does not become `./etc`.
    RelPath::parse(key).map_err(|e| e.to_string())?;
    RelPath::parse(&format!(".{key}")).map_err(|e| e.to_string())
}

/// The key of a destination in `[files]`.
pub fn key_of(destination: &RelPath) -> String {
    let text = destination.to_string();
    text.strip_prefix('.').unwrap_or(&text).to_owned()
}

fn unknown_in_entry(key: &str, name: &str, item: &Item) -> String {
    if item.is_table_like() {
        // In `[files.settings.json]` the unquoted dot splits one key into two.
        let full = quoted(&format!("{key}.{}", leaf_path(name, item)));
        return format!("unknown key `{name}`; a key with a dot needs quotes: `[files.{full}]`");
    }
    format!("unknown key `{name}`{}", did_you_mean(name, &ENTRY))
}

/// The keys that an unquoted dot split, down to the table that looks like an entry.
fn leaf_path(name: &str, item: &Item) -> String {
    let inner =
        item.as_table_like().filter(|t| t.len() == 1).and_then(|t| t.iter().next().map(|(k, i)| (k.to_owned(), i)));
    match inner {
        Some((key, inner)) if inner.is_table_like() => format!("{name}.{}", leaf_path(&key, inner)),
        _ => name.to_owned(),
    }
}

/// A TOML basic string on one line. JSON's escapes are also TOML's, but TOML escapes DEL as well.
pub fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn quoted(key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if bare { key.to_owned() } else { format!("\"{key}\"") }
}

fn with_article(item: &Item) -> String {
    let name = item.type_name();
    let article = if name.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{article} {name}")
}

#[cfg(test)]
#[path = "sweatfile_tests.rs"]
mod tests;
