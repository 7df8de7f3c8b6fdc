//! What the hooks of agent programs say and expect (<https://code.claude.com/docs/en/hooks>; codex and gemini do the
//! same), and the files of their setup. The skill does in a conversation what the interactive command does on a
//! terminal.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObjectProp, CstRootNode};
use serde_json::Value;
use shopfloor_core::agents::{self, ProjectFiles};
use shopfloor_core::env::Env;
use shopfloor_core::text::{Position, mend_half_characters};

/// The variable that names a file of shell commands, which Claude Code runs before each command of the session.
const ENVIRONMENT_FILE: &str = "CLAUDE_ENV_FILE";

/// A session, as a hook at its start or its end tells it on stdin.
#[derive(Debug, Default)]
pub struct HookedSession {
    /// Empty if the hook does not say.
    pub session: String,
    pub dir: Option<PathBuf>,
    pub reason: Option<String>,
}

/// Parses the input of a hook.
pub fn session(input: &[u8]) -> serde_json::Result<HookedSession> {
    let mut input = input.to_vec();
    mend_half_characters(&mut input);
    let input: Value = serde_json::from_slice(&input)?;
    let text = |key: &str| input[key].as_str().map(str::to_owned);
    let session = text("session_id").unwrap_or_default();
    Ok(HookedSession { session, dir: text("cwd").map(PathBuf::from), reason: text("reason") })
}

/// The file to which a SessionStart hook may add variables for the session.
pub fn environment_file(env: &Env) -> Option<&Path> {
    env.var(ENVIRONMENT_FILE).map(Path::new).filter(|file| file.is_absolute())
}

/// An agent program whose hooks are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HookProgram {
    /// Claude Code
    Claude,
    /// Codex, whose hooks say and expect the same
    Codex,
    /// Gemini CLI, whose hooks say and expect the same
    Gemini,
}

impl HookProgram {
    /// Its name in the table of agent programs.
    pub fn name(self) -> &'static str {
        match self {
            HookProgram::Claude => "claude",
            HookProgram::Codex => "codex",
            HookProgram::Gemini => "gemini",
        }
    }

    /// Its name as people read it.
    pub fn title(self) -> &'static str {
        match self {
            HookProgram::Claude => "Claude Code",
            HookProgram::Codex => "Codex",
            HookProgram::Gemini => "Gemini CLI",
        }
    }

    /// Its files in a repository.
    pub fn files(self) -> Option<ProjectFiles> {
        agents::find(self.name())?.project
    }
}

/// A file of the setup of a program, relative to the work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupFile {
    Hooks(HookProgram, ProjectFiles),
    Skill(ProjectFiles),
}

impl SetupFile {
    /// The hooks and the skill of a program.
    pub fn all(program: HookProgram) -> Vec<SetupFile> {
        let files = program.files();
        files.into_iter().flat_map(|files| [SetupFile::Hooks(program, files), SetupFile::Skill(files)]).collect()
    }

    pub fn name(&self) -> String {
        match self {
            SetupFile::Hooks(_, files) => files.hooks.to_owned(),
            SetupFile::Skill(files) => format!("{}/synthesize-ledgers/SKILL.md", files.skills),
        }
    }

    /// Its new text, given its text now (empty if it is missing). The same text if there is nothing to do; the position
    /// and the reason if the file cannot be edited.
    pub fn set_up(&self, text: &str) -> Result<String, String> {
        match self {
            SetupFile::Hooks(program, files) => with_hooks(text, *program, files),
            SetupFile::Skill(_) => Ok(if text.is_empty() { SKILL } else { text }.to_owned()),
        }
    }

    /// Its text without what [`set_up`](SetupFile::set_up) writes; empty if that made the file.
    pub fn take_out(&self, text: &str) -> Result<String, String> {
        match self {
            SetupFile::Hooks(program, files) => without_hooks(text, *program, files),
            SetupFile::Skill(_) => Ok(if text == SKILL { "" } else { text }.to_owned()),
        }
    }
}

/// The command at the start of a session, without the program.
pub const BANNER: &str = "ledger-synth banner --for-hook ";

/// Each hook, and the command it runs. Only Claude Code shows nobody what a hook prints at the end of a session.
fn hooks(program: HookProgram) -> [(&'static str, String); 2] {
    let (name, end) = (program.name(), if program == HookProgram::Claude { "" } else { " >&2" });
    [
        ("SessionStart", format!("{BANNER}{name}")),
        ("SessionEnd", format!("ledger-synth add --from-hook {name} --synth --commit{end}")),
    ]
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    let options = ParseOptions { allow_comments: true, allow_trailing_commas: true, ..ParseOptions::default() };
    CstRootNode::parse(text, &options).map_err(|e| format!("{}: {}", Position::of(text, e.range().start), e.kind()))
}

/// The settings with our hooks in them. Everything else stays as it is, comments included.
fn with_hooks(text: &str, program: HookProgram, files: &ProjectFiles) -> Result<String, String> {
    let root = parse(if text.trim().is_empty() { "{}\n" } else { text })?;
    let wrong = |what: &str| format!("1:1: {what} is not what {} expects there", program.name());
    let settings = root.object_value().ok_or_else(|| wrong("the document"))?;
    let settings = settings.object_value_or_create("hooks").ok_or_else(|| wrong("`hooks`"))?;
    for (event, command) in hooks(program) {
        let list = settings.array_value_or_create(event).ok_or_else(|| wrong(&format!("`hooks.{event}`")))?;
        let runs_it =
            |entry: Value| entry["hooks"].as_array().into_iter().flatten().any(|hook| hook["command"] == command);
        if !list.elements().iter().filter_map(CstNode::to_serde_value).any(runs_it) {
            let text = |text: &str| CstInputValue::String(text.to_owned());
            let mut hook = vec![("type".to_owned(), text("command")), ("command".to_owned(), text(&command))];
            if files.are_hooks_named {
                hook.insert(1, ("name".to_owned(), text("ledger")));
            }
            if program == HookProgram::Claude && event == "SessionEnd" {
                // Claude Code cancels it after 1.5 s otherwise, and a commit runs the hooks of other people.
                hook.push(("timeout".to_owned(), CstInputValue::Number("60".to_owned())));
            }
            let hooks = CstInputValue::Array(vec![CstInputValue::Object(hook)]);
            list.append(CstInputValue::Object(vec![("hooks".to_owned(), hooks)]));
        }
    }
    Ok(root.to_string())
}

/// The settings without our hooks, and without the lists that are empty then. The rest stays as it is.
fn without_hooks(text: &str, program: HookProgram, files: &ProjectFiles) -> Result<String, String> {
    if !hooks(program).iter().any(|(_, command)| text.contains(command)) {
        return Ok(text.to_owned());
    }
    let root = parse(text)?;
    let settings = root.object_value();
    let Some((settings, all)) = settings.and_then(|own| Some((own.clone(), own.object_value("hooks")?))) else {
        return Ok(text.to_owned());
    };
    for (event, command) in hooks(program) {
        let Some(list) = all.array_value(event) else { continue };
        let is_ours = |hook: &CstNode| hook.to_serde_value().is_some_and(|hook| hook["command"] == command);
        for entry in list.elements() {
            let Some(commands) = entry.as_object().and_then(|entry| entry.array_value("hooks")) else { continue };
            let (ours, others): (Vec<CstNode>, Vec<CstNode>) = commands.elements().into_iter().partition(is_ours);
            match others.is_empty() && !ours.is_empty() {
                true => entry.remove(),
                false => ours.into_iter().for_each(CstNode::remove),
            }
        }
        all.get(event).filter(|_| list.elements().is_empty()).into_iter().for_each(CstObjectProp::remove);
    }
    settings.get("hooks").filter(|_| all.properties().is_empty()).into_iter().for_each(CstObjectProp::remove);
    // Any other text was made of a file that was there before.
    Ok(if text == with_hooks("", program, files)? { String::new() } else { root.to_string() })
}

/// The skill, as the programs read it.
const SKILL: &str = include_str!("../../../skills/synthesize-ledgers/SKILL.md");

#[cfg(test)]
mod tests {
    use super::*;

    fn hooked(text: &str, program: HookProgram) -> Result<String, String> {
        with_hooks(text, program, &program.files().unwrap())
    }

    #[test]
    fn hooks_are_added_once_and_nothing_else_changes() {
        let text = "{\n  // ours\n  \"model\": \"x\",\n  \"hooks\": {\n    \"SessionStart\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"date\" }] }\n    ]\n  }\n}\n";
        let once = hooked(text, HookProgram::Claude).unwrap();
        assert!(once.contains("// ours") && once.contains("\"date\"") && once.contains("--for-hook claude"), "{once}");
        assert_eq!(hooked(&once, HookProgram::Claude).unwrap(), once);
        for program in [HookProgram::Claude, HookProgram::Codex, HookProgram::Gemini] {
            let fresh = hooked("", program).unwrap();
            assert_eq!(hooked(&fresh, program).unwrap(), fresh);
            assert!(fresh.contains(&format!("--from-hook {} --synth --commit", program.name())), "{fresh}");
            assert_eq!(fresh.contains("\"name\""), program == HookProgram::Gemini, "{fresh}");
        }
    }

    #[test]
    fn what_is_added_can_be_taken_out_again_and_nothing_else_goes() {
        let files = HookProgram::Claude.files().unwrap();
        let taken = |text: &str| without_hooks(text, HookProgram::Claude, &files).unwrap();
        assert_eq!(taken(&hooked("", HookProgram::Claude).unwrap()), "");
        let own = "{\n  // ours\n  \"model\": \"x\"\n}\n";
        assert_eq!(taken(own), own);
        for own in ["{}", "{\"hooks\":{}}"] {
            assert_eq!(taken(&hooked(own, HookProgram::Claude).unwrap()).split_whitespace().collect::<String>(), "{}");
        }
        let kept = taken(&hooked(own, HookProgram::Claude).unwrap());
        assert!(kept.contains("// ours") && kept.contains("\"model\"") && !kept.contains("hooks"), "{kept}");
        let others = r#"{ "hooks": { "SessionEnd": [{ "hooks": [{ "command": "date" }] }], "Stop": [] } }"#;
        let kept = taken(&hooked(others, HookProgram::Claude).unwrap());
        let value: serde_json::Value = serde_json::from_str(&kept).unwrap();
        assert_eq!(value, serde_json::from_str::<serde_json::Value>(others).unwrap());
        let skill = SetupFile::all(HookProgram::Claude).remove(1);
        assert_eq!((skill.take_out(SKILL).as_deref(), skill.take_out("mine").as_deref()), (Ok(""), Ok("mine")));
    }

    #[test]
    fn a_file_that_is_not_understood_is_not_touched() {
        let hooked = |text| hooked(text, HookProgram::Claude);
        assert!(hooked("{ \"hooks\": [1] }").unwrap_err().contains("`hooks`"));
        assert!(hooked("{\n  oops").unwrap_err().starts_with("2:"));
        assert!(hooked("[]").is_err());
    }

    #[test]
    fn a_skill_that_somebody_changed_stays() {
        let skill = SetupFile::all(HookProgram::Codex).remove(1);
        assert_eq!(skill.name(), ".agents/skills/synthesize-ledgers/SKILL.md");
        assert_eq!(skill.set_up("").as_deref(), Ok(SKILL));
        assert_eq!(skill.set_up(SKILL).as_deref(), Ok(SKILL));
        assert_eq!(skill.set_up("mine\n").as_deref(), Ok("mine\n"));
    }
}
