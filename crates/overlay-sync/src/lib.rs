//! `overlay-sync` keeps untracked files in step between an overlay and every workspace.
//!
//! Rooms, top to bottom; each imports only from those below it: `cli`, `commands`, `apply` (the only room that writes
//! into overlays and workspaces), `plan` (the pure decision about one file), `facts` (what is read), then the nouns:
//! `ground` (the two sides, on disk or in memory), `declared_files`, `settings`, `store` (what the
//! overlay remembers), `manifest` (a workspace), `conflict`, `sync_rule`, `merge` (three texts into one), `programs`
//! (what they run), `watch`, `failure`, `tool`.

mod cli;
mod commands;

mod apply;
mod plan;

mod facts;

mod conflict;
mod declared_files;
mod failure;
mod ground;
pub mod merge;
mod programs;
mod settings;
mod store;
mod sync_rule;
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
        Command::Status(args) => commands::status::run(ui, &overlay()?, &args),
        Command::Check(args) => commands::check::run(ui, &overlay()?, &args),
        Command::Manifest(args) => commands::manifest::run(ui, &overlay()?, &args),
        Command::Conflicts => commands::conflicts::run(ui, &overlay()?),
        Command::Show(args) => commands::show::run(ui, &overlay()?, &args),
        Command::Restore(args) => commands::restore::run(ui, &overlay()?, &args),
        Command::Accept(args) => commands::verdict::run(ui, &overlay()?, &args, Verdict::Accept),
        Command::Reject(args) => commands::verdict::run(ui, &overlay()?, &args, Verdict::Reject),
        Command::Drop(args) => commands::drop::run(ui, &overlay()?, &args),
        Command::Undo(args) => commands::undo::run(ui, &overlay()?, &args),
        Command::Log(args) => commands::log::run(ui, &overlay()?, &args),
        Command::Doctor(args) => commands::doctor::run(ui, overlay(), args),
        Command::Hook(command) => commands::hook::run(ui, env, flags, command),
        Command::Merge(args) => commands::merge::run(ui, env, flags, &args),
        Command::Config => commands::config::run(ui, env, flags),
    }
}
