//! `overlay-sync` keeps untracked files in step between an overlay and every workspace.
//!
//! Rooms, in reading order: `cli`, `commands`, `facts` (which overlay, which workspaces) and `look` (what is
//! in them), `plan` (the pure decision for one file, of which `view` takes out what is not shared), `apply`
//! (the only room that writes into overlays and workspaces: one pass, and passes until quiet), then the
//! nouns: `settings`, `declared` (files), `manifest` (a workspace), `store` (what the overlay remembers),
//! `quiet` (a cache), `merge` (three texts into one), `watch`.

mod cli;
mod commands;

mod apply;
mod facts;
mod look;
mod plan;
mod view;

mod declared;
mod manifest;
pub mod merge;
mod quiet;
mod settings;
mod store;
mod watch;

pub use cli::{Cli, command};
pub use settings::SETTINGS;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use crate::cli::Command;

/// The tool's name: its binary, its table in `config.toml`, its directory of state.
pub const TOOL: &str = "overlay-sync";

/// The whole program.
pub fn main() -> std::process::ExitCode {
    shopfloor_core::args::main(TOOL, run)
}

/// Which command it is.
fn run(ui: &Ui, env: &Env, cli: Cli) -> Result<Exit> {
    let place = &cli.place;
    match cli.command {
        Command::Attach(workspaces) => commands::attach::attach(ui, env, place, &workspaces),
        Command::Detach(workspaces) => commands::attach::detach(ui, env, place, &workspaces),
        Command::Sync { workspaces, restore } => commands::sync::run(ui, env, place, &workspaces, &restore),
        Command::Watch => commands::watch::run(ui, env, place),
        Command::Add { files } => commands::add::run(ui, env, place, &files),
        Command::Status(workspaces) => commands::status::status(ui, env, place, &workspaces),
        Command::Manifest { workspace } => commands::status::manifest(ui, env, place, workspace),
        Command::Conflicts => commands::past::conflicts(ui, env, place),
        Command::Show { id } => commands::past::show(ui, env, place, &id),
        Command::Restore { id, to } => commands::past::restore(ui, env, place, &id, to.as_deref()),
        Command::Accept { id } => commands::past::settle(ui, env, place, &id, true),
        Command::Reject { id } => commands::past::settle(ui, env, place, &id, false),
        Command::Drop { path, entry } => commands::drop::run(ui, env, place, &path, &entry),
        Command::Log { follow, since } => commands::log::run(ui, env, place, follow, since.as_deref()),
        Command::Hook(command) => commands::hook::run(ui, env, place, command),
        Command::Merge(args) => commands::merge::run(ui, env, place, &args),
        Command::Config => commands::config::run(ui, env, place),
    }
}
