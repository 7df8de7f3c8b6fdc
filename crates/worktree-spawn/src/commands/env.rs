//! `env`: an agent's environment.

use std::ffi::OsStr;

use serde_json::{Map, Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::ui::Ui;

use crate::facts::agent_environment::{OPTIONAL, inherited, variables};
use crate::facts::{agents, repository};

/// Print an agent's environment, for `eval`
///
/// Exits with 1 if no agent, or more than one, has this name.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  eval \"$(worktree-spawn env main.feature-a)\"")]
pub struct Args {
    /// The agent's id, or a slug that only one agent has
    pub id: String,
}

/// Whether a shell takes this as the name of a variable.
fn is_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// Prints `export` lines, and an `unset` for variables that belong to another agent or, like git's, to another
/// repository, or that lead into another worktree.
pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    let known = agents::contained(&place, Some(&args.id)).map_or_else(|| agents::require(&place, &args.id), Ok)?;
    let variables = variables(&known);
    if ui.is_json() {
        let env: Map<String, Value> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), value.to_string_lossy().into())).collect();
        ui.json_of_both(&known.keys(), &json!({ "env": env }));
        return Ok(Exit::Done);
    }
    let unset = OPTIONAL.iter().filter(|name| variables.iter().all(|(set, _)| set != *name)).chain(LOCAL_VARS);
    let theirs = inherited(env, &place, &known.worktree.path)?;
    let gone = env.vars.keys().filter(|name| !theirs.vars.contains_key(*name)).filter_map(|name| name.to_str());
    let unset = unset.copied().chain(gone.filter(|name| is_name(name))).collect::<Vec<_>>().join(" ");
    for (name, value) in theirs.vars.iter().filter(|(name, value)| env.vars.get(*name) != Some(value)) {
        if let Some(name) = name.to_str().filter(|name| is_name(name)) {
            export(ui, name, value);
        }
    }
    variables.iter().for_each(|(name, value)| export(ui, name, value));
    ui.line(format!("unset {unset}"));
    Ok(Exit::Done)
}

/// Prints the line that sets a variable, byte for byte: a path need not be Unicode.
fn export(ui: &Ui, name: &str, value: &OsStr) {
    let parts: Vec<&[u8]> = value.as_encoded_bytes().split(|byte| *byte == b'\'').collect();
    let value = parts.join(br"'\''".as_slice());
    ui.answer(&[b"export ".as_slice(), name.as_bytes(), b"='", value.as_slice(), b"'\n"].concat());
}
