//! `whoami`, `path`, `env`: what is known of one agent, without a git process.

use serde_json::{Map, Value, json};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::ui::{Ui, printable};

use crate::facts::agents::{self, Known, OPTIONAL, variables};
use crate::facts::place::Place;

pub fn whoami(ui: &Ui, env: &Env, named: Option<&str>) -> Result<Exit> {
    let place = Place::find(env)?;
    let Known { agent, tree, .. } = agents::caller(&place, named)?;
    if ui.is_json() {
        ui.json(&json!({
            "id": agent.id, "kind": agent.kind, "session": agent.id, "parent": agent.parent,
            "birth_branch": agent.birth_branch, "level": agent.level, "path": tree.path,
        }));
    } else {
        ui.line(printable(&agent.id));
    }
    Ok(Exit::Done)
}

pub fn path(ui: &Ui, env: &Env, id: &str) -> Result<Exit> {
    let place = Place::find(env)?;
    let known = agents::require(&place, id)?;
    if ui.is_json() {
        ui.json(&json!({ "id": known.agent.id, "path": known.tree.path }));
    } else {
        ui.answer(&[known.tree.path.as_os_str().as_encoded_bytes(), b"\n"].concat());
    }
    Ok(Exit::Done)
}

/// What a shell takes over with `eval`; git's variables speak of another repository, and go.
pub fn env(ui: &Ui, env: &Env, id: &str) -> Result<Exit> {
    let place = Place::find(env)?;
    let known = agents::require(&place, id)?;
    let variables = variables(&known);
    if ui.is_json() {
        let env: Map<String, Value> =
            variables.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
        ui.json(&json!({ "id": known.agent.id, "env": env }));
        return Ok(Exit::Done);
    }
    let unset = OPTIONAL.iter().filter(|name| variables.iter().all(|(set, _)| set != *name)).chain(LOCAL_VARS);
    let unset = unset.copied().collect::<Vec<_>>().join(" ");
    for (name, value) in variables {
        ui.line(format!("export {name}='{}'", value.replace('\'', r"'\''")));
    }
    ui.line(format!("unset {unset}"));
    Ok(Exit::Done)
}
