//! The agent programs that the tools know: one entry for each, with everything that is particular to it. Adding a
//! program is adding an entry.

/// What the tools know about one agent program.
#[derive(Clone, Copy, Debug)]
pub struct AgentProgram {
    /// Its name in settings and on command lines.
    pub name: &'static str,
    /// The words that start it for a worker; `{model}`, `{skip_permissions}` and `{allowed_tools}` stand for settings.
    pub worker_command: &'static [&'static str],
    /// A regular expression for the line it shows once it takes input.
    pub ready: &'static str,
    /// Questions it may ask before that.
    pub dialogs: &'static [ProgramDialog],
    /// What is typed to make it forget its conversation.
    pub clear: Option<&'static str>,
    /// Regular expressions for the lines with which it signs commit messages.
    pub signatures: &'static [&'static str],
    /// The line for `sh -c` that starts it in a subtree or a seat. It names the file with the task, never the task
    /// itself.
    pub launch_line: &'static str,
    /// How it takes its settings.
    pub settings: SettingsForm,
    /// The event of its own hooks at which a prompt has reached it; none where no hook tells.
    pub prompt_event: Option<&'static str>,
}

/// A question that a program may ask, and the keys that answer it.
#[derive(Clone, Copy, Debug)]
pub struct ProgramDialog {
    /// A regular expression for what it shows.
    pub pattern: &'static str,
    /// The keys, as tmux names them.
    pub keys: &'static [&'static str],
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

/// Every program that is known.
pub const PROGRAMS: &[AgentProgram] = &[
    AgentProgram {
        name: "claude",
        worker_command: &["claude", "--model", "{model}", "{skip_permissions}", "--allowedTools", "{allowed_tools}"],
        ready: r"^[│|]? ?[>❯]( |$)",
        dialogs: &[
            ProgramDialog { pattern: "(?i)do you trust the files|trust this folder", keys: &["Enter"] },
            ProgramDialog { pattern: "(?i)bypass permissions mode[^\n]*\n(.*\n)*.*No, exit", keys: &["Down", "Enter"] },
        ],
        clear: Some("/clear"),
        signatures: &[r"(?i)^.*Generated with .*Claude.*$", r"(?i)^co-authored-by: claude.*$"],
        launch_line: r#"exec claude ${SHOPFLOOR_SETTINGS:+--settings "$SHOPFLOOR_SETTINGS"} ${SHOPFLOOR_MCP_CONFIG:+--mcp-config "$SHOPFLOOR_MCP_CONFIG"} ${SHOPFLOOR_TASK_FILE:+"Your task is in the file $SHOPFLOOR_TASK_FILE: read it and carry it out."}"#,
        settings: SettingsForm::Claude,
        prompt_event: Some("UserPromptSubmit"),
    },
    AgentProgram {
        name: "codex",
        worker_command: &["codex", "--model", "{model}"],
        ready: "^›",
        dialogs: &[],
        clear: Some("/new"),
        signatures: &[r"(?i)^co-authored-by: codex.*$"],
        launch_line: r#"exec codex ${SHOPFLOOR_TASK_FILE:+"Your task is in the file $SHOPFLOOR_TASK_FILE: read it and carry it out."}"#,
        settings: SettingsForm::Claude,
        prompt_event: None,
    },
    AgentProgram {
        name: "gemini",
        worker_command: &["gemini", "--model", "{model}"],
        ready: ">",
        dialogs: &[],
        clear: Some("/clear"),
        signatures: &[],
        launch_line: r#"exec gemini ${SHOPFLOOR_TASK_FILE:+-i "Your task is in the file $SHOPFLOOR_TASK_FILE: read it and carry it out."}"#,
        settings: SettingsForm::Gemini,
        prompt_event: Some("BeforeAgent"),
    },
    AgentProgram {
        name: "aider",
        worker_command: &["aider", "--model", "{model}"],
        ready: "^>",
        dialogs: &[],
        clear: Some("/clear"),
        signatures: &[r"(?i)^co-authored-by: aider.*$"],
        launch_line: r#"exec aider ${SHOPFLOOR_TASK_FILE:+--message-file "$SHOPFLOOR_TASK_FILE"}"#,
        settings: SettingsForm::Claude,
        prompt_event: None,
    },
];

/// The program of this name, if it is known.
pub fn find(name: &str) -> Option<&'static AgentProgram> {
    PROGRAMS.iter().find(|program| program.name == name)
}
