//! The settings of this tool.

use std::path::{Path, PathBuf};

use shopfloor_core::agents::{self, AgentProgram};
use shopfloor_core::config::{self, Config, Line, Row, Setting, SettingSource, SettingType, Trust};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::git::Home;

use crate::launcher;
use crate::tool::TOOL;

/// All settings, in the order in which they are listed, each with its default.
pub const SETTINGS: &[Setting] = &[
    Setting::new("worktree_base", "WORKTREE_SPAWN_WORKTREE_BASE", SettingType::Text, Trust::Inside)
        .or(".shopfloor/worktrees"),
    Setting::new("max_depth", "WORKTREE_SPAWN_MAX_DEPTH", SettingType::Number, Trust::Open).or("2"),
    Setting::new("agent", "WORKTREE_SPAWN_AGENT", SettingType::Text, Trust::Open).or("claude"),
    Setting::new("launcher", "WORKTREE_SPAWN_LAUNCHER", SettingType::Command, Trust::Approved).or(launcher::NONE),
    Setting::new("probe", "WORKTREE_SPAWN_PROBE", SettingType::Command, Trust::Approved),
    Setting::new(
        "agents",
        "",
        SettingType::Tables(&[Setting::new("command", "", SettingType::Command, Trust::Approved)]),
        Trust::Approved,
    ),
];

/// The agents that a person has for worker-ctl, which are agents here, too: what says how they are started.
const WORKERS_AGENTS: &[Setting] = &[Setting::new(
    "agents",
    "",
    SettingType::Tables(&[
        Setting::new("command", "", SettingType::Command, Trust::User),
        Setting::new("env", "", SettingType::Variables, Trust::User),
        Setting::new("ask_permissions", "", SettingType::List, Trust::User),
        Setting::new("model", "", SettingType::Text, Trust::User),
        Setting::new("delivery", "", SettingType::Text, Trust::User),
        Setting::new("task", "", SettingType::List, Trust::User),
    ]),
    Trust::User,
)];

/// How an agent program is started.
#[derive(Clone, Copy, Debug)]
pub enum ProgramStart<'a> {
    /// As we know it.
    Preset(&'static AgentProgram),
    /// As a table of the settings says.
    Table(&'a Row),
}

/// The settings in force.
#[derive(Debug)]
pub struct Settings {
    pub worktree_base: PathBuf,
    pub max_depth: u64,
    pub agent: String,
    pub launcher: Line,
    pub probe: Option<Line>,
    /// The tables of agents. The last one of a name counts.
    agents: Vec<Row>,
    pub warnings: Vec<String>,
}

/// Flags that override settings, by their names.
pub type Flags<'a> = &'a [(&'a str, Option<&'a Path>)];

/// Reads the settings from every place that may set them.
pub fn load_config(env: &Env, home: &Home, flags: Flags<'_>) -> Result<Config> {
    config::load(env, home, TOOL, SETTINGS, flags, false)
}

impl Settings {
    /// Reads and checks the settings.
    pub fn load(env: &Env, home: &Home, flags: Flags<'_>) -> Result<Settings> {
        let config = load_config(env, home, flags)?;
        let default = |name: &str| config.default_of(name).unwrap_or_default();
        let base = config.text("worktree_base");
        if base.trim().is_empty() {
            return Err(Failure::malformed("`worktree_base` is empty")
                .hint(format!("name a directory, such as `{}`", default("worktree_base"))));
        }
        if config::is_anothers_home(base) {
            return Err(Failure::malformed(format!("`worktree_base` is `{base}`, in the home of another user"))
                .hint("write that path out; a directory whose name begins with `~` is `./~NAME`"));
        }
        // tmux, shells and terminals meet the base in paths, and may obey other characters.
        let is_plain = |c: char| c.is_alphanumeric() || "._-/ ".contains(c);
        let odd = base.strip_prefix('~').unwrap_or(base).chars().find(|c| !is_plain(*c));
        let source = config.value("worktree_base").map(|value| &value.source);
        if let (Some(c), Some(source @ SettingSource::Repository(..))) = (odd, source) {
            let refused = format!("`worktree_base` may not contain `{}` ({source})", c.escape_default());
            return Err(Failure::malformed(refused)
                .hint("use letters, digits, blanks and `._-/`; your own configuration may name any directory"));
        }
        let workers = config::load(env, home, "worker-ctl", WORKERS_AGENTS, &[], false)?;
        let mut agents = [workers.rows(), config.rows()].concat();
        agents.retain(|row| row.value("command").is_some());
        Ok(Settings {
            worktree_base: config::expand_home(env, base),
            max_depth: config.number("max_depth"),
            agent: config.text("agent").to_owned(),
            launcher: config.command("launcher").unwrap_or(Line::Shell(default("launcher").to_owned())),
            probe: config.command("probe"),
            agents,
            warnings: [config.all_warnings(), workers.left_out].concat(),
        })
    }

    /// Whether the table of programs that we know says how this one is started.
    pub fn is_preset(&self, agent: &str) -> bool {
        matches!(self.start_of(agent), Ok(ProgramStart::Preset(_)))
    }

    /// How the agent program of this name is started. Exit 2 if no place says that.
    pub fn start_of(&self, agent: &str) -> Result<ProgramStart<'_>> {
        let table = self.agents.iter().rev().find(|row| row.name == agent).map(ProgramStart::Table);
        let preset = || agents::find(agent).map(ProgramStart::Preset);
        table.or_else(preset).ok_or_else(|| {
            Failure::malformed(format!("no command is set for the agent `{agent}`")).hint(format!(
                "set `command` in `[worker-ctl.agents.{agent}]` of your own config.toml, or for worktree-spawn alone in \
                 `[worktree-spawn.agents.{agent}]`"
            ))
        })
    }
}
