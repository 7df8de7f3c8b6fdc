//! The environment of a launched agent.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use shopfloor_core::agents::{self, SettingsForm};
use shopfloor_core::child_env;
use shopfloor_core::env::Env;
use shopfloor_core::error::Result;

use super::repository;
use crate::agent_in_worktree::{KnownAgent, OWN_MCP_FILE, SETTINGS_FILE};
use crate::identity::AgentKind;
use crate::repository_view::Place;

const TASK_VARIABLE: &str = "SHOPFLOOR_TASK_FILE";

/// The variables that name Claude Code's settings and the MCP configuration, ours.
const SETTINGS_VARIABLE: &str = "SHOPFLOOR_SETTINGS";
const MCP_VARIABLE: &str = "SHOPFLOOR_MCP_CONFIG";

/// The variable by which Gemini CLI finds its settings.
const GEMINI_VARIABLE: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";

/// The variables that not every agent has. An inner agent must not inherit them from an outer one.
pub const OPTIONAL: [&str; 4] = [TASK_VARIABLE, SETTINGS_VARIABLE, MCP_VARIABLE, GEMINI_VARIABLE];

/// A person's environment for what runs in the worktree at `own`, without what leads into another one.
pub fn inherited(env: &Env, place: &Place, own: &Path) -> Result<Env> {
    let all: Vec<PathBuf> = repository::worktrees(place)?.into_iter().map(|worktree| worktree.path).collect();
    Ok(child_env::for_worktree(env, own, &all))
}

/// The form of a program's settings; programs that are not known get Claude Code's.
pub fn settings_form(program: Option<&str>) -> SettingsForm {
    program.and_then(agents::find).map_or(SettingsForm::Claude, |program| program.settings)
}

/// The variables of a launched agent, in this order.
pub fn variables(known: &KnownAgent) -> Vec<(&'static str, OsString)> {
    let agent = &known.agent;
    let mut all: Vec<(&'static str, OsString)> = vec![
        ("SHOPFLOOR_AGENT_ID", agent.id.clone().into()),
        ("SHOPFLOOR_SESSION_ID", agent.id.clone().into()),
        ("SHOPFLOOR_PARENT", agent.parent.clone().unwrap_or_default().into()),
        ("SHOPFLOOR_ROLE", agent.role.clone().unwrap_or_default().into()),
    ];
    // These two find the agent again once its worktree is gone.
    let git_dir = &known.worktree.git_dir;
    let common_dir =
        if known.worktree.is_main { Some(git_dir.as_path()) } else { git_dir.parent().and_then(Path::parent) };
    all.extend(common_dir.map(|dir| ("SHOPFLOOR_REPOSITORY", dir.into())));
    all.extend(serde_json::to_string(agent).ok().map(|record| ("SHOPFLOOR_RECORD", record.into())));
    let files = std::iter::once((TASK_VARIABLE, known.task_file())).chain(settings_files(known));
    all.extend(files.filter(|(_, path)| path.exists()).map(|(name, path)| (name, path.into())));
    all
}

/// The variables that tell an agent program where its settings are, if these exist.
fn settings_files(known: &KnownAgent) -> Vec<(&'static str, PathBuf)> {
    let form = settings_form(known.agent.agent.as_deref());
    match (known.agent.kind, form) {
        (AgentKind::Worker, SettingsForm::Gemini) => vec![(GEMINI_VARIABLE, known.seat_dir().join("settings.json"))],
        (AgentKind::Worker, SettingsForm::Claude) => vec![
            (SETTINGS_VARIABLE, known.seat_dir().join("settings.json")),
            (MCP_VARIABLE, known.seat_dir().join("mcp.json")),
        ],
        (_, SettingsForm::Gemini) => vec![(GEMINI_VARIABLE, known.worktree.path.join(SETTINGS_FILE))],
        // `.mcp.json` is found without a variable.
        (_, SettingsForm::Claude) => vec![(MCP_VARIABLE, known.worktree.path.join(OWN_MCP_FILE))],
    }
}
