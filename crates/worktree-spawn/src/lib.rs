//! `worktree-spawn` gives agents worktrees that know their parents, and carries messages up that chain.
//!
//! Rooms, in reading order: `cli`, `commands`, `facts` (where we stand, who is there, what git says), `plan` (what a
//! spawn makes, what may go; pure), `apply` (the only room that makes and removes), then the nouns: `identity` and
//! `slug`, `event` in its `spool`, `post` (up the chain), `life` (who runs), `journal`, `watch`, `launcher`, `mcp`,
//! `excludes`, `settings`.

mod cli;
mod commands;

mod apply;
mod facts;
mod plan;

pub mod event;
mod excludes;
pub mod identity;
mod journal;
mod launcher;
mod life;
mod mcp;
#[cfg_attr(not(feature = "fast-checkout"), path = "native_none.rs")]
mod native;
mod post;
mod settings;
pub mod slug;
mod spool;
mod watch;

pub use cli::{Cli, command};
pub use settings::SETTINGS;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use crate::cli::Command;

/// The tool's name: its binary, its table in `config.toml`, its directory of state.
pub const TOOL: &str = "worktree-spawn";

/// The whole program.
pub fn main() -> std::process::ExitCode {
    shopfloor_core::args::main(TOOL, run)
}

/// Which command it is.
fn run(ui: &Ui, env: &Env, cli: Cli) -> Result<Exit> {
    match cli.command {
        Command::Subtree(args) => commands::subtree::run(ui, env, &args),
        Command::Worker(args) => commands::worker::run(ui, env, &args),
        Command::Run { id, command, dry_run } => commands::run::run(ui, env, &id, &command, dry_run.dry_run),
        Command::Env { id } => commands::whoami::env(ui, env, &id),
        Command::Path { id } => commands::whoami::path(ui, env, &id),
        Command::Whoami { identity } => commands::whoami::whoami(ui, env, identity.id.as_deref()),
        Command::Notify(args) => commands::notify::run(ui, env, &args),
        Command::Hook(command) => commands::hook::run(ui, env, &command),
        Command::Wait(args) => commands::wait::run(ui, env, &args),
        Command::Ack { uids, session, dry_run } => commands::ack::run(ui, env, &uids, &session, dry_run.dry_run),
        Command::Events { session, follow, all } => commands::events::run(ui, env, &session, follow, all),
        Command::List(args) => commands::list::run(ui, env, &args),
        Command::Remove(args) => commands::remove::run(ui, env, &args),
        Command::Gc { dry_run } => commands::gc::run(ui, env, dry_run.dry_run),
        Command::Repair { dry_run } => commands::repair::run(ui, env, dry_run.dry_run),
        Command::Mcp { identity } => commands::mcp::run(ui, env, identity.id.as_deref()),
        Command::Config => commands::config::run(ui, env),
    }
}
