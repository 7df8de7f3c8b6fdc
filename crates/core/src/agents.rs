//! The agent programs that the tools know: one entry for each, with everything that is particular to it. Adding a
//! program is adding an entry.

/// What the tools know about one agent program.
#[derive(Clone, Copy, Debug)]
pub struct AgentProgram {
    /// Its name in settings and on command lines.
    pub name: &'static str,
    /// The versions that it was tried with, newest first.
    pub versions: &'static [&'static str],
    /// The words that start it for a worker, with blanks between them. `{model}`, `{skip_permissions}` and
    /// `{allowed_tools}` stand for settings, `{hooks}` for hooks of ours, `{worktree}`, `{git_dir}` and
    /// `{git_common_dir}` for directories. Without a model, `{model}` and the flag before it are left out.
    pub worker_command: &'static str,
    /// The variables that it is started with.
    pub variables: &'static [(&'static str, &'static str)],
    /// The variables of the person's by which it reaches its model, which it gets in a sandbox, too.
    pub keys: &'static [&'static str],
    /// The files in the person's home that a sandbox begins with, and of those that are JSON the keys, if not all: what was
    /// chosen once, and no login that is renewed, because two copies of one throw each other out.
    pub begins_with: &'static [(&'static str, &'static [&'static str])],
    /// The words after the program's name with which a person logs in; none if that is done in a session.
    pub login: &'static str,
    /// The words that `{skip_permissions}` stands for if permissions are skipped; none if it asks nobody in any case.
    pub skip_permissions: &'static str,
    /// The words that it stands for if they are not.
    pub ask_permissions: &'static str,
    /// The model that it runs if none is set; none if it chooses one itself.
    pub model: Option<&'static str>,
    /// How it gets a task.
    pub task: TaskDelivery,
    /// The words after the program's name that make it continue its last conversation in this directory; none if it
    /// cannot.
    pub resume: &'static str,
    /// The words that make it continue the conversation that `{conversation}` stands for.
    pub resume_conversation: &'static str,
    /// Regular expressions for the line it shows once it takes input: in a new conversation, and in one that it continues.
    pub ready: [&'static str; 2],
    /// How many seconds it may take until then.
    pub ready_secs: u64,
    /// Questions it may ask before that.
    pub dialogs: &'static [ProgramDialog],
    /// What is typed to make it forget its conversation.
    pub clear: Option<&'static str>,
    /// Regular expressions for the lines with which it signs commit messages.
    pub signatures: &'static [&'static str],
    /// Patterns for the files that it leaves in a worktree, which git is to ignore.
    pub leaves: &'static [&'static str],
    /// The line for `sh -c` that starts it in a subtree or a seat. It names the file with the task, never the task
    /// itself. `{ask_permissions}` stands for the words above.
    pub launch_line: &'static str,
    /// How it takes its settings.
    pub settings: SettingsForm,
    /// Its own hooks; none if it has none that tell what it does.
    pub hooks: Option<ProgramHooks>,
    /// Its files in a repository; none if it takes no hooks from there.
    pub project: Option<ProjectFiles>,
    /// Its own file about each session, from which usage limits and costs are known.
    pub session_file: SessionFile,
}

/// A program's own file about a session, in the form of the version that was tried last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionFile {
    /// JSON Lines, which its hooks name. A hook tells of a usage limit, the file of its end, and then the program goes on by
    /// itself.
    Transcript,
    /// JSON Lines below `sessions/` of its home, by day. The file alone tells of a usage limit.
    Rollout,
    /// JSON Lines, which its hooks name. Nothing tells of a usage limit.
    Chat,
    /// There is none that is known.
    None,
}

/// The files of a repository from which every session of a program takes hooks and skills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectFiles {
    /// The file with the hooks, which has the form of Claude Code's settings.
    pub hooks: &'static str,
    /// The directory of skills.
    pub skills: &'static str,
    /// Whether each hook has a name.
    pub are_hooks_named: bool,
}

/// How a program gets a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskDelivery {
    /// It is started with the task, which these words pass; `{task}` stands for the text. It stays interactive.
    Argv(&'static [&'static str]),
    /// The task is pasted into its terminal.
    Paste,
}

/// A menu that a program may show, and the line to choose in it.
#[derive(Clone, Copy, Debug)]
pub struct ProgramDialog {
    /// A regular expression for what it shows.
    pub when: &'static str,
    /// A regular expression for the wanted line.
    pub choose: &'static str,
}

/// A program's own hooks, which tell what it does.
#[derive(Clone, Copy, Debug)]
pub struct ProgramHooks {
    /// How a worker's program gets hooks of ours, for its own session alone.
    pub wiring: HookWiring,
    /// How the first prompt of a conversation begins that the program has by the way, for a title.
    pub aside: Option<&'static str>,
    /// The events that tell something.
    pub events: &'static [(&'static str, HookEvent)],
}

impl ProgramHooks {
    /// What the event of this name tells.
    pub fn event(&self, name: &str) -> Option<HookEvent> {
        self.events.iter().find(|(known, _)| *known == name).map(|(_, event)| *event)
    }
}

/// What an event of a hook tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// The program has started, or its context was cleared.
    Began,
    /// It got a prompt.
    Prompted,
    /// It runs a tool, or has run one.
    Works,
    /// It asks a person.
    Asks,
    /// A message of several kinds, which its payload names.
    Notified,
    /// Its turn has ended.
    Rests,
    /// Its turn has ended with an error, which its payload names.
    Failed,
}

/// How a worker's program gets hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookWiring {
    /// From a file of settings that is named after the first flag. MCP servers are named after the second one.
    SettingsFlag(&'static str, &'static str),
    /// From the setting `notify`, a command that gets the payload as its last argument.
    Notify,
    /// From a plugin in JavaScript, which the configuration in this variable names. The plugin takes texts as well.
    Plugin(&'static str),
    /// From the settings of the project, in folders where these count.
    Project(ProjectSettings),
}

/// A program's settings in a worktree. They count only in a folder that a person trusts in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectSettings {
    /// The file, below the worktree.
    pub file: &'static str,
    /// The list of trusted folders, below the home.
    pub trusted_folders: &'static str,
    /// The variable that names another home for the program.
    pub home_variable: &'static str,
    /// The unit in which its hooks' time limits count, per second.
    pub per_second: u64,
}

impl ProjectSettings {
    /// The path and the text of an ignore file that hides the settings and itself. `info/exclude` would hide a file of
    /// this name in all worktrees, and the work in it with it.
    pub fn ignore_file(&self) -> (String, String) {
        let (dir, name) = self.file.rsplit_once('/').unwrap_or((".", self.file));
        (format!("{dir}/.gitignore"), format!("/.gitignore\n/{name}\n"))
    }
}

/// Where gemini looks for the settings of a project.
pub const GEMINI_PROJECT: ProjectSettings = ProjectSettings {
    file: ".gemini/settings.json",
    trusted_folders: ".gemini/trustedFolders.json",
    home_variable: "GEMINI_CLI_HOME",
    per_second: 1000,
};

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

/// Files and directories at the top of a worktree from which agent programs take what they start by themselves: hooks,
/// servers, plugins.
pub const STARTERS: [&str; 8] =
    [".claude", ".mcp.json", ".codex", ".gemini", ".opencode", "opencode.json", "opencode.jsonc", ".aider.conf.yml"];

/// Every program that is known. The facts behind each entry are in `docs/agents.md`.
pub const PROGRAMS: &[AgentProgram] = &[
    AgentProgram {
        name: "claude",
        versions: &["2.1.330"],
        // `--allowedTools` takes every word that follows, so another flag must come between it and the task.
        worker_command: "claude --allowedTools {allowed_tools} --model {model} {hooks} {skip_permissions}",
        variables: &[],
        keys: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_MODEL",
            "CLAUDE_CODE_OAUTH_TOKEN",
        ],
        begins_with: &[
            (
                ".claude.json",
                &["hasCompletedOnboarding", "theme", "customApiKeyResponses", "bypassPermissionsModeAccepted"],
            ),
            (".claude/settings.json", &[]),
        ],
        login: "auth login",
        skip_permissions: "--dangerously-skip-permissions",
        ask_permissions: "",
        model: Some("opus"),
        task: TaskDelivery::Argv(&["{task}"]),
        resume: "--continue",
        resume_conversation: "--resume {conversation}",
        // Its input line has a no-break space after the mark; the marks of its menus have a blank.
        ready: ["^❯\u{a0}"; 2],
        ready_secs: 30,
        dialogs: &[
            ProgramDialog { when: "Yes, I trust this folder", choose: "Yes, I trust this folder" },
            ProgramDialog { when: "Do you trust the files", choose: "Yes, proceed" },
            ProgramDialog { when: "Yes, I accept", choose: "Yes, I accept" },
        ],
        clear: Some("/clear"),
        signatures: &[r"(?i)^.*Generated with .*Claude.*$", r"(?i)^co-authored-by: claude.*$"],
        leaves: &[],
        // `--mcp-config` takes every word that follows as well.
        launch_line: r#"s='{"enabledMcpjsonServers":["shopfloor"]}'; exec claude ${SHOPFLOOR_MCP_CONFIG:+--mcp-config "$SHOPFLOOR_MCP_CONFIG"} ${SHOPFLOOR_AGENT_ID:+--allowedTools mcp__shopfloor} --settings "${SHOPFLOOR_SETTINGS:-$s}" ${SHOPFLOOR_TASK_FILE:+"Your task is in the file $SHOPFLOOR_TASK_FILE: read it and carry it out."}"#,
        settings: SettingsForm::Claude,
        hooks: Some(ProgramHooks {
            wiring: HookWiring::SettingsFlag("--settings", "--mcp-config"),
            aside: None,
            events: &[
                ("SessionStart", HookEvent::Began),
                ("UserPromptSubmit", HookEvent::Prompted),
                ("PreToolUse", HookEvent::Works),
                ("PostToolUse", HookEvent::Works),
                ("PostToolUseFailure", HookEvent::Works),
                ("PermissionRequest", HookEvent::Asks),
                ("Notification", HookEvent::Notified),
                ("Stop", HookEvent::Rests),
                ("StopFailure", HookEvent::Failed),
            ],
        }),
        project: Some(ProjectFiles {
            hooks: ".claude/settings.json",
            skills: ".claude/skills",
            are_hooks_named: false,
        }),
        session_file: SessionFile::Transcript,
    },
    AgentProgram {
        name: "codex",
        versions: &["0.169.0"],
        // All sessions of one home would share a daemon, with the environment of the first.
        worker_command: "codex --no-daemon {skip_permissions} {hooks} --model {model}",
        variables: &[],
        keys: &["OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY"],
        begins_with: &[(".codex/config.toml", &[])],
        login: "login",
        skip_permissions: "--dangerously-bypass-approvals-and-sandbox",
        // Its sandbox makes the git directory of a linked worktree read-only.
        ask_permissions: "--add-dir {git_dir} --add-dir {git_common_dir}/objects --add-dir {git_common_dir}/refs \
                          --add-dir {git_common_dir}/logs --add-dir {git_common_dir}/rr-cache",
        model: None,
        task: TaskDelivery::Argv(&["{task}"]),
        resume: "resume --last",
        resume_conversation: "resume {conversation}",
        // The last line names the model once there is a session. The mark alone is also that of its menus.
        ready: [r"(?s)^› .*\n  \S+ .* · "; 2],
        ready_secs: 30,
        dialogs: &[ProgramDialog { when: "Trust and continue", choose: "Trust and continue" }],
        clear: Some("/clear"),
        signatures: &[r"(?i)^co-authored-by: codex.*$"],
        leaves: &[],
        launch_line: r#"exec codex --no-daemon {ask_permissions} ${SHOPFLOOR_AGENT_ID:+-c mcp_servers.shopfloor.command=worktree-spawn -c "mcp_servers.shopfloor.args=[\"mcp\",\"--as\",\"$SHOPFLOOR_AGENT_ID\"]" -c 'mcp_servers.shopfloor.default_tools_approval_mode="approve"'} ${SHOPFLOOR_TASK_FILE:+"Your task is in the file $SHOPFLOOR_TASK_FILE: read it and carry it out."}"#,
        settings: SettingsForm::Claude,
        hooks: Some(ProgramHooks {
            // Its own hooks would have to be approved by a person first.
            wiring: HookWiring::Notify,
            aside: Some("Generate a concise, single-line task title"),
            events: &[("agent-turn-complete", HookEvent::Rests)],
        }),
        project: Some(ProjectFiles { hooks: ".codex/hooks.json", skills: ".agents/skills", are_hooks_named: false }),
        session_file: SessionFile::Rollout,
    },
    AgentProgram {
        name: "gemini",
        versions: &["0.61.0"],
        // Trusting a folder would make it start itself anew, and what is typed meanwhile would be lost.
        worker_command: "gemini --skip-trust {skip_permissions} --model {model}",
        // It would load its code twice: once for a program above it, which only starts it anew after some changes of its
        // settings.
        variables: &[("GEMINI_CLI_NO_RELAUNCH", "true")],
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"],
        begins_with: &[(".gemini/settings.json", &[])],
        login: "",
        skip_permissions: "--yolo",
        ask_permissions: "",
        model: None,
        task: TaskDelivery::Argv(&["-i", "{task}"]),
        resume: "--resume latest",
        resume_conversation: "--resume {conversation}",
        ready: [r"^ [>*!] +Type your message"; 2],
        ready_secs: 60,
        dialogs: &[],
        clear: Some("/clear"),
        signatures: &[],
        leaves: &[],
        launch_line: r#"exec gemini --skip-trust ${SHOPFLOOR_TASK_FILE:+-i "Your task is in the file $SHOPFLOOR_TASK_FILE: read it and carry it out."}"#,
        settings: SettingsForm::Gemini,
        hooks: Some(ProgramHooks {
            wiring: HookWiring::Project(GEMINI_PROJECT),
            aside: None,
            events: &[
                ("SessionStart", HookEvent::Began),
                ("BeforeAgent", HookEvent::Prompted),
                ("BeforeTool", HookEvent::Works),
                ("AfterTool", HookEvent::Works),
                ("Notification", HookEvent::Notified),
                ("AfterAgent", HookEvent::Rests),
            ],
        }),
        project: Some(ProjectFiles { hooks: GEMINI_PROJECT.file, skills: ".agents/skills", are_hooks_named: true }),
        session_file: SessionFile::Chat,
    },
    AgentProgram {
        name: "aider",
        versions: &["0.86.2"],
        worker_command: "aider --yes-always --no-gitignore --no-check-update --no-show-model-warnings \
                         --no-show-release-notes --model {model}",
        variables: &[],
        keys: &["OPENAI_API_KEY", "OPENAI_API_BASE", "ANTHROPIC_API_KEY"],
        begins_with: &[(".aider.conf.yml", &[])],
        login: "",
        skip_permissions: "",
        ask_permissions: "",
        model: None,
        // `--message` would make it end with the task.
        task: TaskDelivery::Paste,
        resume: "",
        resume_conversation: "",
        ready: [r"^\S*> ?$"; 2],
        ready_secs: 60,
        dialogs: &[],
        clear: Some("/clear"),
        signatures: &[r"(?i)^co-authored-by: aider.*$"],
        leaves: &[".aider*"],
        launch_line: r#"exec aider --yes-always --no-gitignore --no-check-update --no-show-model-warnings --no-show-release-notes ${SHOPFLOOR_TASK_FILE:+--message-file "$SHOPFLOOR_TASK_FILE"}"#,
        settings: SettingsForm::Claude,
        hooks: None,
        project: None,
        session_file: SessionFile::None,
    },
    AgentProgram {
        name: "opencode",
        versions: &["1.18.33"],
        worker_command: "opencode {skip_permissions} --model {model}",
        variables: &[],
        keys: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
        begins_with: &[(".config/opencode/opencode.json", &[])],
        login: "auth login",
        skip_permissions: "--auto",
        ask_permissions: "",
        model: None,
        task: TaskDelivery::Argv(&["--prompt", "{task}"]),
        // With `--continue` it does not submit the text of `--prompt`.
        resume: "",
        resume_conversation: "--session {conversation}",
        // It may show its empty screen before it has opened the conversation that it is to continue, and a text that is typed
        // there begins another.
        ready: [r"Ask anything|ctrl\+p commands +• OpenCode", r"ctrl\+p commands +• OpenCode"],
        ready_secs: 120,
        dialogs: &[],
        clear: Some("/new"),
        signatures: &[],
        leaves: &[],
        launch_line: r#"if [ -n "$SHOPFLOOR_AGENT_ID" ] && [ -z "$OPENCODE_CONFIG_CONTENT" ]; then export OPENCODE_CONFIG_CONTENT="{\"mcp\":{\"shopfloor\":{\"type\":\"local\",\"command\":[\"worktree-spawn\",\"mcp\",\"--as\",\"$SHOPFLOOR_AGENT_ID\"]}}}"; fi; exec opencode ${SHOPFLOOR_TASK_FILE:+--prompt "Your task is in the file $SHOPFLOOR_TASK_FILE: read it and carry it out."}"#,
        settings: SettingsForm::Claude,
        hooks: Some(ProgramHooks {
            wiring: HookWiring::Plugin("OPENCODE_CONFIG_CONTENT"),
            aside: None,
            events: &[
                ("chat.message", HookEvent::Prompted),
                ("tool.execute.before", HookEvent::Works),
                ("permission.asked", HookEvent::Asks),
                ("permission.replied", HookEvent::Works),
                ("question.asked", HookEvent::Asks),
                ("question.replied", HookEvent::Works),
                ("question.rejected", HookEvent::Works),
                ("session.idle", HookEvent::Rests),
                ("session.error", HookEvent::Rests),
            ],
        }),
        project: None,
        session_file: SessionFile::None,
    },
];

/// The program of this name, if it is known.
pub fn find(name: &str) -> Option<&'static AgentProgram> {
    PROGRAMS.iter().find(|program| program.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an agent can write there, git on the host obeys: never `config` or `hooks`.
    #[test]
    fn codex_may_write_only_to_what_a_commit_needs() {
        let words = find("codex").unwrap().ask_permissions.split(' ');
        let opened: Vec<&str> = words.filter(|word| *word != "--add-dir").collect();
        let common = ["objects", "refs", "logs", "rr-cache"].map(|dir| format!("{{git_common_dir}}/{dir}"));
        assert_eq!(opened[0], "{git_dir}");
        assert_eq!(opened[1..], common.each_ref().map(String::as_str));
    }
}
