//! Settings from four places, each value with its source: flag, environment, the repository's
//! `.shopfloor/config.toml`, the user's `$XDG_CONFIG_HOME/shopfloor/config.toml`; else the default.

use std::path::{Path, PathBuf};

use toml_edit::{Document, Item};

use crate::approval::{Approvals, Status};
use crate::env::Env;
use crate::error::{Failure, Result};
use crate::fs::{self, Root};
use crate::git::Home;
use crate::path::RelPath;
use crate::text::{Position, nearest};

/// The tools that have a table.
const TOOLS: [&str; 5] = ["sweatfile-apply", "overlay-sync", "ledger-synth", "worktree-spawn", "worker-ctl"];

/// The repository's file, below its main checkout.
pub const REPOSITORY_FILE: &str = ".shopfloor/config.toml";

/// A setting a tool knows.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its key in the tool's table; with dashes its flag.
    pub name: &'static str,
    /// Its environment variable.
    pub variable: &'static str,
    /// What kind of value it takes.
    pub kind: Kind,
    /// Whether it names a command or a place outside the repository, so that the repository's file
    /// sets it only once approved.
    pub guarded: bool,
}

/// What kind of value a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A string as it stands.
    Text,
    /// A whole number that is not negative.
    Number,
    /// `true` or `false`.
    Truth,
    /// A path: `~/` is the home directory; a relative one starts at the main checkout in the
    /// repository's file, at its own directory in the user's, else at the current directory.
    Path,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The command line.
    Flag,
    /// This environment variable.
    Variable(&'static str),
    /// The repository's file, at this line.
    Repository(PathBuf, usize),
    /// The user's file, at this line.
    User(PathBuf, usize),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Flag => f.write_str("flag"),
            Source::Variable(name) => write!(f, "environment: {name}"),
            Source::Repository(path, line) => write!(f, "repository: {}:{line}", path.display()),
            Source::User(path, line) => write!(f, "user: {}:{line}", path.display()),
        }
    }
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The value; for [`Kind::Path`] absolute.
    pub text: String,
    /// Its source.
    pub source: Source,
}

/// All settings of one tool.
#[derive(Debug, Default)]
pub struct Config {
    values: Vec<(&'static str, Option<Value>)>,
    /// What a person should hear: unknown keys, with file, line and the nearest known one.
    pub warnings: Vec<String>,
    /// The text of the repository's file, when it sets something guarded: what approval is about.
    pub guarded_text: Option<String>,
    /// Whether guarded settings were left out because that text is not approved.
    pub unapproved: bool,
}

impl Config {
    /// The value in force, if any place sets one.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(n, _)| *n == name).and_then(|(_, v)| v.as_ref())
    }

    /// A number in force, or its default.
    pub fn number(&self, name: &str, default: u64) -> u64 {
        self.value(name).and_then(|v| v.text.parse().ok()).unwrap_or(default)
    }

    /// A truth in force, or its default.
    pub fn truth(&self, name: &str, default: bool) -> bool {
        self.value(name).and_then(|v| v.text.parse().ok()).unwrap_or(default)
    }

    /// Every setting in the order declared, set or not.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, Option<&Value>)> {
        self.values.iter().map(|(name, value)| (*name, value.as_ref()))
    }
}

/// Reads both files and the environment for the settings of `tool`; `flags` are those given, and
/// `trust_repository` is a person's approval for this run. Exit 2 with file, line and column on a
/// syntax error or a wrong type.
pub fn load(
    env: &Env,
    home: &Home,
    tool: &str,
    settings: &[Setting],
    flags: &[(&str, Option<&Path>)],
    trust_repository: bool,
) -> Result<Config> {
    let mut config = Config::default();
    let user_file = env.config_home().map(|dir| dir.join("config.toml"));
    let user = match &user_file {
        Some(path) => File::parse(path, fs::read(path)?, tool, settings, &mut config.warnings)?,
        None => None,
    };
    let repository_path = home.checkout.join(REPOSITORY_FILE);
    // A branch must not make it lead out of the repository.
    let below = RelPath::parse(REPOSITORY_FILE).map_err(|e| Failure::failed(e.0))?;
    let bytes = Root::open(&home.checkout)?.read(&below)?;
    let mut repository = File::parse(&repository_path, bytes, tool, settings, &mut config.warnings)?;
    if let Some(file) = &mut repository
        && file.values.iter().any(|(s, ..)| s.guarded)
    {
        config.guarded_text = Some(file.text.clone());
        let approved = || Approvals::load(env)?.status(&home.common_dir, REPOSITORY_FILE, file.text.as_bytes());
        if !trust_repository && approved()? != Status::Approved {
            file.values.retain(|(s, ..)| !s.guarded);
            config.unapproved = true;
        }
    }
    for setting in settings {
        let from_file = |file: &Option<File<'_>>| {
            file.as_ref()?
                .values
                .iter()
                .find(|(s, ..)| s.name == setting.name)
                .map(|(_, text, line)| (text.clone(), *line))
        };
        let flag = flags.iter().find(|(name, _)| *name == setting.name).and_then(|(_, value)| *value);
        let value = if let Some(flag) = flag {
            Some((flag.to_string_lossy().into_owned(), Source::Flag, env.cwd.clone()))
        } else if let Some(text) = env.var(setting.variable) {
            Some((text.to_string_lossy().into_owned(), Source::Variable(setting.variable), env.cwd.clone()))
        } else if let Some((text, line)) = from_file(&repository) {
            Some((text, Source::Repository(repository_path.clone(), line), home.checkout.clone()))
        } else if let (Some((text, line)), Some(path)) = (from_file(&user), &user_file) {
            Some((text, Source::User(path.clone(), line), path.parent().unwrap_or(path).to_path_buf()))
        } else {
            None
        };
        let value = value.map(|(text, source, base)| match setting.kind {
            Kind::Text | Kind::Number | Kind::Truth => Value { text, source },
            Kind::Path => Value { text: base.join(expand_home(env, &text)).to_string_lossy().into_owned(), source },
        });
        if let Some(value) = &value {
            let good = match setting.kind {
                Kind::Text | Kind::Path => true,
                Kind::Number => value.text.parse::<u64>().is_ok(),
                Kind::Truth => value.text.parse::<bool>().is_ok(),
            };
            if !good {
                let what = format!("{} cannot be `{}` ({})", setting.name, value.text, value.source);
                return Err(Failure::malformed(what).hint("see `--help` for what it takes"));
            }
        }
        config.values.push((setting.name, value));
    }
    Ok(config)
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

/// One file's table of the tool: what it sets, each with its line.
struct File<'a> {
    text: String,
    values: Vec<(&'a Setting, String, usize)>,
}

impl<'a> File<'a> {
    fn parse(
        path: &Path,
        bytes: Option<Vec<u8>>,
        tool: &str,
        settings: &'a [Setting],
        warnings: &mut Vec<String>,
    ) -> Result<Option<Self>> {
        let Some(bytes) = bytes else { return Ok(None) };
        let wrong = |at: Position, what: String| Failure::malformed(format!("{}:{at}: {what}", path.display()));
        let text = String::from_utf8(bytes).map_err(|e| {
            let valid = e.utf8_error().valid_up_to();
            let at = Position::of(&String::from_utf8_lossy(&e.as_bytes()[..valid]), valid);
            wrong(at, "not UTF-8".into())
        })?;
        let document = Document::parse(text.as_str()).map_err(|e| {
            let at = Position::of(&text, e.span().map_or(0, |s| s.start));
            wrong(at, e.message().to_owned())
        })?;
        let mut values = Vec::new();
        let position = |item: &Item| Position::of(&text, item.span().map_or(0, |s| s.start));
        for (key, item) in document.iter().filter(|(key, _)| !TOOLS.contains(key)) {
            if let Some(near) = nearest(key, &TOOLS) {
                warnings.push(format!(
                    "{}:{}: unknown table `{key}`; did you mean `{near}`?",
                    path.display(),
                    position(item).line
                ));
            }
        }
        if let Some(item) = document.get(tool) {
            let table = item.as_table_like().ok_or_else(|| {
                wrong(position(item), format!("`{tool}` must be a table")).hint(format!("write `[{tool}]`"))
            })?;
            for (key, item) in table.iter() {
                let Some(setting) = settings.iter().find(|s| s.name == key) else {
                    let names: Vec<_> = settings.iter().map(|s| s.name).collect();
                    let near = nearest(key, &names).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
                    warnings.push(format!("{}:{}: unknown setting `{key}`{near}", path.display(), position(item).line));
                    continue;
                };
                let (value, wanted) = match setting.kind {
                    Kind::Text | Kind::Path => (item.as_str().map(str::to_owned), "a string"),
                    Kind::Number => (item.as_integer().map(|n| n.to_string()), "a whole number"),
                    Kind::Truth => (item.as_bool().map(|b| b.to_string()), "true or false"),
                };
                let value = value.ok_or_else(|| {
                    wrong(position(item), format!("`{key}` must be {wanted}, not {}", item.type_name()))
                })?;
                values.push((setting, value, position(item).line));
            }
        }
        drop(document);
        Ok(Some(File { text, values }))
    }
}
