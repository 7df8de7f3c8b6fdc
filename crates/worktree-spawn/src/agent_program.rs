//! The agent programs this tool knows: how each one is started, where it takes its settings from, and which hooks it calls.

/// An agent program.
#[derive(Clone, Copy, Debug)]
pub struct AgentProgram {
    pub name: &'static str,
    /// The line for `sh -c`. It names the file with the task, never the task itself.
    pub command: &'static str,
    pub settings: SettingsForm,
}

/// The known programs.
pub const PROGRAMS: [AgentProgram; 4] = [
    AgentProgram {
        name: "claude",
        command: r#"exec claude ${SHOPFLOOR_SETTINGS:+--settings "$SHOPFLOOR_SETTINGS"} ${SHOPFLOOR_MCP_CONFIG:+--mcp-config "$SHOPFLOOR_MCP_CONFIG"} ${SHOPFLOOR_TASK_FILE:+"Your task is in the file $SHOPFLOOR_TASK_FILE: read it and carry it out."}"#,
        settings: SettingsForm::Claude,
    },
    AgentProgram {
        name: "gemini",
        command: r#"exec gemini ${SHOPFLOOR_TASK_FILE:+-i "Your task is in the file $SHOPFLOOR_TASK_FILE: read it and carry it out."}"#,
        settings: SettingsForm::Gemini,
    },
    AgentProgram {
        name: "codex",
        command: r#"exec codex ${SHOPFLOOR_TASK_FILE:+"Your task is in the file $SHOPFLOOR_TASK_FILE: read it and carry it out."}"#,
        settings: SettingsForm::Claude,
    },
    AgentProgram {
        name: "aider",
        command: r#"exec aider ${SHOPFLOOR_TASK_FILE:+--message-file "$SHOPFLOOR_TASK_FILE"}"#,
        settings: SettingsForm::Claude,
    },
];

/// The program of this name, if it is a known one.
pub fn find(name: &str) -> Option<&'static AgentProgram> {
    PROGRAMS.iter().find(|program| program.name == name)
}

/// The form of a program's settings; programs that are not known get Claude Code's.
pub fn settings_form(program: Option<&str>) -> SettingsForm {
    program.and_then(find).map_or(SettingsForm::Claude, |program| program.settings)
}

/// How a program takes its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsForm {
    /// A file with hooks, and another one with MCP servers; both are named on the command line.
    Claude,
    /// One file with hooks and MCP servers, which a variable names.
    Gemini,
}

impl SettingsForm {
    /// The hooks that a program calls at the end of a turn.
    pub fn turn_hooks(self) -> &'static [&'static str] {
        match self {
            SettingsForm::Claude => &["Stop", "SubagentStop"],
            SettingsForm::Gemini => &["AfterAgent"],
        }
    }
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
