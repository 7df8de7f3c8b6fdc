//! Starting an agent through the configured launcher.

use shopfloor_core::config::Line;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::text::shell_word;

use crate::agent_in_worktree::KnownAgent;
use crate::facts::agent_environment::inherited;
use crate::launcher::{self, word};
use crate::layout;
use crate::repository_view::Place;
use crate::settings::Settings;
use crate::tool::program;

/// The command line that starts an agent under `worktree-spawn run`.
pub fn run_line(env: &Env, settings: &Settings, known: &KnownAgent) -> Result<String> {
    let name = known.agent.agent.clone().unwrap_or_else(|| settings.agent.clone());
    let command = match settings.command_of(&name)? {
        Line::Shell(line) => format!("sh -c {}", word(&line)),
        Line::Argv(argv) => argv.iter().map(|arg| word(arg)).collect::<Vec<_>>().join(" "),
    };
    Ok(format!("{} run {} -- {command}", word(&program(env)), word(&known.agent.id)))
}

/// Starts an agent; `false` if the launcher is `none`, so that a person has to start it.
pub fn launch(env: &Env, place: &Place, settings: &Settings, known: &KnownAgent) -> Result<bool> {
    if settings.launcher == Line::Shell(launcher::NONE.into()) {
        return Ok(false);
    }
    let cmd = run_line(env, settings, known)?;
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
