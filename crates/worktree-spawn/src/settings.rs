//! The settings of this tool.

use std::path::{Path, PathBuf};

use shopfloor_core::config::{self, Config, Kind, Line, Setting, Trust};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};

use crate::TOOL;
use crate::facts::place::Place;

/// What may be set, in this order.
pub const SETTINGS: &[Setting] = &[
    Setting::new("worktree_base", "WORKTREE_SPAWN_WORKTREE_BASE", Kind::Text, Trust::Inside).or(DEFAULT_BASE),
    Setting::new("max_depth", "WORKTREE_SPAWN_MAX_DEPTH", Kind::Number, Trust::Open).or("2"),
    Setting::new("agent", "WORKTREE_SPAWN_AGENT", Kind::Text, Trust::Open).or(DEFAULT_AGENT),
    Setting::new("launcher", "WORKTREE_SPAWN_LAUNCHER", Kind::Command, Trust::Approved).or("none"),
    Setting::new("probe", "WORKTREE_SPAWN_PROBE", Kind::Command, Trust::Approved),
    Setting::new(
        "agents",
        "",
        Kind::Tables(&[Setting::new("command", "", Kind::Command, Trust::Approved)]),
        Trust::Approved,
    ),
];

/// Where worktrees are made, below the worktree of whoever spawns them.
pub const DEFAULT_BASE: &str = ".shopfloor/worktrees";

const DEFAULT_AGENT: &str = "claude";

/// The programs we know how to start. The task is in a file, and only its name on the command line.
const PROGRAMS: [(&str, &str); 4] = [
    (
        "claude",
        r#"exec claude ${SHOPFLOOR_SETTINGS:+--settings "$SHOPFLOOR_SETTINGS"} ${SHOPFLOOR_MCP_CONFIG:+--mcp-config "$SHOPFLOOR_MCP_CONFIG"} ${SHOPFLOOR_TASK_FILE:+"Your task is in the file $SHOPFLOOR_TASK_FILE: read it and carry it out."}"#,
    ),
    (
        "gemini",
        r#"exec gemini ${SHOPFLOOR_TASK_FILE:+-i "Your task is in the file $SHOPFLOOR_TASK_FILE: read it and carry it out."}"#,
    ),
    (
        "codex",
        r#"exec codex ${SHOPFLOOR_TASK_FILE:+"Your task is in the file $SHOPFLOOR_TASK_FILE: read it and carry it out."}"#,
    ),
    ("aider", r#"exec aider ${SHOPFLOOR_TASK_FILE:+--message-file "$SHOPFLOOR_TASK_FILE"}"#),
];

/// Everything in force.
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

/// Flags that are settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flags<'a> {
    pub agent: Option<&'a str>,
    pub launcher: Option<&'a str>,
    pub probe: Option<&'a str>,
    pub max_depth: Option<&'a str>,
}

/// Reads all places a setting can stand in.
pub fn load_config(env: &Env, place: &Place, flags: Flags<'_>) -> Result<Config> {
    let flags = [
        ("agent", flags.agent.map(Path::new)),
        ("launcher", flags.launcher.map(Path::new)),
        ("probe", flags.probe.map(Path::new)),
        ("max_depth", flags.max_depth.map(Path::new)),
    ];
    config::load(env, &place.home, TOOL, SETTINGS, &flags, false)
}

impl Settings {
    /// Reads and checks them.
    pub fn load(env: &Env, place: &Place, flags: Flags<'_>) -> Result<Settings> {
        let config = load_config(env, place, flags)?;
        let text = |name: &str, default: &str| config.value(name).map_or(default.to_owned(), |v| v.text.clone());
        let line = |name: &str| config.value(name).filter(|v| !v.text.trim().is_empty()).map(Line::of);
        let base = text("worktree_base", DEFAULT_BASE);
        if base.trim().is_empty() {
            return Err(Failure::malformed("`worktree_base` is empty")
                .hint(format!("name a directory, such as `{DEFAULT_BASE}`")));
        }
        let agents = config.rows().iter().filter_map(|row| Some((row.name.clone(), Line::of(row.value("command")?))));
        let agents: Vec<_> = agents.collect();
        Ok(Settings {
            worktree_base: config::expand_home(env, &base),
            max_depth: config.number("max_depth", 2),
            agent: text("agent", DEFAULT_AGENT),
            launcher: line("launcher").unwrap_or(Line::Shell("none".into())),
            probe: line("probe"),
            agents,
            warnings: config.said(),
        })
    }

    /// How the program of this name is started. Exit 2 when nobody said.
    pub fn command_of(&self, agent: &str) -> Result<Line> {
        // Of several that speak of one thing the last counts.
        if let Some((_, line)) = self.agents.iter().rev().find(|(name, _)| name == agent) {
            return Ok(line.clone());
        }
        let known = PROGRAMS.iter().find(|(name, _)| *name == agent);
        known.map(|(_, line)| Line::Shell((*line).to_owned())).ok_or_else(|| {
            Failure::malformed(format!("nothing says how the agent `{agent}` is started"))
                .hint(format!("set `command` in `[worktree-spawn.agents.{agent}]` of the configuration"))
        })
    }
}
