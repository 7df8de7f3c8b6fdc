//! Declarations of settings, and the types of their values and sources.

use std::path::{Path, PathBuf};

use toml_edit::Item;

use crate::env::Env;
use crate::path::RelPath;
use crate::text::shell_word;
use crate::time::{self, Unit};

/// The settings of all tools that are [`Trust::Open`]. A tool does not know the settings of the other tools, so it
/// looks them up here when it reads their tables. [`INSIDE_ELSEWHERE`] lists those that are [`Trust::Inside`]. A
/// setting that is in neither list counts as one that needs approval. A test compares both lists with the declarations
/// of the tools.
pub const OPEN_ELSEWHERE: [&str; 19] = [
    "overlay-sync.enabled",
    "overlay-sync.debounce_ms",
    "overlay-sync.max_wait_ms",
    "overlay-sync.on_conflict",
    "overlay-sync.merge_timeout_ms",
    "overlay-sync.paths",
    "overlay-sync.paths_except",
    "overlay-sync.paths_max_bytes",
    "overlay-sync.path.policy",
    "overlay-sync.path.remote",
    "overlay-sync.path.direction",
    "overlay-sync.path.delete",
    "overlay-sync.path.local",
    "ledger-synth.retention",
    "ledger-synth.min_interval",
    "ledger-synth.session_window",
    "ledger-synth.tracked",
    "worktree-spawn.max_depth",
    "worktree-spawn.agent",
];

/// See [`OPEN_ELSEWHERE`].
pub const INSIDE_ELSEWHERE: [&str; 1] = ["worktree-spawn.worktree_base"];

/// How far the repository's file is trusted with a setting. A stranger may have written that file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The file may set it without approval, because the setting runs nothing and reaches nothing outside the
    /// repository.
    Open,
    /// The file may set it to a path inside the repository. It may set any other path only after a person has approved
    /// the file.
    Inside,
    /// The file may set it only after a person has approved the file.
    Approved,
    /// The file may not set it. Only the user's own files, flags and variables set it.
    User,
}

impl Trust {
    pub(super) fn needs_approval(self, value: Option<&str>) -> bool {
        let leads_out = |value: &str| value.starts_with('~') || RelPath::parse(value).is_err();
        match self {
            // The repository's file can never set a `User` setting, so there is nothing to approve.
            Trust::Open | Trust::User => false,
            Trust::Inside => value.is_some_and(leads_out),
            Trust::Approved => true,
        }
    }
}

/// The word for no length of time.
pub const NEVER: &str = "never";

/// A setting that a tool knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its key in the tool's table. With dashes instead of underscores, this is also the name of its flag.
    pub name: &'static str,
    /// Its environment variable; empty if only files can set it.
    pub variable: &'static str,
    /// What kind of value it takes.
    pub kind: SettingType,
    /// How far the repository's file is trusted with it.
    pub trust: Trust,
    /// The default, as text; empty if there is no default.
    pub default: &'static str,
    /// Its flag, if every command takes one. See [`crate::args::SettingFlags`].
    pub flag: Option<SettingFlag>,
}

/// The flag of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingFlag {
    /// What stands for its value in the help.
    pub value_name: &'static str,
    /// The help, without the variable and the default.
    pub help: &'static str,
    /// The subcommands that use it.
    pub users: Users,
}

/// The subcommands that use a flag of all of them, and whose help lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Users {
    /// Each subcommand.
    All,
    /// These.
    Only(&'static [&'static str]),
    /// All others.
    AllBut(&'static [&'static str]),
}

impl Users {
    /// Whether this subcommand is one of them.
    pub fn include(self, name: &str) -> bool {
        match self {
            Users::All => true,
            Users::Only(names) => names.contains(&name),
            Users::AllBut(names) => !names.contains(&name),
        }
    }
}

impl Setting {
    /// Declares a setting. A setting that is a command or a path cannot be [`Trust::Open`]: such a declaration does not
    /// compile.
    pub const fn new(name: &'static str, variable: &'static str, kind: SettingType, trust: Trust) -> Setting {
        let reaches_out = matches!(kind, SettingType::Command | SettingType::Path);
        assert!(!(reaches_out && matches!(trust, Trust::Open)), "commands and paths need approval");
        Setting { name, variable, kind, trust, default: "", flag: None }
    }

    /// The same setting with a default.
    pub const fn or(self, default: &'static str) -> Setting {
        Setting { default, ..self }
    }

    /// The same setting with a flag that every command takes.
    pub const fn flag(self, value_name: &'static str, help: &'static str, users: Users) -> Setting {
        Setting { flag: Some(SettingFlag { value_name, help, users }), ..self }
    }
}

/// What kind of value a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingType {
    /// A string that is taken unchanged.
    Text,
    /// A whole number that is not negative.
    Number,
    /// `true` or `false`.
    Truth,
    /// A length of time: a number in this unit, or a string with a number and a unit.
    Duration(Unit),
    /// A length of time, in which a number alone means seconds, or `never`.
    DurationOrNever,
    /// A path. `~/` is the home directory. A relative path starts at the main checkout if it is in the repository's
    /// file, at the directory of the user's file if it is in that file, and otherwise at the current directory.
    Path,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Strings: an array in a file, separated by commas elsewhere.
    List,
    /// A command: an array is an argv, a string is for `sh -c`.
    Command,
    /// Variables: a table of strings. Only files have them.
    Variables,
    /// Tables of these settings, each under a name: `[tool.SETTING."NAME"]`. Only files have them.
    Tables(&'static [Setting]),
}

impl SettingType {
    /// The type of value that a file must have, in words for messages.
    pub(super) fn wanted(self) -> String {
        match self {
            SettingType::Text => "a string".into(),
            SettingType::Path => "a string (write the home of another user out)".into(),
            SettingType::Number => "a whole number from 0".into(),
            SettingType::Truth => "true or false".into(),
            SettingType::Duration(_) => "a length of time, such as \"90s\" or \"2h\"".into(),
            SettingType::DurationOrNever => "a length of time, such as \"90s\" or \"7d\", or \"never\"".into(),
            SettingType::Choice(words) => format!("one of {}", words.join(", ")),
            SettingType::List => "an array of strings".into(),
            SettingType::Command => "a string or an array of strings".into(),
            SettingType::Variables => "a table of strings".into(),
            SettingType::Tables(_) => "a table of tables".into(),
        }
    }

    /// Reads an item of a file. Returns its text and its list items, or `None` if it is not of this kind.
    pub(super) fn read(self, item: &Item) -> Option<(String, Vec<String>)> {
        let strings = || -> Option<Vec<String>> {
            item.as_array()?.iter().map(|value| value.as_str().map(str::to_owned)).collect()
        };
        let number = || item.as_integer().map(|number| number.to_string());
        let text = match self {
            SettingType::Number => number()?,
            SettingType::Truth => item.as_bool()?.to_string(),
            SettingType::Duration(_) | SettingType::DurationOrNever => number().or(item.as_str().map(str::to_owned))?,
            SettingType::List => return strings().map(|items| (items.join(","), items)),
            SettingType::Variables => {
                let variables = item.as_table_like()?.iter();
                let items = variables.map(|(name, value)| Some(format!("{name}={}", value.as_str()?)));
                return items.collect::<Option<Vec<_>>>().map(|items| (items.join(","), items));
            }
            SettingType::Command if !item.is_str() => {
                return strings().filter(|argv| !argv.is_empty()).map(|argv| (argv.join(" "), argv));
            }
            _ => item.as_str()?.to_owned(),
        };
        self.parse(&text).map(|items| (text, items))
    }

    /// Parses the text of a flag or an environment variable. Returns its list items, or `None` if it is not of this
    /// kind.
    pub(super) fn parse(self, text: &str) -> Option<Vec<String>> {
        let good = match self {
            SettingType::Text | SettingType::List | SettingType::Command => true,
            SettingType::Path => !is_anothers_home(text),
            SettingType::Number => text.parse::<u64>().is_ok(),
            SettingType::Truth => text.parse::<bool>().is_ok(),
            SettingType::Duration(unit) => time::parse_duration(text, unit).is_some(),
            SettingType::DurationOrNever => text == NEVER || time::parse_duration(text, Unit::Seconds).is_some(),
            SettingType::Choice(words) => words.contains(&text),
            SettingType::Variables | SettingType::Tables(_) => false,
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
    /// The strings of a [`SettingType::List`]; the argv of a [`SettingType::Command`], empty for one that `sh -c`
    /// takes; `NAME=VALUE` of [`SettingType::Variables`].
    pub items: Vec<String>,
    /// Its source.
    pub source: SettingSource,
}

/// One table of a setting of [`SettingType::Tables`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The setting that the table belongs to.
    pub setting: &'static str,
    /// The name of the table.
    pub name: String,
    /// What it sets.
    pub values: Vec<(Setting, Value)>,
}

impl Row {
    /// The value of a setting in this table, if the table sets it.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(setting, _)| setting.name == name).map(|(_, value)| value)
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

    /// The command as a line for `sh`.
    pub fn shell(&self) -> String {
        let words = |argv: &[String]| argv.iter().map(|word| shell_word(Path::new(word))).collect::<Vec<_>>().join(" ");
        match self {
            Line::Shell(line) => line.clone(),
            Line::Argv(argv) => words(argv),
        }
    }
}

/// Whether a path begins with `~NAME`, which shells take for the home of that user. We would make a directory of that
/// name.
pub fn is_anothers_home(path: &str) -> bool {
    path.strip_prefix('~').is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
}

/// Turns `~` and `~/x` into paths below the home directory. Other paths stay unchanged.
pub fn expand_home(env: &Env, path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    let below = path.to_str().and_then(|path| if path == "~" { Some("") } else { path.strip_prefix("~/") });
    match (below, env.home()) {
        (Some(""), Some(home)) => home.to_path_buf(),
        (Some(below), Some(home)) => home.join(below),
        _ => path.to_path_buf(),
    }
}
