//! `run`: run an agent's command in the agent's worktree, and report how it ended.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shopfloor_core::config;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::LOCAL_VARS;
use shopfloor_core::proc::{self, Cmd, Status};
use shopfloor_core::sandbox::{self, Sandbox, SandboxSettings};
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::{Ui, printable};

use crate::agent_in_worktree::KnownAgent;
use crate::agent_run;
use crate::apply::runs::{self, ActiveRun};
use crate::apply::{sandboxes, send_event};
use crate::event::{EventDraft, EventStatus, completion};
use crate::facts::agent_environment::{OPTIONAL, inherited, variables};
use crate::facts::{agents, repository};
use crate::failure;
use crate::plan::removal::require_spawned;
use crate::repository_view::Place;
use crate::tool::TOOL;

/// Run an agent's command in its worktree, and report to its parent how it ended
///
/// Exits as the command does, or with 75 if the agent is already running. The environment of the command has
/// SHOPFLOOR_AGENT_ID, _SESSION_ID, _PARENT, _ROLE and, if the agent has a task, _TASK_FILE.
/// With --quiet the parent is not told how it ends, and a run that is about to end is waited for.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  worktree-spawn run main.feature-a -- claude")]
pub struct Args {
    /// The agent's id, or a slug that only one agent has
    pub id: String,
    /// Only if the agent lives in the current worktree
    #[arg(long, hide = true)]
    pub here: bool,
    /// Run it in a sandbox that holds only its worktree and a private copy of the repository; what it has committed
    /// comes onto its branch when it ends
    #[arg(long)]
    pub sandbox: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

pub fn run(ui: &Ui, env: &Env, args: &Args) -> Result<Exit> {
    let place = repository::find(env)?;
    let known = agents::require(&place, &args.id)?;
    if args.here && place.here.as_ref().is_none_or(|here| here.path != known.worktree.path) {
        let why = format!("{} does not live in {}", known.agent.id, env.cwd.display());
        return Err(failure::TAMPERED.with(Exit::Failed, why).hint("look at its record: `worktree-spawn list`"));
    }
    if !args.here {
        require_spawned(&known)?;
        // git's record may name any directory, and in one without a `.git` git works on the repository above.
        if known.worktree.is_lost {
            let why = format!("the worktree of {} is not at {}", known.agent.id, known.worktree.path.display());
            return Err(Failure::not_found(why)
                .hint("if it was moved, `worktree-spawn repair` finds it or says how it comes back"));
        }
    }
    let (name, rest) = args.command.split_first().ok_or_else(|| Failure::usage("a command is missing"))?;
    let theirs = inherited(env, &place, &known.worktree.path)?;
    let program = find_program(&theirs, &known, name);
    let id = &args.id;
    if ui.is_dry() {
        let command = args.command.iter().map(|word| shell_word(Path::new(word))).collect::<Vec<_>>().join(" ");
        match ui.is_json() {
            true => ui.json_of_both(&known.keys(), &json!({ "command": command })),
            false => {
                let worktree = printable(&known.worktree.path.to_string_lossy());
                ui.line(format!("would run {} as {} in {worktree}", printable(&command), printable(id)));
            }
        }
        return Ok(Exit::Done);
    }
    let sandbox = args.sandbox.then(|| contained(ui, &theirs, &place, &known)).transpose()?;
    let active = runs::start(env, &place, &known.agent, ui.is_quiet())?;
    let ended = match (program, &sandbox) {
        (Some(program), Some(sandbox)) => {
            active.keep_to_itself().and_then(|()| run_contained(ui, (env, &place), sandbox, (&program, rest), &known))
        }
        (Some(program), None) => command(&theirs, &program, rest, &known).foreground(),
        (None, _) => Err(no_program(name)),
    };
    let (ended, failure) = match ended {
        Ok(ended) => (ended, None),
        Err(failure) => (Status::Exited(127), Some(failure)),
    };
    // If the end could not be reported, the next command that looks reports a death. This command ends as the agent's
    // did.
    if let Err(failure) = report_end(env, &place, &known, &active, ended).and_then(|()| active.end(env, ended)) {
        ui.warn(format!("could not report how {id} ended: {failure}"));
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    if let Status::Signalled(signal) = ended {
        ui.detail(format!("{id} was ended by signal {signal}"));
    }
    Ok(ended.exit())
}

fn no_program(name: &OsStr) -> Failure {
    let shown = name.to_string_lossy();
    let what = if shown.contains('/') { "is not a program" } else { "is not on the PATH" };
    let failure = failure::NOT_FOUND.with(Exit::Failed, format!("`{shown}` {what}"));
    failure.hint("name a program that is there, after `--`")
}

/// Fails if the program of a command is not there, before a worktree is made for it, which may hold a program that is
/// named by a path.
pub fn require_program(env: &Env, command: &[OsString]) -> Result<()> {
    let is_missing = |name: &&OsString| {
        !name.as_encoded_bytes().contains(&b'/') && name.to_str().is_none_or(|name| proc::find(env, name).is_none())
    };
    command.first().filter(is_missing).map_or(Ok(()), |name| Err(no_program(name)))
}

/// Finds a program: on the PATH, or by a path from the agent's worktree.
fn find_program(env: &Env, known: &KnownAgent, name: &OsStr) -> Option<PathBuf> {
    let found = match name.as_encoded_bytes().contains(&b'/') {
        true => Some(known.worktree.path.join(name)),
        false => name.to_str().filter(|name| !name.is_empty()).and_then(|name| proc::find(env, name)),
    };
    found.filter(|program| program.is_file())
}

/// The agent's command, in its worktree and environment.
fn command(env: &Env, program: &Path, args: &[OsString], known: &KnownAgent) -> Cmd {
    let cmd = Cmd::new(program, env).args(args).dir(&known.worktree.path);
    cmd.without_vars(LOCAL_VARS).without_vars(&OPTIONAL).vars(variables(known))
}

/// How long its set-up may take before.
const SET_UP: &str = "10m";

/// The sandbox of the agent's worktree, made if it was not there.
fn contained(ui: &Ui, env: &Env, place: &Place, known: &KnownAgent) -> Result<Sandbox> {
    sandbox::require_available(env)?;
    let settings = SandboxSettings::of_user(env)?;
    config::users_unknown_tables(env)?.iter().for_each(|warning| ui.warn(warning));
    let sandbox = Sandbox::of(env, &place.common_dir, &known.worktree.path, settings)?;
    // A set-up that still runs would run what the agent writes, outside.
    if let (false, Some(program)) = (sandbox.is_made(), proc::find(env, "sweatfile-apply")) {
        let wait = Cmd::new(&program, &env.at(&known.worktree.path)?).args(["-q", "wait", "--timeout", SET_UP]);
        if wait.capture()?.status.code() == i32::from(Exit::Timeout.code()) {
            return Err(Failure::new(Exit::Busy, "busy", format!("the set-up of {} still runs", known.agent.id))
                .hint("wait for it: `sweatfile-apply wait` in the worktree"));
        }
    }
    sandbox.make(None)?;
    Ok(sandbox)
}

/// Runs the command in the sandbox, and takes in what it reports meanwhile and has committed at its end.
fn run_contained(
    ui: &Ui,
    (env, place): (&Env, &Place),
    sandbox: &Sandbox,
    (program, args): (&Path, &[OsString]),
    known: &KnownAgent,
) -> Result<Status> {
    let vars = variables(known).into_iter().map(|(name, value)| (name.into(), value)).collect();
    let id = &known.agent.id;
    // What a person has committed meanwhile is there from the beginning.
    if matches!(sandbox.outside_move(), Ok(Some(_))) {
        sandboxes::take_in(ui, env, place, sandbox, id);
    }
    let meanwhile = || sandboxes::take_reports(ui, &env.later(), place, sandbox, id);
    let ended = sandbox.run(TOOL, program, args, vars, &meanwhile);
    sandboxes::take_in(ui, &env.later(), place, sandbox, id);
    ended
}

/// Reports to the parent how the command ended. An agent that already reported its result has only exited.
fn report_end(env: &Env, place: &Place, known: &KnownAgent, active: &ActiveRun, ended: Status) -> Result<()> {
    if known.agent.parent.is_none() || active.run.is_quiet {
        return Ok(());
    }
    let kind = match agent_run::has_reported(&place.shared(), &active.run)? {
        true => "worker_exited",
        false => completion(known.agent.kind),
    };
    let (status, message, more) = match ended {
        Status::Exited(0) => (EventStatus::Success, "exit 0".to_owned(), ("exit", Value::from(0))),
        Status::Exited(code) => (EventStatus::Failure, format!("exit {code}"), ("exit", Value::from(code))),
        Status::Signalled(signal) => {
            (EventStatus::Failure, format!("signal {signal}"), ("signal", Value::from(signal)))
        }
    };
    // The agent may have switched branches meanwhile.
    let current = agents::require(place, &known.agent.id).unwrap_or_else(|_| known.clone());
    let draft = EventDraft { kind: kind.to_owned(), status, message, more: vec![more] };
    send_event::send(env, place, &current, draft, Some(&active.run.key())).map(drop)
}
