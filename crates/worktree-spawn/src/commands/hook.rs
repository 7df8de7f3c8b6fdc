//! `hook`: the commands that agent programs call from their hooks, with JSON on stdin.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::Value;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::text::mend_half_characters;
use shopfloor_core::ui::{Options, Ui};

use super::remove;
use super::shared_args::CallerArgs;
use super::subtree;
use crate::apply::send_event;
use crate::event::{EventDraft, EventStatus};
use crate::facts::{agents, repository};
use crate::failure;
use crate::plan::spawn::{IfExists, SpawnRequest};
use crate::repository_view::Place;
use crate::tool::TOOL;

/// Answer an agent program's hooks, which send JSON on stdin
#[derive(Debug, Subcommand)]
#[command(after_help = "Example:\n  worktree-spawn hook worker-exit < hook.json")]
pub enum AgentHook {
    /// Report the end of an agent's turn: for Claude Code's Stop and SubagentStop, Gemini CLI's AfterAgent
    ///
    /// Always exits 0 and prints nothing.
    #[command(after_help = "Example:\n  worktree-spawn hook worker-exit < hook.json")]
    WorkerExit {
        #[command(flatten)]
        caller: CallerArgs,
    },
    /// Make a subtree and print its path: for Claude Code's WorktreeCreate
    ///
    /// Exits 1 if the subtree cannot be made.
    #[command(after_help = "Example:\n  echo '{\"name\": \"feature\"}' | worktree-spawn hook worktree-create")]
    WorktreeCreate,
    /// Remove a subtree if nothing is lost: for Claude Code's WorktreeRemove
    ///
    /// Always exits 0.
    #[command(after_help = "Example:\n  echo '{\"worktree_path\": \"/path\"}' | worktree-spawn hook worktree-remove")]
    WorktreeRemove,
}

/// The hooks by which any program says that a turn ended.
const TURN_HOOKS: [&str; 3] = ["Stop", "SubagentStop", "AfterAgent"];

/// The keys in a hook's JSON that may hold the agent's last message.
const LAST_MESSAGE_KEYS: [&str; 2] = ["last_assistant_message", "prompt_response"];

/// How many characters of an agent's last message go into an event.
const EXCERPT: usize = 2000;

pub fn run(ui: &Ui, env: &Env, hook: &AgentHook) -> Result<Exit> {
    let is_off = env.var("SHOPFLOOR").is_some_and(|value| value == "0");
    let done = match hook {
        AgentHook::WorktreeCreate => return create(ui, env),
        _ if is_off => Ok(()),
        AgentHook::WorkerExit { caller } => worker_exit(ui, env, caller.id.as_deref()),
        AgentHook::WorktreeRemove => remove_named(ui, env),
    };
    ui.or_problem(done);
    // An exit of 2 would make the agent go on.
    Ok(Exit::Done)
}

/// The hook's JSON, and the environment as seen from its `cwd`, which is where the agent is.
fn input(ui: &Ui, env: &Env) -> Result<(Value, Env)> {
    let mut bytes = ui.input_up_to(fs::STATE_LIMIT)?;
    mend_half_characters(&mut bytes);
    let input: Value = serde_json::from_slice(&bytes)
        .map_err(|e| Failure::malformed("the agent program's input is not JSON").because(e))?;
    if !input.is_object() {
        return Err(Failure::malformed("the agent program's input is not a JSON object"));
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

/// Reports that a turn ended and the agent is idle.
fn worker_exit(ui: &Ui, env: &Env, named: Option<&str>) -> Result<()> {
    let (input, there) = input(ui, env)?;
    // Agents change directories: the hook may run outside the agent's worktree, and even outside the repository.
    let there = Env { cwd_named: env.cwd_named, ..there };
    let place = repository::find_for_speaker(&there).or_else(|_| repository::find_for_speaker(env))?;
    let caller = agents::speaker(&place, named)?;
    if caller.agent.parent.is_none() {
        return Ok(());
    }
    let event = text(&input, "hook_event_name").unwrap_or("Stop").to_owned();
    if !TURN_HOOKS.contains(&event.as_str()) {
        return Err(Failure::usage(format!("{event} is not the end of a turn"))
            .hint(format!("set the hook for one of {}", TURN_HOOKS.join(", "))));
    }
    let last = LAST_MESSAGE_KEYS.iter().find_map(|key| text(&input, key));
    let message = last.map_or_else(|| format!("{event}: the turn ended"), |text| text.chars().take(EXCERPT).collect());
    let draft = EventDraft {
        kind: "worker_idle".into(),
        status: EventStatus::Info,
        message,
        more: vec![("hook", event.into())],
    };
    if ui.is_dry() {
        return Ok(());
    }
    send_event::send(env, &place, &caller, draft, None).map(drop)
}

/// Makes a subtree for `claude --worktree NAME`, or gives back the one from an earlier session.
fn create(ui: &Ui, env: &Env) -> Result<Exit> {
    let create = || -> Result<PathBuf> {
        let (input, env) = input(ui, env)?;
        let name = text(&input, "name").or(text(&input, "worktree_name"));
        let name = name.ok_or_else(|| Failure::malformed("the agent program's input has no `name`"))?;
        let place = repository::find(&env)?;
        let name = name.to_owned();
        let request = SpawnRequest { name, if_exists: IfExists::Return, ..SpawnRequest::default() };
        // Programs run hooks outside of the sandbox in which an agent is. In the main checkout a person works.
        let is_agents = place.here.as_ref().is_none_or(|here| !here.is_main);
        let args = subtree::Args { request, is_agents, ..subtree::Args::default() };
        Ok(subtree::spawn(ui, &env, &place, &args)?.known.worktree.path)
    };
    match create() {
        Ok(path) => {
            ui.answer(&[path.as_os_str().as_encoded_bytes(), b"\n"].concat());
            Ok(Exit::Done)
        }
        // stdout holds the path or nothing.
        Err(failure) => {
            ui.problem(&failure);
            Ok(Exit::No)
        }
    }
}

/// Removes a worktree that Claude Code has finished with, if nothing is lost.
fn remove_named(ui: &Ui, env: &Env) -> Result<()> {
    let (input, _) = input(ui, env)?;
    let path = text(&input, "worktree_path").or(text(&input, "path"));
    let path = path.ok_or_else(|| Failure::malformed("the agent program's input has no `worktree_path`"))?;
    let path = env.cwd.join(path);
    let inside = env.at(&path)?;
    let found = repository::find(&inside)?;
    let known = agents::here(&found)?;
    if !known.is_managed
        || known.agent.parent.is_none()
        || known.worktree.path.canonicalize().ok() != path.canonicalize().ok()
    {
        let failure = failure::UNMANAGED.failure(format!("{} was not spawned by worktree-spawn", path.display()));
        // git removes no main checkout.
        return Err(match known.worktree.is_main {
            true => failure,
            false => failure.hint("remove it with `git worktree remove`"),
        });
    }
    // Seen from the main checkout, because this directory is removed.
    let place = Place { here: repository::main_worktree(&found)?, ..found };
    // stdout belongs to the agent program.
    let silent = Ui::new(TOOL, env, Options { quiet: true, dry_run: ui.is_dry(), ..Options::default() });
    let args = remove::Args { ids: vec![known.agent.id], ..remove::Args::default() };
    remove::remove(&silent, env, &place, &args).map(drop)
}
