//! The command line: the commands, and the flags that all tools share. The arguments of each command stand in its file.

use std::ffi::OsString;

use clap::{Parser, Subcommand};
use shopfloor_core::args::{self, CommandLine, Common, CompletedArgument, EXIT_CODES};
use shopfloor_core::config::agent_programs;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::sandbox;

use crate::commands::{
    ack, doctor, env, events, gc, hook, list, mcp, notify, path, remove, repair, run, subtree, trust, wait, whoami,
    worker,
};
use crate::facts::{agents, repository};
use crate::identity::AgentKind;
use crate::plan::removal::require_spawned;

/// Spawn isolated worktrees that know their parents, and pass messages that arrive
///
/// Gives each agent a git worktree on a branch of its own, or a seat in its parent's worktree, with an identity that
/// never changes. Carries the agent's reports to its parent, even if the parent is not listening.
#[derive(Debug, Parser)]
#[command(
    name = "worktree-spawn",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = format!("Example:\n  dir=$(worktree-spawn subtree 'Feature A' --task-file plan.md) && cd \"$dir\"\n  worktree-spawn run main.feature-a -- claude\n  worktree-spawn wait --type subtree_complete\n\n{EXIT_CODES}")
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Subtree(Box<subtree::Args>),
    Worker(worker::Args),
    Run(run::Args),
    Env(env::Args),
    Path(path::Args),
    Trust(trust::Args),
    Whoami(whoami::Args),
    Notify(notify::Args),
    #[command(subcommand)]
    Hook(hook::AgentHook),
    Wait(wait::Args),
    Ack(ack::Args),
    Events(events::Args),
    List(list::Args),
    Remove(remove::Args),
    Gc(gc::Args),
    Doctor(doctor::Args),
    Repair(repair::Args),
    Mcp(mcp::Args),
    /// The first program in a sandbox
    #[command(hide = true, name = sandbox::INSIDE)]
    InsideSandbox(InsideSandbox),
    /// Print the settings in force, each with its source
    #[command(after_help = "Example:\n  worktree-spawn config --json")]
    Config,
}

impl Command {
    /// Whether it works on what all agents share, which a sandbox has not.
    pub fn needs_shared_state(&self) -> bool {
        use Command::{Config, Env, Hook, InsideSandbox, Mcp, Notify, Path, Whoami};
        !matches!(self, Config | Env(_) | Hook(_) | InsideSandbox(_) | Mcp(_) | Notify(_) | Path(_) | Whoami(_))
    }
}

#[derive(clap::Args, Debug)]
pub struct InsideSandbox {
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}

/// The ids of the agents.
fn ids(env: &Env) -> Result<Vec<String>> {
    let all = agents::all(&repository::find(env)?)?;
    Ok(all.into_iter().map(|known| known.agent.id).collect())
}

/// The ids of those that `remove` may remove.
fn removable(env: &Env) -> Result<Vec<String>> {
    let all = agents::all(&repository::find(env)?)?.into_iter();
    let spawned = all.filter(|known| known.agent.kind != AgentKind::Root && require_spawned(known).is_ok());
    Ok(spawned.map(|known| known.agent.id).collect())
}

impl CommandLine for Cli {
    fn completed() -> &'static [CompletedArgument] {
        &[(&[], "id", ids), (&["remove"], "ids", removable), (&[], "under", ids), (&[], "agent", agent_programs)]
    }

    fn slips() -> &'static [(&'static [&'static str], &'static str)] {
        &[(&["rm", "delete", "done"], "remove"), (&["add", "new", "create"], "subtree"), (&["ls", "status"], "list")]
    }

    fn common(&self) -> &Common {
        &self.common
    }

    fn needs_no_directory(&self, env: &Env) -> bool {
        // An agent whose worktree was removed may still report something.
        let reports = match &self.command {
            Command::Notify(_) | Command::Mcp(_) => true,
            Command::Hook(hook) => matches!(hook, hook::AgentHook::WorkerExit { .. }),
            _ => false,
        };
        reports && env.var("SHOPFLOOR_REPOSITORY").is_some()
    }

    fn exit_of_failure(line: &[OsString]) -> Option<Exit> {
        match args::plain_words(line, &["-C", "--color", "--as"])[..] {
            [hook, name, ..] if hook == "hook" => match name.to_str() {
                Some("worker-exit" | "worktree-remove") => Some(Exit::Done),
                Some("worktree-create") => Some(Exit::No),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The command line as a value, for man pages, completions and the reference.
pub fn command() -> clap::Command {
    args::command::<Cli>()
}
