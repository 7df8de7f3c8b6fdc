//! The settings of this tool.

use std::path::{Path, PathBuf};

use shopfloor_core::agents;
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

/// The agents that a person has for worker-ctl, which are agents here, too.
const WORKERS_AGENTS: &[Setting] = &[Setting::new(
    "agents",
    "",
    SettingType::Tables(&[Setting::new("command", "", SettingType::Command, Trust::User)]),
    Trust::User,
)];

/// The settings in force.
#[derive(Debug)]
pub struct Settings {
    pub worktree_base: PathBuf,
    pub max_depth: u64,
    pub agent: String,
    pub launcher: Line,
    pub probe: Option<Line>,
    agents: Vec<(String, Line)>,
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
        let command = |row: &Row| Some((row.name.clone(), Line::of(row.value("command")?)));
        let lines = workers.rows().iter().filter_map(command).map(|(name, line)| (name, without_fields(line)));
        // The last one of a name counts.
        let agents: Vec<_> = lines.chain(config.rows().iter().filter_map(command)).collect();
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
        self.agents.iter().all(|(name, _)| name != agent) && agents::find(agent).is_some()
    }

    /// The command that starts the agent program of this name. Exit 2 if no place names one.
    pub fn command_of(&self, agent: &str) -> Result<Line> {
        // The last of several entries for one program counts.
        if let Some((_, line)) = self.agents.iter().rev().find(|(name, _)| name == agent) {
            return Ok(line.clone());
        }
        let preset = agents::find(agent).map(|program| Line::Shell(program.launch_line.to_owned()));
        preset.ok_or_else(|| {
            Failure::malformed(format!("no command is set for the agent `{agent}`")).hint(format!(
                "set `command` in `[worker-ctl.agents.{agent}]` of your own config.toml, or for worktree-spawn alone in \
                 `[worktree-spawn.agents.{agent}]`"
            ))
        })
    }
}

/// A command without the words that worker-ctl fills in, and without the flag before a model.
fn without_fields(line: Line) -> Line {
    let Line::Argv(words) = line else { return line };
    let is_field = |word: &str| word.starts_with('{') && word.ends_with('}');
    let followed = words.iter().skip(1).map(|next| next == "{model}").chain([false]);
    let kept = words.iter().zip(followed).filter(|(word, is_before_model)| !is_field(word) && !is_before_model);
    Line::Argv(kept.map(|(word, _)| word.clone()).collect())
}
