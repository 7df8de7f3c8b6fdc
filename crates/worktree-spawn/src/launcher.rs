//! Starting an agent through whatever shows it to a person: a template whose fields are filled in, each as one word
//! for a shell.

use std::path::Path;

use serde_json::Value;
use shopfloor_core::config::Line;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::proc::{self, Cmd};
use shopfloor_core::text::shell_word;

use crate::apply::files::program;
use crate::facts::agents::Known;
use crate::facts::place::Place;
use crate::identity::{self, Kind};
use crate::life::{self, Life, State};
use crate::settings::Settings;

/// Launchers we know.
const PRESETS: [(&str, &str); 2] = [
    ("tmux", "tmux new-window -d -n {slug} -c {path} {cmd}"),
    ("zellij", "zellij run --name {slug} --cwd {path} -- sh -c {cmd}"),
];

/// Nobody is started.
const NONE: &str = "none";

fn word(text: &str) -> String {
    shell_word(Path::new(text))
}

/// The command line that runs an agent under our eyes.
pub fn run_line(env: &Env, settings: &Settings, known: &Known) -> Result<String> {
    let program_name = known.agent.agent.clone().unwrap_or_else(|| settings.agent.clone());
    let command = match settings.command_of(&program_name)? {
        Line::Shell(line) => format!("sh -c {}", word(&line)),
        Line::Argv(argv) => argv.iter().map(|arg| word(arg)).collect::<Vec<_>>().join(" "),
    };
    Ok(format!("{} run {} -- {command}", word(&program(env)), word(&known.agent.id)))
}

/// Fills a template in; `is_quoted`: for a shell.
fn fill(template: &str, known: &Known, cmd: &str, is_quoted: bool) -> String {
    let quote = |text: &str| if is_quoted { word(text) } else { text.to_owned() };
    let fields = [
        ("{id}", quote(&known.agent.id)),
        ("{slug}", quote(&known.agent.slug)),
        ("{path}", quote(&known.tree.path.to_string_lossy())),
        ("{cmd}", quote(cmd)),
    ];
    // One pass: what a field holds is not looked at again.
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let field = fields.iter().find(|(name, _)| rest.starts_with(name));
        let (text, length) = field.map_or(("{", 1), |(name, text)| (text, name.len()));
        out.push_str(text);
        rest = &rest[length..];
    }
    out + rest
}

/// A template as a command to run.
pub fn filled(env: &Env, line: &Line, known: &Known, cmd: &str) -> Result<Cmd> {
    let ready = match line {
        Line::Shell(template) => {
            let template = PRESETS.iter().find(|(name, _)| name == template).map_or(template.as_str(), |(_, t)| t);
            let sh = proc::find(env, "sh").ok_or_else(|| Failure::failed("sh is not on the PATH"))?;
            Cmd::new(&sh, env).arg("-c").arg(fill(template, known, cmd, true))
        }
        Line::Argv(argv) => {
            let argv: Vec<String> = argv.iter().map(|arg| fill(arg, known, cmd, false)).collect();
            let (name, args) = argv.split_first().ok_or_else(|| Failure::malformed("the launcher is empty"))?;
            let found = if name.contains('/') { Some(env.cwd.join(name)) } else { proc::find(env, name) };
            let found = found.ok_or_else(|| Failure::failed(format!("{name} is not on the PATH")))?;
            Cmd::new(&found, env).args(args)
        }
    };
    Ok(ready.dir(&known.tree.path).without_vars(LOCAL_VARS))
}

/// How an agent is: what `run` knows of it, else what the probe says.
pub fn state(
    env: &Env,
    place: &Place,
    probe: Option<&Line>,
    known: &Known,
    life: Option<Life>,
) -> Result<(State, Option<Value>)> {
    let told = life::state(env, place, &known.agent, life)?;
    let Some(probe) = probe.filter(|_| told.0 == State::Never && known.agent.kind != Kind::Root) else {
        return Ok(told);
    };
    Ok(match filled(env, probe, known, "").and_then(Cmd::capture) {
        Ok(output) if output.status.code() == 0 => (State::Live, None),
        Ok(output) if output.status.code() == 1 => (State::Never, None),
        _ => (State::Unknown, None),
    })
}

/// Starts the agent; `false` when the launcher is `none`.
pub fn launch(env: &Env, settings: &Settings, known: &Known) -> Result<bool> {
    if settings.launcher == Line::Shell(NONE.into()) {
        return Ok(false);
    }
    let cmd = run_line(env, settings, known)?;
    let mut said = Vec::new();
    // What it starts in the background is not waited for.
    let scratch = fs::scratch(&identity::state(&known.tree.git_dir).join("tmp"))?;
    let launcher = filled(env, &settings.launcher, known, &cmd)?;
    let status = launcher.show_through(scratch, |bytes| said.extend_from_slice(bytes))?;
    if status.success() {
        return Ok(true);
    }
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    Err(Failure::failed(format!("the launcher ended with {status}"))
        .because(std::io::Error::other(if said.is_empty() { status.to_string() } else { said }))
        .hint(format!("start the agent yourself: `cd {} && {cmd}`", shell_word(&known.tree.path))))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::facts::place::Tree;
    use crate::identity::Agent;

    #[test]
    fn fields_are_words_and_are_filled_in_once() {
        let mut agent = Agent::root("a'b", None, Timestamp::UNIX_EPOCH);
        agent.slug = "{cmd}".into();
        let tree = Tree { path: "/x y".into(), git_dir: "/g".into(), branch: None, is_main: true, is_lost: false };
        let known = Known { agent, tree, is_managed: true, error: None };
        let line = fill("go {slug} {id} {path} {x} {cmd}", &known, "run 'it'", true);
        assert_eq!(line, r"go '{cmd}' 'a'\''b' '/x y' {x} 'run '\''it'\'''");
        assert_eq!(fill("{path}", &known, "", false), "/x y");
    }
}
