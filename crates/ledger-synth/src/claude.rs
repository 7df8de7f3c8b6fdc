//! Everything that is particular to Claude Code: the files of its setup, and what its hooks say and expect
//! (<https://code.claude.com/docs/en/hooks>). The skill does in a conversation what the interactive command does on a
//! terminal.

use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde::{Deserialize, Serialize};
use shopfloor_core::env::Env;
use shopfloor_core::text::Position;

/// The files of the setup, relative to the work tree: the hooks and the skill.
pub const FILES: [&str; 2] = [SETTINGS, SKILL_FILE];

const SETTINGS: &str = ".claude/settings.json";

const SKILL_FILE: &str = ".claude/skills/synthesize-ledgers/SKILL.md";

/// The variable that names a file of shell commands, which Claude Code runs before each command of the session.
const ENVIRONMENT_FILE: &str = "CLAUDE_ENV_FILE";

/// The end of a session, as its hook tells it on stdin.
#[derive(Debug, Default, Deserialize)]
pub struct SessionEnd {
    /// Empty if the hook does not say.
    #[serde(default, rename = "session_id", deserialize_with = "text_or_null")]
    pub session: String,
    #[serde(default, rename = "cwd")]
    pub dir: Option<PathBuf>,
    #[serde(default)]
    pub reason: Option<String>,
}

fn text_or_null<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Option::<String>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Parses the input of a SessionEnd hook.
pub fn session_end(input: &[u8]) -> serde_json::Result<SessionEnd> {
    serde_json::from_slice(input)
}

/// The session that a SessionStart hook names on stdin; empty if it names none.
pub fn started_session(input: &[u8]) -> String {
    let input: serde_json::Value = serde_json::from_slice(input).unwrap_or_default();
    input["session_id"].as_str().unwrap_or_default().to_owned()
}

/// The file to which a SessionStart hook may add variables for the session.
pub fn environment_file(env: &Env) -> Option<&Path> {
    env.var(ENVIRONMENT_FILE).map(Path::new).filter(|file| file.is_absolute())
}

/// The answer of a SessionStart hook: a text that becomes part of the session's context.
pub fn session_start_answer(context: &str) -> impl Serialize + '_ {
    let output = HookOutput { hook_event_name: "SessionStart", additional_context: context };
    SessionStartAnswer { hook_specific_output: output }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionStartAnswer<'a> {
    hook_specific_output: HookOutput<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookOutput<'a> {
    hook_event_name: &'static str,
    additional_context: &'a str,
}

/// The new text of one of the [`FILES`], given its text now (empty if it is missing). The same text if there is nothing
/// to do; the position and the reason if the file cannot be edited.
pub fn set_up(file: &str, text: &str) -> Result<String, String> {
    match file {
        SETTINGS => with_hooks(text),
        _ if text.is_empty() => Ok(SKILL.to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// Each hook, and the command it runs.
const HOOKS: [(&str, &str); 2] = [
    ("SessionStart", "ledger-synth banner --for-hook claude"),
    ("SessionEnd", "ledger-synth add --from-hook claude --synth --commit"),
];

/// The settings with our hooks in them. Everything else stays as it is, comments included.
fn with_hooks(text: &str) -> Result<String, String> {
    let options = ParseOptions { allow_comments: true, allow_trailing_commas: true, ..ParseOptions::default() };
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = CstRootNode::parse(text, &options)
        .map_err(|e| format!("{}: {}", Position::of(text, e.range().start), e.kind()))?;
    let wrong = |what: &str| format!("1:1: {what} is not what Claude Code expects there");
    let hooks = root.object_value().ok_or_else(|| wrong("the document"))?;
    let hooks = hooks.object_value_or_create("hooks").ok_or_else(|| wrong("`hooks`"))?;
    for (event, command) in HOOKS {
        let list = hooks.array_value_or_create(event).ok_or_else(|| wrong(&format!("`hooks.{event}`")))?;
        let is_there = list.elements().iter().filter_map(|node| node.to_serde_value()).any(|value| {
            let commands = value.get("hooks").and_then(|hooks| hooks.as_array()).cloned().unwrap_or_default();
            commands.iter().any(|hook| hook.get("command").and_then(|c| c.as_str()) == Some(command))
        });
        if !is_there {
            let text = |text: &str| CstInputValue::String(text.to_owned());
            let hook = vec![("type".to_owned(), text("command")), ("command".to_owned(), text(command))];
            let hooks = CstInputValue::Array(vec![CstInputValue::Object(hook)]);
            list.append(CstInputValue::Object(vec![("hooks".to_owned(), hooks)]));
        }
    }
    Ok(root.to_string())
}

/// The skill, as Claude Code reads it.
const SKILL: &str = include_str!("../../../skills/synthesize-ledgers/SKILL.md");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_added_once_and_nothing_else_changes() {
        let text = "{\n  // ours\n  \"model\": \"x\",\n  \"hooks\": {\n    \"SessionStart\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"date\" }] }\n    ]\n  }\n}\n";
        let once = with_hooks(text).unwrap();
        assert!(once.contains("// ours") && once.contains("\"date\"") && once.contains("--for-hook claude"), "{once}");
        assert_eq!(with_hooks(&once).unwrap(), once);
        let fresh = with_hooks("").unwrap();
        assert_eq!(with_hooks(&fresh).unwrap(), fresh);
        assert!(fresh.contains("--from-hook claude --synth --commit"));
    }

    #[test]
    fn a_file_that_is_not_understood_is_not_touched() {
        assert!(with_hooks("{ \"hooks\": [1] }").unwrap_err().contains("`hooks`"));
        assert!(with_hooks("{\n  oops").unwrap_err().starts_with("2:"));
        assert!(with_hooks("[]").is_err());
    }
}
