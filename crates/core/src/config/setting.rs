//! What settings there are: how a tool declares one, and what a value of it is.

use std::path::{Path, PathBuf};

use toml_edit::Item;

use crate::env::Env;
use crate::path::RelPath;
use crate::text::shell_word;

/// The settings of all tools that are [`Trust::Open`], and those that are [`Trust::Inside`], as a tool sees them in the
/// tables of the others, whose settings it does not know. A setting that is missing here counts as one that needs
/// approval; a test compares both lists with what the tools declare.
pub const OPEN_ELSEWHERE: [&str; 15] = [
    "overlay-sync.enabled",
    "overlay-sync.debounce_ms",
    "overlay-sync.max_wait_ms",
    "overlay-sync.on_conflict",
    "overlay-sync.merge_timeout_ms",
    "overlay-sync.paths",
    "overlay-sync.path.policy",
    "overlay-sync.path.direction",
    "overlay-sync.path.delete",
    "overlay-sync.path.local",
    "ledger-synth.retention",
    "ledger-synth.min_interval",
    "ledger-synth.session_window",
    "worktree-spawn.max_depth",
    "worktree-spawn.agent",
];

/// See [`OPEN_ELSEWHERE`].
pub const INSIDE_ELSEWHERE: [&str; 1] = ["worktree-spawn.worktree_base"];

/// What the repository's file, which a stranger may have written, may do with a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Set it, approved or not: it runs nothing and reaches nothing outside the repository.
    Open,
    /// Set it to a path inside the repository; to any other only once a person approved the file.
    Inside,
    /// Set it only once a person approved the file.
    Approved,
    /// Nothing: only the user's own files and the user set it.
    User,
}

impl Trust {
    pub(super) fn needs_approval(self, value: Option<&str>) -> bool {
        let leads_out = |value: &str| value.starts_with('~') || RelPath::parse(value).is_err();
        match self {
            // What only the user sets never counts from the repository, so there is nothing to approve.
            Trust::Open | Trust::User => false,
            Trust::Inside => value.is_some_and(leads_out),
            Trust::Approved => true,
        }
    }
}

/// A setting a tool knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its key in the tool's table; with dashes its flag.
    pub name: &'static str,
    /// Its environment variable; empty for what only files set.
    pub variable: &'static str,
    /// What kind of value it takes.
    pub kind: SettingType,
    /// What the repository's file may do with it.
    pub trust: Trust,
    /// What holds when no place sets it, in words; empty where nothing does.
    pub default: &'static str,
}

impl Setting {
    /// A setting with the kind of value it takes, and what the repository's file may do with it. One that runs a
    /// command or names a place anywhere cannot be open: such a declaration does not compile.
    pub const fn new(name: &'static str, variable: &'static str, kind: SettingType, trust: Trust) -> Setting {
        let reaches_out = matches!(kind, SettingType::Command | SettingType::Path);
        assert!(!(reaches_out && matches!(trust, Trust::Open)), "commands and paths need approval");
        Setting { name, variable, kind, trust, default: "" }
    }

    /// The same with what holds when no place sets it.
    pub const fn or(self, default: &'static str) -> Setting {
        Setting { default, ..self }
    }
}

/// What kind of value a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingType {
    /// A string as it stands.
    Text,
    /// A whole number that is not negative.
    Number,
    /// `true` or `false`.
    Truth,
    /// A path: `~/` is the home directory; a relative one starts at the main checkout in the
    /// repository's file, at its own directory in the user's, else at the current directory.
    Path,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Strings: an array in a file, separated by commas elsewhere.
    List,
    /// A command: an array is an argv, a string is for `sh -c`.
    Command,
    /// Tables of these settings, each under a name: `[tool.SETTING."NAME"]`. Only files have them.
    Tables(&'static [Setting]),
}

impl SettingType {
    /// What a file must hold, in words.
    pub(super) fn wanted(self) -> String {
        match self {
            SettingType::Text | SettingType::Path => "a string".into(),
            SettingType::Number => "a whole number".into(),
            SettingType::Truth => "true or false".into(),
            SettingType::Choice(words) => format!("one of {}", words.join(", ")),
            SettingType::List => "an array of strings".into(),
            SettingType::Command => "a string or an array of strings".into(),
            SettingType::Tables(_) => "a table of tables".into(),
        }
    }

    /// What an item of a file says, if it is of this kind.
    pub(super) fn read(self, item: &Item) -> Option<(String, Vec<String>)> {
        let strings = || -> Option<Vec<String>> {
            item.as_array()?.iter().map(|value| value.as_str().map(str::to_owned)).collect()
        };
        let text = match self {
            SettingType::Text | SettingType::Path => item.as_str()?.to_owned(),
            SettingType::Choice(words) => item.as_str().filter(|word| words.contains(word))?.to_owned(),
            SettingType::Number => item.as_integer().filter(|n| *n >= 0)?.to_string(),
            SettingType::Truth => item.as_bool()?.to_string(),
            SettingType::List => return strings().map(|items| (items.join(","), items)),
            SettingType::Command if item.is_str() => item.as_str()?.to_owned(),
            SettingType::Command => {
                return strings().filter(|argv| !argv.is_empty()).map(|argv| (argv.join(" "), argv));
            }
            SettingType::Tables(_) => return None,
        };
        Some((text, Vec::new()))
    }

    /// The same for a flag or an environment variable.
    pub(super) fn parse(self, text: &str) -> Option<Vec<String>> {
        let good = match self {
            SettingType::Text | SettingType::Path | SettingType::List | SettingType::Command => true,
            SettingType::Number => text.parse::<u64>().is_ok(),
            SettingType::Truth => text.parse::<bool>().is_ok(),
            SettingType::Choice(words) => words.contains(&text),
            SettingType::Tables(_) => false,
        };
        let items = text.split(',').map(str::trim).filter(|part| !part.is_empty() && self == SettingType::List);
        good.then(|| items.map(str::to_owned).collect())
    }
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingSource {
    /// The command line.
    Flag,
    /// This environment variable.
    Variable(&'static str),
    /// The repository's file, at this line.
    Repository(PathBuf, usize),
    /// The user's file, at this line.
    User(PathBuf, usize),
    /// A file of the tool's own, at this line.
    Own(PathBuf, usize),
}

impl std::fmt::Display for SettingSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SettingSource::Flag => f.write_str("flag"),
            SettingSource::Variable(name) => write!(f, "environment: {name}"),
            SettingSource::Repository(path, line) => write!(f, "repository: {}:{line}", path.display()),
            SettingSource::User(path, line) => write!(f, "user: {}:{line}", path.display()),
            SettingSource::Own(path, line) => write!(f, "{}:{line}", path.display()),
        }
    }
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The value; for [`SettingType::Path`] absolute.
    pub text: String,
    /// The strings of a [`SettingType::List`]; the argv of a [`SettingType::Command`], empty for one that `sh -c` takes.
    pub items: Vec<String>,
    /// Its source.
    pub source: SettingSource,
}

/// One table of a setting of [`SettingType::Tables`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The setting it belongs to.
    pub setting: &'static str,
    /// The name it stands under.
    pub name: String,
    pub(super) values: Vec<(&'static str, Value)>,
}

impl Row {
    /// What it sets, if it does.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }
}

/// A value whose path, if it is one, starts at `base`.
pub(super) fn placed(env: &Env, setting: &Setting, value: Value, base: &Path) -> Value {
    match setting.kind {
        SettingType::Path => {
            Value { text: base.join(expand_home(env, &value.text)).to_string_lossy().into_owned(), ..value }
        }
        _ => value,
    }
}

/// A command as it was configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// For `sh -c`.
    Shell(String),
    /// A program and its arguments.
    Argv(Vec<String>),
}

impl Line {
    /// The command that a setting of [`SettingType::Command`] holds.
    pub fn of(value: &Value) -> Line {
        if value.items.is_empty() { Line::Shell(value.text.clone()) } else { Line::Argv(value.items.clone()) }
    }

    /// The same as a line for `sh`.
    pub fn shell(&self) -> String {
        let words = |argv: &[String]| argv.iter().map(|word| shell_word(Path::new(word))).collect::<Vec<_>>().join(" ");
        match self {
            Line::Shell(line) => line.clone(),
            Line::Argv(argv) => words(argv),
        }
    }
}

/// `~` and `~/x` as paths below the home directory; everything else as it is.
pub fn expand_home(env: &Env, path: &str) -> PathBuf {
    let below = if path == "~" { Some("") } else { path.strip_prefix("~/") };
    match (below, env.home()) {
        (Some(""), Some(home)) => home.to_path_buf(),
        (Some(below), Some(home)) => home.join(below),
        _ => PathBuf::from(path),
    }
}
