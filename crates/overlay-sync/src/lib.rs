//! `overlay-sync` keeps untracked files in step between an overlay and every workspace.
//!
//! Rooms, top to bottom; each imports only from those below it: `cli`, `commands`, `apply` (the only room that writes
//! into overlays and workspaces), `plan` (the pure decision about one file), `facts` (what is read), then the nouns:
//! `storage` (the two sides, on disk or in memory), `include_patterns`, `settings`, `store` (what the overlay
//! remembers), `workspace` (where it is, and its last common contents), `conflict`, `far` (an overlay of another machine), `sync_action`, `merge` (three
//! texts into one), `execution_risk` (what of them programs run), `watch`, `failure`, `tool`.

mod cli;
mod commands;

mod apply;
mod plan;

mod facts;

mod conflict;
mod execution_risk;
mod failure;
mod far;
mod far_place;
mod include_patterns;
pub mod merge;
mod settings;
mod storage;
mod store;
mod sync_action;
mod tool;
mod watch;
mod workspace;

pub use cli::{Cli, command};
pub use settings::SETTINGS;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use crate::apply::verdict::Verdict;
use crate::cli::Command;
use crate::facts::overlay::Overlay;
use crate::tool::TOOL;

/// The whole program.
pub fn main() -> std::process::ExitCode {
    shopfloor_core::args::main(TOOL, run)
}

/// Runs the command.
fn run(ui: &Ui, env: &Env, cli: Cli) -> Result<Exit> {
    let flags = &cli.overlay;
    let overlay = || Overlay::find(ui, env, flags);
    match cli.command {
        Command::Attach(args) => commands::attach::run(ui, &overlay()?, &args),
        Command::Detach(args) => commands::detach::run(ui, &overlay()?, &args),
        Command::Sync(args) => commands::sync::run(ui, &Overlay::find_again(ui, env, flags)?, &args),
        Command::Watch => commands::watch::run(ui, &overlay()?),
        Command::Add(args) => commands::add::run(ui, &overlay()?, &args),
        Command::Status(args) => commands::status::run(ui, Overlay::find_own(ui, env, flags)?, &args),
        Command::Check(args) => commands::check::run(ui, &overlay()?, &args),
        Command::Manifest(args) => commands::manifest::run(ui, &overlay()?, &args),
        Command::Conflicts => commands::conflicts::run(ui, &overlay()?),
        Command::Show(args) => commands::show::run(ui, &overlay()?, &args),
        Command::Restore(args) => commands::restore::run(ui, &overlay()?, &args),
        Command::Accept(args) => commands::accept_reject::run(ui, &overlay()?, &args, Verdict::Accept),
        Command::Reject(args) => commands::accept_reject::run(ui, &overlay()?, &args, Verdict::Reject),
        Command::Drop(args) => commands::drop::run(ui, &overlay()?, &args),
        Command::Undo(args) => commands::undo::run(ui, &overlay()?, &args),
        Command::Log(args) => commands::log::run(ui, &overlay()?, &args),
        Command::Doctor(args) => commands::doctor::run(ui, overlay(), args),
        Command::Hook(command) => commands::hook::run(ui, env, flags, command),
        Command::Merge(args) => commands::merge::run(ui, env, flags, &args),
        Command::Serve => commands::serve::run(ui, env, flags),
        Command::Config => commands::config::run(ui, env, flags),
    }
}
