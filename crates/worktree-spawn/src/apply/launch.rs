//! Starting an agent through the configured launcher.

use shopfloor_core::agent_command::{CommandFields, READING_TOOLS, task_words};
use shopfloor_core::agents::AgentProgram;
use shopfloor_core::config::{Line, Row};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::text::shell_word;

use crate::agent_in_worktree::KnownAgent;
use crate::facts::agent_environment::inherited;
use crate::launcher::{self, word};
use crate::layout;
use crate::repository_view::Place;
use crate::settings::{ProgramStart, Settings};
use crate::tool::program;

/// The command line that starts an agent under `worktree-spawn run`.
pub fn run_line(env: &Env, place: &Place, settings: &Settings, known: &KnownAgent) -> Result<String> {
    let name = known.agent.agent.clone().unwrap_or_else(|| settings.agent.clone());
    // It asks: nobody has said here that it need not.
    let fields = CommandFields {
        worktree: &known.worktree.path,
        git_dir: &known.worktree.git_dir,
        git_common_dir: &place.common_dir,
        model: None,
        permissions: &[],
        allowed_tools: READING_TOOLS,
        hooks: &[],
    };
    let argv = match settings.start_of(&name)? {
        ProgramStart::Preset(preset) => preset_argv(preset, known, &fields),
        ProgramStart::Table(table) => table_argv(table, known, &fields),
    };
    Ok(format!("{} run {} -- {}", word(&program(env)), word(&known.agent.id), Line::Argv(argv).shell()))
}

/// The argv of a program that we know.
fn preset_argv(preset: &AgentProgram, known: &KnownAgent, fields: &CommandFields<'_>) -> Vec<String> {
    let words: Vec<String> = preset.ask_permissions.split_whitespace().map(str::to_owned).collect();
    // In the main checkout they would open all of `.git`, its hooks and configuration, too.
    let asks = if known.worktree.is_main { Vec::new() } else { fields.argv(&words) };
    let line = preset.launch_line.replace("{ask_permissions}", &Line::Argv(asks).shell());
    vec!["sh".into(), "-c".into(), line]
}

/// The argv of a program with a table. With `delivery = "argv"` it is told of the file with its task.
fn table_argv(table: &Row, known: &KnownAgent, fields: &CommandFields<'_>) -> Vec<String> {
    let items = |name: &str| table.value(name).map(|value| value.items.clone()).unwrap_or_default();
    let text = |name: &str| table.value(name).map(|value| value.text.as_str());
    let (variables, permissions, task) = (items("env"), items("ask_permissions"), items("task"));
    let fields = CommandFields { model: text("model"), permissions: &permissions, ..*fields };
    let mut argv = match table.value("command").map(Line::of) {
        Some(Line::Argv(command)) => fields.argv(&command),
        Some(Line::Shell(line)) => vec!["sh".into(), "-c".into(), line],
        None => Vec::new(),
    };
    let file = known.task_file();
    if text("delivery") == Some("argv") && file.exists() {
        let (before, after) = task_words(&task);
        argv.extend_from_slice(before);
        argv.push(format!("Your task is in the file {}: read it and carry it out.", file.display()));
        argv.extend_from_slice(after);
    }
    let env = (!variables.is_empty()).then(|| "env".to_owned());
    env.into_iter().chain(variables).chain(argv).collect()
}

/// Starts an agent; `false` if the launcher is `none`, so that a person has to start it.
pub fn launch(env: &Env, place: &Place, settings: &Settings, known: &KnownAgent) -> Result<bool> {
    if settings.launcher == Line::Shell(launcher::NONE.into()) {
        return Ok(false);
    }
    let cmd = run_line(env, place, settings, known)?;
    let mut output = Vec::new();
    // The output goes to files, so that a process left in the background is not waited for.
    let scratch = fs::scratch(&layout::temporary_dir(&layout::state_dir(&known.worktree.git_dir)))?;
    let theirs = inherited(env, place, &known.worktree.path)?;
    let launcher = launcher::command(&theirs, &settings.launcher, known, &cmd)?;
    let status = launcher.show_through(scratch, |bytes| output.extend_from_slice(bytes))?;
    if status.success() {
        return Ok(true);
    }
    let output = String::from_utf8_lossy(&output).trim().to_owned();
    Err(Failure::failed(format!("the launcher ended with {status}"))
        .because(std::io::Error::other(if output.is_empty() { status.to_string() } else { output }))
        .hint(format!("start the agent yourself: `cd {} && {cmd}`", shell_word(&known.worktree.path))))
}
