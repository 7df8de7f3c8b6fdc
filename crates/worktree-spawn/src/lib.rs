//! `worktree-spawn` gives agents worktrees that know their parents, and carries messages to those parents.
//!
//! Rooms from top to bottom, each using only those below: `cli`, `commands`, `apply` (everything that writes), `plan`
//! (pure decisions), `facts` (everything that is read), then the nouns: `agent_in_worktree` in its `repository_view`,
//! `identity`, `event` in its `spool`, `agent_run`, `journal`, `settings`, `launcher`, `watch` and the smaller ones.

mod cli;
mod commands;

mod apply;
mod plan;

mod facts;

mod agent_in_worktree;
mod agent_run;
pub mod event;
mod excludes;
mod failure;
pub mod identity;
mod journal;
mod json_file;
mod launcher;
pub mod layout;
mod repository_view;
mod settings;
pub mod slug;
mod spool;
mod tool;
mod watch;

pub use cli::{Cli, command};
pub use settings::SETTINGS;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::sandbox;
use shopfloor_core::ui::Ui;

use crate::cli::Command;

/// The whole program.
pub fn main() -> std::process::ExitCode {
    shopfloor_core::args::main(tool::TOOL, run)
}

/// Runs the command.
fn run(ui: &Ui, env: &Env, cli: Cli) -> Result<Exit> {
    if sandbox::is_inside(env) && cli.command.needs_shared_state() {
        return Err(sandbox::not_inside());
    }
    match cli.command {
        Command::Subtree(args) => commands::subtree::run(ui, env, &args),
        Command::Worker(args) => commands::worker::run(ui, env, &args),
        Command::Run(args) => commands::run::run(ui, env, &args),
        Command::Env(args) => commands::env::run(ui, env, &args),
        Command::Path(args) => commands::path::run(ui, env, &args),
        Command::Trust(args) => commands::trust::run(ui, env, &args),
        Command::Whoami(args) => commands::whoami::run(ui, env, &args),
        Command::Notify(args) => commands::notify::run(ui, env, &args),
        Command::Hook(hook) => commands::hook::run(ui, env, &hook),
        Command::Wait(args) => commands::wait::run(ui, env, &args),
        Command::Ack(args) => commands::ack::run(ui, env, &args),
        Command::Events(args) => commands::events::run(ui, env, &args),
        Command::List(args) => commands::list::run(ui, env, &args),
        Command::Remove(args) => commands::remove::run(ui, env, &args),
        Command::Gc(args) => commands::gc::run(ui, env, &args),
        Command::Doctor(args) => commands::doctor::run(ui, env, &args),
        Command::Repair(args) => commands::repair::run(ui, env, &args),
        Command::Mcp(args) => commands::mcp::run(ui, env, &args),
        Command::InsideSandbox(args) => Err(sandbox::enter(env, &args.command)),
        Command::Config => commands::config::run(ui, env),
    }
}
