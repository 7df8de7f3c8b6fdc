//! Settings from four places, each value with its source: flag, environment, the repository's
//! `.shopfloor/config.toml`, the user's `$XDG_CONFIG_HOME/shopfloor/config.toml`; else the default.

mod file;
mod setting;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use toml_edit::Document;

use self::file::{File, Known, unknown_tables};
use self::setting::placed;
pub use self::setting::{
    INSIDE_ELSEWHERE, Line, NEVER, OPEN_ELSEWHERE, Row, Setting, SettingFlag, SettingSource, SettingType, Trust, Users,
    Value, expand_home, is_anothers_home,
};
use crate::agents::PROGRAMS;
use crate::approval::{ApprovalStatus, Approvals};
use crate::env::Env;
use crate::error::{Failure, Result};
use crate::fs::{self, Root};
use crate::git::Home;
use crate::path::RelPath;
use crate::text::Position;
use crate::time::{self, Unit};

/// The repository's file, below its main checkout.
pub const REPOSITORY_FILE: &str = ".shopfloor/config.toml";

/// All settings of one tool.
#[derive(Debug, Default)]
pub struct Config {
    values: Vec<(Setting, Option<Value>)>,
    rows: Vec<Row>,
    /// Warnings: unknown keys, with file, line and the nearest known one.
    pub warnings: Vec<String>,
    /// Warnings about what the repository's file sets and only the user's own file may set.
    pub left_out: Vec<String>,
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
        self.values.iter().find(|(setting, _)| setting.name == name).and_then(|(_, v)| v.as_ref())
    }

    /// What the user's own file says, whether or not something else is in force: no variable and no repository had a
    /// part in it.
    pub fn users(&self, name: &str) -> Option<&Value> {
        self.user.iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    /// Takes these settings from the file of one tree, unless a flag or a variable sets them: that tree may be another
    /// one than the main checkout, whose file was read.
    pub fn follow(&mut self, tree: &Config, names: &[&str]) {
        let Config { values, user, .. } = self;
        for (Setting { name, .. }, value) in values.iter_mut().filter(|(setting, _)| names.contains(&setting.name)) {
            let source = value.as_ref().map(|value| &value.source);
            if !matches!(source, Some(SettingSource::Flag | SettingSource::Variable(_))) {
                let users = user.iter().find(|(own, _)| own == name).map(|(_, value)| value);
                *value = tree.value(name).or(users).cloned();
            }
        }
    }

    /// The number in force, or the default that the setting declares; 0 without one.
    pub fn number(&self, name: &str) -> u64 {
        self.parsed(name).unwrap_or_default()
    }

    /// The boolean in force, or the default that the setting declares; `false` without one.
    pub fn truth(&self, name: &str) -> bool {
        self.parsed(name).unwrap_or_default()
    }

    /// The length of time in force, or the default that the setting declares; zero without one. A number alone is in
    /// `unit`.
    pub fn duration(&self, name: &str, unit: Unit) -> Duration {
        time::parse_duration(self.text(name), unit).unwrap_or_default()
    }

    /// The text in force, or the default that the setting declares; empty without one.
    pub fn text(&self, name: &str) -> &str {
        let set = self.value(name).map(|value| value.text.as_str());
        set.or(self.default_of(name)).unwrap_or_default()
    }

    /// The command that a setting holds.
    pub fn command(&self, name: &str) -> Option<Line> {
        self.value(name).filter(|value| !value.text.trim().is_empty()).map(Line::of)
    }

    fn parsed<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        let own = self.value(name).and_then(|value| value.text.parse().ok());
        own.or_else(|| self.default_of(name)?.parse().ok())
    }

    /// Every setting in the order declared, set or not; then what tables set.
    pub fn all(&self) -> impl Iterator<Item = (String, Option<&Value>)> {
        let tables = self.rows.iter().flat_map(|row| {
            let name = move |setting: &Setting| format!("{}.{:?}.{}", row.setting, row.name, setting.name);
            row.values.iter().map(move |(setting, value)| (name(setting), Some(value)))
        });
        self.values.iter().map(|(setting, value)| (setting.name.to_owned(), value.as_ref())).chain(tables)
    }

    /// What holds when no place sets a setting, in words.
    pub fn default_of(&self, name: &str) -> Option<&'static str> {
        let (setting, _) = self.values.iter().find(|(setting, _)| setting.name == name)?;
        Some(setting.default).filter(|default| !default.is_empty())
    }

    /// All warnings about the settings, and a note when some need approval.
    pub fn all_warnings(&self) -> Vec<String> {
        let unapproved = self.unapproved.then(|| {
            format!("{REPOSITORY_FILE} sets what needs approval, so that is left out; run `sweatfile-apply approve`")
        });
        self.warnings.iter().chain(&self.left_out).cloned().chain(unapproved).collect()
    }

    /// The tables, the user's before the repository's: a later one overrides an earlier one.
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
    let known = Known { tool, settings, others: &[], source: SettingSource::User };
    let user_file = env.config_home().map(|dir| dir.join("config.toml"));
    let user = match &user_file {
        Some(path) => File::parse(path, fs::read(path)?, known, &mut config.warnings)?,
        None => File::default(),
    };
    let repository_path = home.checkout.join(REPOSITORY_FILE);
    // A branch must not make it lead out of the repository.
    let below = RelPath::parse(REPOSITORY_FILE).map_err(|e| Failure::failed(e.0))?;
    let bytes = Root::open(&home.checkout)?.read(&below)?;
    let known = Known { source: SettingSource::Repository, ..known };
    let mut repository = File::parse(&repository_path, bytes, known, &mut config.warnings)?;
    config.left_out = repository.leave_out_users();
    if repository.is_guarded {
        let text = repository.text.clone();
        let approved = || Approvals::load(env)?.status(&home.common_dir, REPOSITORY_FILE, text.as_bytes());
        if !trust_repository && approved()? != ApprovalStatus::Approved {
            config.unapproved = repository.leave_out_guarded();
        }
        config.guarded_text = Some(text);
    }
    let user_dir = user_file.as_deref().and_then(Path::parent).unwrap_or(&env.cwd);
    for setting in settings.iter().filter(|setting| !matches!(setting.kind, SettingType::Tables(_))) {
        let place = |value: Value, base: &Path| placed(env, setting, value, base);
        let users = user.value(setting.name).map(|value| place(value, user_dir));
        let repositorys = repository.value(setting.name).map(|value| place(value, &home.checkout));
        let outside = outside(env, setting, flags)?.map(|value| place(value, &env.cwd));
        config.user.extend(users.clone().map(|value| (setting.name, value)));
        config.values.push((*setting, outside.or(repositorys).or(users)));
    }
    config.rows = [user.rows, repository.rows].concat();
    Ok(config)
}

/// Reads the settings of `tool` in the text of one repository file, and nothing else that may set them: what holds in
/// the tree that has this file, whoever asks. `path` is for messages.
pub fn load_alone(path: &Path, bytes: Option<Vec<u8>>, tool: &str, settings: &[Setting]) -> Result<Config> {
    let mut config = Config::default();
    let known = Known { tool, settings, others: &[], source: SettingSource::Repository };
    let file = File::parse(path, bytes, known, &mut config.warnings)?;
    config.values = settings.iter().map(|setting| (*setting, file.value(setting.name))).collect();
    Ok(config)
}

/// The text of a repository file in which a tool's setting has this text as its value. Everything else stays as it is,
/// comments included. Exit 2 if the file cannot be read. `path` is for messages.
pub fn with_text(path: &Path, text: &str, tool: &str, setting: &str, value: &str) -> Result<String> {
    let mut document: toml_edit::DocumentMut = text.parse().map_err(|e: toml_edit::TomlError| {
        let at = Position::of(text, e.span().map_or(0, |span| span.start));
        Failure::malformed(format!("{}:{at}: {}", path.display(), e.message()))
            .hint("fix the file and run the same command again")
    })?;
    let table = document.entry(tool).or_insert(toml_edit::table());
    let table = table.as_table_like_mut().ok_or_else(|| {
        Failure::malformed(format!("{}: `{tool}` must be a table", path.display())).hint(format!("write `[{tool}]`"))
    })?;
    table.insert(setting, toml_edit::value(value));
    Ok(document.to_string())
}

/// A table of a tool's own file.
#[derive(Clone, Copy, Debug)]
pub struct OwnTable {
    /// Its name.
    pub name: &'static str,
    /// The settings in it.
    pub settings: &'static [Setting],
    /// Keys in it that are no settings, and that the tool reads itself.
    pub others: &'static [&'static str],
}

/// The same for a tool with a file of its own, whose tables are given with the settings in each: flag, environment,
/// file. Paths are left as they are written.
pub fn load_own(env: &Env, path: &Path, tables: &[OwnTable], flags: &[(&str, Option<&Path>)]) -> Result<Config> {
    let mut config = Config::default();
    let bytes = fs::read(path)?;
    for OwnTable { name, settings, others } in tables {
        let known = Known { tool: name, settings, others, source: SettingSource::Own };
        let file = File::parse(path, bytes.clone(), known, &mut config.warnings)?;
        for setting in *settings {
            config.values.push((*setting, outside(env, setting, flags)?.or(file.value(setting.name))));
        }
    }
    Ok(config)
}

/// Warnings about tables of the user's own file that nobody reads, for who reads it without the settings of a tool.
pub fn users_unknown_tables(env: &Env) -> Result<Vec<String>> {
    let Some(path) = env.config_home().map(|dir| dir.join("config.toml")) else { return Ok(Vec::new()) };
    let text = fs::read(&path)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    Ok(Document::parse(&*text).map(|document| unknown_tables(&path, &document)).unwrap_or_default())
}

/// The names of the agent programs, to complete the value of a flag: those that we know, and those of the user's own file.
pub fn agent_programs(env: &Env) -> Result<Vec<String>> {
    let file = env.config_home().map(|dir| dir.join("config.toml"));
    let text = file.map_or(Ok(None), |file| fs::read(&file))?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut all: BTreeSet<String> = PROGRAMS.iter().map(|program| program.name.to_owned()).collect();
    if let Ok(document) = Document::parse(&*text) {
        let agents = |tool: &&str| document.get(tool)?.get("agents")?.as_table_like();
        let own = ["worker-ctl", "worktree-spawn"].iter().filter_map(agents).flat_map(|agents| agents.iter());
        all.extend(own.map(|(name, _)| name.to_owned()));
    }
    Ok(all.into_iter().collect())
}

/// What a flag or the environment sets.
fn outside(env: &Env, setting: &Setting, flags: &[(&str, Option<&Path>)]) -> Result<Option<Value>> {
    let flag = flags.iter().find(|(name, _)| *name == setting.name).and_then(|(_, value)| *value);
    let said = match flag {
        Some(flag) => Some((flag.to_string_lossy().into_owned(), SettingSource::Flag)),
        None => env
            .var(setting.variable)
            .map(|v| (v.to_string_lossy().into_owned(), SettingSource::Variable(setting.variable))),
    };
    let Some((text, source)) = said else { return Ok(None) };
    let items = setting.kind.parse(&text).ok_or_else(|| {
        let wanted = setting.kind.wanted();
        Failure::malformed(format!("{} must be {wanted}, not `{text}` ({source})", setting.name))
            .hint("see `--help` for what it takes")
    })?;
    Ok(Some(Value { text, items, source }))
}
