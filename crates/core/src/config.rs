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
use crate::text::{Position, nearest, shell_word};

/// The tools that have a table.
const TOOLS: [&str; 5] = ["sweatfile-apply", "overlay-sync", "ledger-synth", "worktree-spawn", "worker-ctl"];

/// The repository's file, below its main checkout.
pub const REPOSITORY_FILE: &str = ".shopfloor/config.toml";

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
    fn needs_approval(self, value: Option<&str>) -> bool {
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
    pub kind: Kind,
    /// What the repository's file may do with it.
    pub trust: Trust,
    /// What holds when no place sets it, in words; empty where nothing does.
    pub default: &'static str,
}

impl Setting {
    /// A setting with the kind of value it takes, and what the repository's file may do with it. One that runs a command
    /// or names a place anywhere cannot be open: such a declaration does not compile.
    pub const fn new(name: &'static str, variable: &'static str, kind: Kind, trust: Trust) -> Setting {
        let reaches_out = matches!(kind, Kind::Command | Kind::Path);
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
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Strings: an array in a file, separated by commas elsewhere.
    List,
    /// A command: an array is an argv, a string is for `sh -c`.
    Command,
    /// Tables of these settings, each under a name: `[tool.SETTING."NAME"]`. Only files have them.
    Tables(&'static [Setting]),
}

impl Kind {
    /// What a file must hold, in words.
    fn wanted(self) -> String {
        match self {
            Kind::Text | Kind::Path => "a string".into(),
            Kind::Number => "a whole number".into(),
            Kind::Truth => "true or false".into(),
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
            Kind::List => "an array of strings".into(),
            Kind::Command => "a string or an array of strings".into(),
            Kind::Tables(_) => "a table of tables".into(),
        }
    }

    /// What an item of a file says, if it is of this kind.
    fn read(self, item: &Item) -> Option<(String, Vec<String>)> {
        let strings = || -> Option<Vec<String>> {
            item.as_array()?.iter().map(|value| value.as_str().map(str::to_owned)).collect()
        };
        let text = match self {
            Kind::Text | Kind::Path => item.as_str()?.to_owned(),
            Kind::Choice(words) => item.as_str().filter(|word| words.contains(word))?.to_owned(),
            Kind::Number => item.as_integer().filter(|n| *n >= 0)?.to_string(),
            Kind::Truth => item.as_bool()?.to_string(),
            Kind::List => return strings().map(|items| (items.join(","), items)),
            Kind::Command if item.is_str() => item.as_str()?.to_owned(),
            Kind::Command => {
                return strings().filter(|argv| !argv.is_empty()).map(|argv| (argv.join(" "), argv));
            }
            Kind::Tables(_) => return None,
        };
        Some((text, Vec::new()))
    }

    /// The same for a flag or an environment variable.
    fn parse(self, text: &str) -> Option<Vec<String>> {
        let good = match self {
            Kind::Text | Kind::Path | Kind::List | Kind::Command => true,
            Kind::Number => text.parse::<u64>().is_ok(),
            Kind::Truth => text.parse::<bool>().is_ok(),
            Kind::Choice(words) => words.contains(&text),
            Kind::Tables(_) => false,
        };
        let items = text.split(',').map(str::trim).filter(|part| !part.is_empty() && self == Kind::List);
        good.then(|| items.map(str::to_owned).collect())
    }
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
    /// A file of the tool's own, at this line.
    Own(PathBuf, usize),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Flag => f.write_str("flag"),
            Source::Variable(name) => write!(f, "environment: {name}"),
            Source::Repository(path, line) => write!(f, "repository: {}:{line}", path.display()),
            Source::User(path, line) => write!(f, "user: {}:{line}", path.display()),
            Source::Own(path, line) => write!(f, "{}:{line}", path.display()),
        }
    }
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The value; for [`Kind::Path`] absolute.
    pub text: String,
    /// The strings of a [`Kind::List`]; the argv of a [`Kind::Command`], empty for one that `sh -c` takes.
    pub items: Vec<String>,
    /// Its source.
    pub source: Source,
}

/// One table of a setting of [`Kind::Tables`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The setting it belongs to.
    pub setting: &'static str,
    /// The name it stands under.
    pub name: String,
    values: Vec<(&'static str, Value)>,
}

impl Row {
    /// What it sets, if it does.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }
}

/// All settings of one tool.
#[derive(Debug, Default)]
pub struct Config {
    values: Vec<(&'static str, Option<Value>)>,
    defaults: Vec<&'static str>,
    rows: Vec<Row>,
    /// What a person should hear: unknown keys, with file, line and the nearest known one.
    pub warnings: Vec<String>,
    /// The text of the repository's file, when it sets something guarded: what approval is about.
    pub guarded_text: Option<String>,
    /// Whether guarded settings were left out because that text is not approved.
    pub unapproved: bool,
    /// What the user's own file sets, in force or not.
    user: Vec<(&'static str, Value)>,
}

impl Config {
    /// The value in force, if any place sets one.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(n, _)| *n == name).and_then(|(_, v)| v.as_ref())
    }

    /// What the user's own file says, whether or not something else is in force: no variable and no repository had a
    /// part in it.
    pub fn users(&self, name: &str) -> Option<&Value> {
        self.user.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    /// A number in force, or its default.
    pub fn number(&self, name: &str, default: u64) -> u64 {
        self.value(name).and_then(|v| v.text.parse().ok()).unwrap_or(default)
    }

    /// A truth in force, or its default.
    pub fn truth(&self, name: &str, default: bool) -> bool {
        self.value(name).and_then(|v| v.text.parse().ok()).unwrap_or(default)
    }

    /// Every setting in the order declared, set or not; then what tables set.
    pub fn all(&self) -> impl Iterator<Item = (String, Option<&Value>)> {
        let tables = self.rows.iter().flat_map(|row| {
            row.values.iter().map(move |(name, value)| (format!("{}.{:?}.{name}", row.setting, row.name), Some(value)))
        });
        self.values.iter().map(|(name, value)| ((*name).to_owned(), value.as_ref())).chain(tables)
    }

    /// What holds when no place sets a setting, in words.
    pub fn default_of(&self, name: &str) -> Option<&'static str> {
        let at = self.values.iter().position(|(n, _)| *n == name)?;
        self.defaults.get(at).copied().filter(|default| !default.is_empty())
    }

    /// Everything a person should hear of the settings, also that some need approval.
    pub fn said(&self) -> Vec<String> {
        let unapproved = self.unapproved.then(|| {
            format!("{REPOSITORY_FILE} sets what needs approval, so that is left out; run `sweatfile-apply approve`")
        });
        self.warnings.iter().cloned().chain(unapproved).collect()
    }

    /// The tables, the user's before the repository's: of several that speak of one thing the last counts.
    pub fn rows(&self) -> &[Row] {
        &self.rows
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
    if let Some(file) = repository.as_mut() {
        file.leave_out_users(&repository_path, &mut config.warnings);
    }
    if let Some(file) = repository.as_mut().filter(|file| file.is_guarded) {
        config.guarded_text = Some(file.text.clone());
        let approved = || Approvals::load(env)?.status(&home.common_dir, REPOSITORY_FILE, file.text.as_bytes());
        if !trust_repository && approved()? != Status::Approved {
            config.unapproved = file.leave_out_guarded();
        }
    }
    if let (Some(file), Some(path)) = (&user, &user_file) {
        config.rows.extend(file.rows(|line| Source::User(path.clone(), line)));
    }
    if let Some(file) = &repository {
        config.rows.extend(file.rows(|line| Source::Repository(repository_path.clone(), line)));
    }
    for setting in settings.iter().filter(|setting| !matches!(setting.kind, Kind::Tables(_))) {
        let users = user.as_ref().zip(user_file.as_deref()).and_then(|(file, path)| {
            let base = path.parent().unwrap_or(path);
            Some(file.value(setting.name)?.placed(env, base, |line| Source::User(path.to_path_buf(), line)))
        });
        let repositorys = repository.as_ref().and_then(|file| file.value(setting.name));
        let repositorys = repositorys
            .map(|said| said.placed(env, &home.checkout, |line| Source::Repository(repository_path.clone(), line)));
        let outside = outside(env, setting, flags)?.map(|value| placed(env, setting, value, &env.cwd));
        config.user.extend(users.clone().map(|value| (setting.name, value)));
        config.values.push((setting.name, outside.or(repositorys).or(users)));
        config.defaults.push(setting.default);
    }
    Ok(config)
}

/// A value whose path, if it is one, starts at `base`.
fn placed(env: &Env, setting: &Setting, value: Value, base: &Path) -> Value {
    match setting.kind {
        Kind::Path => Value { text: base.join(expand_home(env, &value.text)).to_string_lossy().into_owned(), ..value },
        _ => value,
    }
}

/// The same for a tool with a file of its own, whose tables are given with the settings in each: flag, environment, file.
/// Paths are left as they are said.
pub fn load_own(
    env: &Env,
    path: &Path,
    tables: &[(&str, &'static [Setting])],
    flags: &[(&str, Option<&Path>)],
) -> Result<Config> {
    let mut config = Config::default();
    let bytes = fs::read(path)?;
    for (table, settings) in tables {
        let file = File::parse(path, bytes.clone(), table, settings, &mut config.warnings)?;
        for setting in *settings {
            let said = file.as_ref().and_then(|file| file.value(setting.name));
            let said =
                said.map(|v| Value { text: v.text, items: v.items, source: Source::Own(path.to_path_buf(), v.line) });
            config.values.push((setting.name, outside(env, setting, flags)?.or(said)));
            config.defaults.push(setting.default);
        }
    }
    Ok(config)
}

/// What a flag or the environment sets.
fn outside(env: &Env, setting: &Setting, flags: &[(&str, Option<&Path>)]) -> Result<Option<Value>> {
    let flag = flags.iter().find(|(name, _)| *name == setting.name).and_then(|(_, value)| *value);
    let said = match flag {
        Some(flag) => Some((flag.to_string_lossy().into_owned(), Source::Flag)),
        None => {
            env.var(setting.variable).map(|v| (v.to_string_lossy().into_owned(), Source::Variable(setting.variable)))
        }
    };
    let Some((text, source)) = said else { return Ok(None) };
    let items = setting.kind.parse(&text).ok_or_else(|| {
        let wanted = setting.kind.wanted();
        Failure::malformed(format!("{} must be {wanted}, not `{text}` ({source})", setting.name))
            .hint("see `--help` for what it takes")
    })?;
    Ok(Some(Value { text, items, source }))
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
    /// The command that a setting of [`Kind::Command`] holds.
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

/// One setting as a file has it.
#[derive(Clone)]
struct Said<'a> {
    setting: &'a Setting,
    text: String,
    items: Vec<String>,
    line: usize,
}

impl Said<'_> {
    /// The value, with where it stands.
    fn placed(self, env: &Env, base: &Path, source: impl Fn(usize) -> Source) -> Value {
        placed(env, self.setting, Value { text: self.text, items: self.items, source: source(self.line) }, base)
    }

    fn needs_approval(&self) -> bool {
        self.setting.trust.needs_approval(Some(&self.text))
    }
}

/// One file's table of the tool.
struct File<'a> {
    text: String,
    values: Vec<Said<'a>>,
    tables: Vec<(&'static str, String, Vec<Said<'a>>)>,
    /// Whether it sets something guarded, for whichever tool.
    is_guarded: bool,
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
        let mut reader = Reader { path, text: &text, warnings };
        // A file of a tool's own has other tables.
        let is_shared = TOOLS.contains(&tool);
        for (key, item) in document.iter().filter(|(key, _)| is_shared && !TOOLS.contains(key)) {
            if let Some(near) = nearest(key, &TOOLS) {
                reader.warn(item, format!("unknown table `{key}`; did you mean `{near}`?"));
            }
        }
        let mut is_guarded = is_shared && TOOLS.iter().any(|other| *other != tool && sets_guarded(&document, other));
        let (mut values, mut tables) = (Vec::new(), Vec::new());
        if let Some(item) = document.get(tool) {
            values = reader.table(tool, item, settings)?;
            for setting in settings {
                let Kind::Tables(inner) = setting.kind else { continue };
                let Some(item) = item.get(setting.name) else { continue };
                let named = item.as_table_like().ok_or_else(|| reader.wrong(setting.name, setting.kind, item))?;
                for (name, item) in named.iter() {
                    let table = format!("{tool}.{}.{name:?}", setting.name);
                    tables.push((setting.name, name.to_owned(), reader.table(&table, item, inner)?));
                }
            }
        }
        drop(document);
        is_guarded |= values.iter().chain(tables.iter().flat_map(|(_, _, values)| values)).any(Said::needs_approval);
        Ok(Some(File { text, values, tables, is_guarded }))
    }

    fn value(&self, name: &str) -> Option<Said<'a>> {
        self.values.iter().find(|said| said.setting.name == name).cloned()
    }

    /// Forgets what only the user's own file may set, approved or not.
    fn leave_out_users(&mut self, path: &Path, warnings: &mut Vec<String>) {
        self.values.retain(|said| {
            let is_users = said.setting.trust == Trust::User;
            if is_users {
                let (line, name) = (said.line, said.setting.name);
                warnings.push(format!("{}:{line}: only the user's own config.toml may set `{name}`", path.display()));
            }
            !is_users
        });
    }

    /// Forgets what is guarded; `true` when that is anything.
    fn leave_out_guarded(&mut self) -> bool {
        let all = self.tables.iter_mut().map(|(_, _, values)| values).chain([&mut self.values]);
        all.fold(false, |any, values| {
            let before = values.len();
            values.retain(|said| !said.needs_approval());
            any || values.len() < before
        })
    }

    fn rows(&self, source: impl Fn(usize) -> Source) -> Vec<Row> {
        let value = |said: &Said<'_>| {
            let value = Value { text: said.text.clone(), items: said.items.clone(), source: source(said.line) };
            (said.setting.name, value)
        };
        let row = |(setting, name, values): &(&'static str, String, Vec<Said<'_>>)| Row {
            setting,
            name: name.clone(),
            values: values.iter().map(value).collect(),
        };
        self.tables.iter().map(row).collect()
    }
}

/// Whether the table of another tool, itself or in a table of it, sets something that needs approval.
fn sets_guarded(document: &Document<&str>, tool: &str) -> bool {
    let is_guarded = |name: &str, item: &Item| {
        let name = format!("{tool}.{name}");
        let is_inside = INSIDE_ELSEWHERE.contains(&name.as_str());
        let trust = if is_inside { Trust::Inside } else { Trust::Approved };
        !OPEN_ELSEWHERE.contains(&name.as_str()) && trust.needs_approval(item.as_str())
    };
    let Some(table) = document.get(tool).and_then(Item::as_table_like) else { return false };
    table.iter().any(|(key, item)| match item.as_table_like() {
        // Tables of settings, each under a name.
        Some(named) => named
            .iter()
            .filter_map(|(_, table)| table.as_table_like())
            .any(|table| table.iter().any(|(inner, item)| is_guarded(&format!("{key}.{inner}"), item))),
        None => is_guarded(key, item),
    })
}

/// What reading a file needs to tell where something is wrong.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    warnings: &'a mut Vec<String>,
}

impl Reader<'_> {
    fn at(&self, item: &Item) -> Position {
        Position::of(self.text, item.span().map_or(0, |s| s.start))
    }

    fn warn(&mut self, item: &Item, what: String) {
        let warning = format!("{}:{}: {what}", self.path.display(), self.at(item).line);
        self.warnings.push(warning);
    }

    fn wrong(&self, key: &str, kind: Kind, item: &Item) -> Failure {
        let value = match kind {
            Kind::Choice(_) => item.as_str().map_or(item.type_name().to_owned(), |word| format!("`{word}`")),
            _ => item.type_name().to_owned(),
        };
        let what = format!("`{key}` must be {}, not {value}", kind.wanted());
        Failure::malformed(format!("{}:{}: {what}", self.path.display(), self.at(item)))
    }

    /// What a table sets, but for tables in it.
    fn table<'s>(&mut self, name: &str, item: &Item, settings: &'s [Setting]) -> Result<Vec<Said<'s>>> {
        let Some(table) = item.as_table_like() else {
            let what = format!("{}:{}: `{name}` must be a table", self.path.display(), self.at(item));
            return Err(Failure::malformed(what).hint(format!("write `[{name}]`")));
        };
        let mut values = Vec::new();
        for (key, item) in table.iter() {
            let Some(setting) = settings.iter().find(|s| s.name == key) else {
                let names: Vec<_> = settings.iter().map(|s| s.name).collect();
                let near = nearest(key, &names).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
                self.warn(item, format!("unknown setting `{key}`{near}"));
                continue;
            };
            if matches!(setting.kind, Kind::Tables(_)) {
                continue;
            }
            let (text, items) = setting.kind.read(item).ok_or_else(|| self.wrong(key, setting.kind, item))?;
            values.push(Said { setting, text, items, line: self.at(item).line });
        }
        Ok(values)
    }
}
