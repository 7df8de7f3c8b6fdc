//! `run`: an agent's command, in its place and under our eyes. Its end is an event.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::proc::{self, Cmd, Status as Ended};
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::{Ui, printable};

use crate::event::{Draft, Status, completion};
use crate::facts::agents::{self, Known, OPTIONAL, variables};
use crate::facts::place::Place;
use crate::{life, post};

pub fn run(ui: &Ui, env: &Env, id: &str, command: &[OsString], is_dry: bool) -> Result<Exit> {
    let place = Place::find(env)?;
    let known = agents::require(&place, id)?;
    let (name, args) = command.split_first().ok_or_else(|| Failure::usage("a command is missing"))?;
    let program = program(env, &known, name);
    if is_dry {
        let shown = command.iter().map(|word| shell_word(Path::new(word))).collect::<Vec<_>>().join(" ");
        ui.line(format!("would run {shown} as {} in {}", printable(id), printable(&known.tree.path.to_string_lossy())));
        return Ok(Exit::Done);
    }
    let held = life::begin(env, &place, &known.agent)?;
    let Some(program) = program else {
        let shown = name.to_string_lossy();
        tell(env, &place, &known, &held, Ended::Exited(127))?;
        held.end(env, Ended::Exited(127))?;
        let what = if shown.contains('/') { "is no program" } else { "is not on the PATH" };
        return Err(Failure::new(Exit::Failed, "not_found", format!("`{shown}` {what}"))
            .hint("name a program that is there, after `--`"));
    };
    let mut cmd = Cmd::new(&program, env).args(args).dir(&known.tree.path).without_vars(LOCAL_VARS);
    cmd = cmd.without_vars(&OPTIONAL);
    for (name, value) in variables(&known) {
        cmd = cmd.var(name, value);
    }
    let ended = match cmd.foreground() {
        Ok(ended) => ended,
        Err(failure) => {
            tell(env, &place, &known, &held, Ended::Exited(127))?;
            held.end(env, Ended::Exited(127))?;
            return Err(failure);
        }
    };
    // What could not be told is a death for whoever looks next; the command's own end is what this one ends with.
    if let Err(failure) = tell(env, &place, &known, &held, ended).and_then(|()| held.end(env, ended)) {
        ui.warn(format!("could not tell how {id} ended: {failure}"));
    }
    if let Ended::Signalled(signal) = ended {
        ui.detail(format!("{id} was ended by signal {signal}"));
    }
    Ok(match ended {
        Ended::Exited(0) => Exit::Done,
        Ended::Exited(code) => Exit::Command(u8::try_from(code).unwrap_or(u8::MAX)),
        Ended::Signalled(signal) => Exit::Signal(u8::try_from(signal).unwrap_or(0)),
    })
}

/// Where a program is: on the PATH, or as a path from where the agent works.
fn program(env: &Env, known: &Known, name: &OsStr) -> Option<PathBuf> {
    let found = match name.as_encoded_bytes().contains(&b'/') {
        true => Some(known.tree.path.join(name)),
        false => name.to_str().filter(|name| !name.is_empty()).and_then(|name| proc::find(env, name)),
    };
    found.filter(|program| program.is_file())
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
    let today = agents::require(place, &known.agent.id);
    let branch = today.map_or(known.tree.branch.clone(), |known| known.tree.branch);
    let draft = Draft {
        kind: kind.to_owned(),
        status,
        message,
        branch,
        head: post::head(env, place, &known.tree),
        more: vec![more],
    };
    post::send(env, place, known, draft, Some(&held.key())).map(drop)
}
