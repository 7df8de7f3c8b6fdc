//! What is particular to agent programs, apart from core's table of them: the names of hooks, keys and variables.

use shopfloor_core::agents::{self, SettingsForm};

/// The form of a program's settings; programs that are not known get Claude Code's.
pub fn settings_form(program: Option<&str>) -> SettingsForm {
    program.and_then(agents::find).map_or(SettingsForm::Claude, |program| program.settings)
}

/// The hooks by which any program says that a turn ended.
pub const TURN_HOOKS: [&str; 3] = ["Stop", "SubagentStop", "AfterAgent"];

/// The keys in a hook's JSON that may hold the agent's last message.
pub const LAST_MESSAGE_KEYS: [&str; 2] = ["last_assistant_message", "prompt_response"];

/// The variable that names Claude Code's settings, ours.
pub const SETTINGS_VARIABLE: &str = "SHOPFLOOR_SETTINGS";

/// The variable that names the MCP configuration, ours.
pub const MCP_VARIABLE: &str = "SHOPFLOOR_MCP_CONFIG";

/// The variable by which Gemini CLI finds its settings.
pub const GEMINI_VARIABLE: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";
