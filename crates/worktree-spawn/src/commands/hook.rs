//! `hook`: what agent programs call, with their JSON on stdin.

use std::path::PathBuf;

use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::ui::{Options, Ui};

use super::{remove, subtree};
use crate::cli::{HookCommand, IfExists, RemoveArgs, SubtreeArgs};
use crate::event::{Draft, Status};
use crate::facts::agents;
use crate::facts::place::Place;
use crate::post;

/// Hooks by which agent programs say that a turn ended.
const TURN_ENDS: [&str; 3] = ["Stop", "SubagentStop", "AfterAgent"];

/// How much of what an agent said last goes into an event.
const EXCERPT: usize = 2000;

pub fn run(ui: &Ui, env: &Env, command: &HookCommand) -> Result<Exit> {
    let is_off = env.var("SHOPFLOOR").is_some_and(|value| value == "0");
    match command {
        HookCommand::WorktreeCreate => create(ui, env),
        _ if is_off => Ok(Exit::Done),
        // Whatever happens: an exit of 2 would make the agent go on.
        HookCommand::WorkerExit { identity } => {
            told(ui, worker_exit(ui, env, identity.id.as_deref()));
            Ok(Exit::Done)
        }
        HookCommand::WorktreeRemove => {
            told(ui, remove_named(ui, env));
            Ok(Exit::Done)
        }
    }
}

fn told(ui: &Ui, done: Result<()>) {
    if let Err(failure) = done {
        ui.problem(&failure);
    }
}

/// The hook's JSON, and the surroundings it speaks of: its `cwd` is where the agent is.
fn input(ui: &Ui, env: &Env) -> Result<(Value, Env)> {
    let bytes = ui.input_up_to(fs::STATE_LIMIT)?;
    let input: Value = serde_json::from_slice(&bytes)
        .map_err(|e| Failure::malformed("what the agent program sent is no JSON").because(e))?;
    if !input.is_object() {
        return Err(Failure::malformed("what the agent program sent is no JSON object"));
    }
    let cwd = text(&input, "cwd").map(PathBuf::from).filter(|cwd| cwd.is_absolute() && cwd.is_dir());
    let env = match cwd {
        Some(cwd) if !env.cwd_named => env.at(&cwd)?,
        _ => env.clone(),
    };
    Ok((input, env))
}

fn text<'v>(input: &'v Value, key: &str) -> Option<&'v str> {
    input.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

/// A turn ended: the agent is idle.
fn worker_exit(ui: &Ui, env: &Env, named: Option<&str>) -> Result<()> {
    let (input, there) = input(ui, env)?;
    // An agent wanders; where its hook runs it may have left its worktree, and even the repository.
    let there = Env { cwd_named: env.cwd_named, ..there };
    let place = Place::of_speaker(&there).or_else(|_| Place::of_speaker(env))?;
    let caller = agents::speaker(&place, named)?;
    if caller.agent.parent.is_none() {
        return Ok(());
    }
    let event = text(&input, "hook_event_name").unwrap_or("Stop").to_owned();
    if !TURN_ENDS.contains(&event.as_str()) {
        return Err(Failure::usage(format!("{event} is not the end of a turn"))
            .hint(format!("set the hook for one of {}", TURN_ENDS.join(", "))));
    }
    let last = ["last_assistant_message", "prompt_response"].iter().find_map(|key| text(&input, key));
    let message = last.map_or_else(|| format!("{event}: the turn ended"), |text| text.chars().take(EXCERPT).collect());
    let draft = Draft {
        kind: "worker_idle".into(),
        status: Status::Info,
        message,
        branch: caller.tree.branch.clone(),
        head: post::head(env, &place, &caller.tree),
        more: vec![("hook", event.into())],
    };
    post::send(env, &place, &caller, draft, None).map(drop)
}

/// `claude --worktree NAME`: one of ours, which may be there from an earlier session.
fn create(ui: &Ui, env: &Env) -> Result<Exit> {
    let create = || -> Result<PathBuf> {
        let (input, env) = input(ui, env)?;
        let name = text(&input, "name").or(text(&input, "worktree_name"));
        let name = name.ok_or_else(|| Failure::malformed("what the agent program sent has no `name`"))?;
        let place = Place::find(&env)?;
        let args = SubtreeArgs { name: name.to_owned(), if_exists: IfExists::Return, ..SubtreeArgs::default() };
        Ok(subtree::spawn(ui, &env, &place, &args)?.known.tree.path)
    };
    match create() {
        Ok(path) => {
            ui.answer(&[path.as_os_str().as_encoded_bytes(), b"\n"].concat());
            Ok(Exit::Done)
        }
        // stdout is the path, and nothing else ever.
        Err(failure) => {
            ui.problem(&failure);
            Ok(Exit::No)
        }
    }
}

/// Claude Code is done with a worktree: it goes if nothing is lost with it.
fn remove_named(ui: &Ui, env: &Env) -> Result<()> {
    let (input, _) = input(ui, env)?;
    let path = text(&input, "worktree_path").or(text(&input, "path"));
    let path = path.ok_or_else(|| Failure::malformed("what the agent program sent has no `worktree_path`"))?;
    let path = env.cwd.join(path);
    let inside = env.at(&path)?;
    let found = Place::find(&inside)?;
    let known = agents::here(&found)?;
    if !known.is_managed
        || known.agent.parent.is_none()
        || known.tree.path.canonicalize().ok() != path.canonicalize().ok()
    {
        return Err(Failure::new(Exit::No, "unmanaged", format!("{} was not spawned by us", path.display()))
            .hint("take it away with `git worktree remove`"));
    }
    // From the main checkout: our own directory goes.
    let place = Place { here: found.trees_of_main(), ..found };
    // stdout is the agent program's.
    let silent = Ui::new(crate::TOOL, env, Options { quiet: true, ..Options::default() });
    remove::remove(&silent, env, &place, &RemoveArgs { id: known.agent.id, ..RemoveArgs::default() }).map(drop)
}
