//! `run`: an agent's command, in its place and under our eyes. Its end is an event.

use std::ffi::OsString;

use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::proc::{self, Cmd, Status as Ended};
use shopfloor_core::ui::Ui;

use crate::event::{Draft, Status, completion};
use crate::facts::agents::{self, Known, variables};
use crate::facts::place::Place;
use crate::{life, post};

pub fn run(ui: &Ui, env: &Env, id: &str, command: &[OsString]) -> Result<Exit> {
    let place = Place::find(env)?;
    let known = agents::require(&place, id)?;
    let (name, args) = command.split_first().ok_or_else(|| Failure::usage("a command is missing"))?;
    let program = if name.to_string_lossy().contains('/') {
        Some(known.tree.path.join(name))
    } else {
        name.to_str().and_then(|name| proc::find(env, name))
    };
    let program = program.filter(|program| program.is_file()).ok_or_else(|| {
        Failure::new(Exit::Failed, "not_found", format!("{} is not on the PATH", name.to_string_lossy()))
            .hint("name a program that is there, after `--`")
    })?;
    let mut cmd = Cmd::new(&program, env).args(args).dir(&known.tree.path).without_vars(LOCAL_VARS);
    // What an outer agent was told is not for this one.
    cmd = cmd.without_vars(&[
        "SHOPFLOOR_TASK_FILE",
        "SHOPFLOOR_SETTINGS",
        "SHOPFLOOR_MCP_CONFIG",
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    ]);
    for (name, value) in variables(&known) {
        cmd = cmd.var(name, value);
    }
    let held = life::begin(env, &place.shared(), &known.agent)?;
    let ended = match cmd.foreground() {
        Ok(ended) => ended,
        Err(failure) => {
            tell(env, &place, &known, &held, Ended::Exited(127))?;
            held.end(env, Ended::Exited(127))?;
            return Err(failure);
        }
    };
    tell(env, &place, &known, &held, ended)?;
    held.end(env, ended)?;
    if let Ended::Signalled(signal) = ended {
        ui.detail(format!("{id} was ended by signal {signal}"));
    }
    Ok(match ended {
        Ended::Exited(0) => Exit::Done,
        Ended::Exited(code) => Exit::Command(u8::try_from(code).unwrap_or(u8::MAX)),
        Ended::Signalled(signal) => Exit::Signal(u8::try_from(signal).unwrap_or(0)),
    })
}

/// Tells the parent how it ended. Who told already how it went has only exited.
fn tell(env: &Env, place: &Place, known: &Known, held: &life::Held, ended: Ended) -> Result<()> {
    if known.agent.parent.is_none() {
        return Ok(());
    }
    let kind = match life::is_completed(&place.shared(), held)? {
        true => "worker_exited",
        false => completion(known.agent.kind),
    };
    let (status, message, more) = match ended {
        Ended::Exited(0) => (Status::Success, "exit 0".to_owned(), ("exit", Value::from(0))),
        Ended::Exited(code) => (Status::Failure, format!("exit {code}"), ("exit", Value::from(code))),
        Ended::Signalled(signal) => (Status::Failure, format!("signal {signal}"), ("signal", Value::from(signal))),
    };
    let branch = place.here.as_ref().and_then(|tree| tree.branch.clone());
    let branch = agents::require(place, &known.agent.id).map_or(branch, |known| known.tree.branch);
    let draft =
        Draft { kind: kind.to_owned(), status, message, branch, head: post::head(env, &known.tree), more: vec![more] };
    let key = format!("end:{}", held.incarnation());
    post::send(env, place, known, draft, Some(&key)).map(drop)
}
