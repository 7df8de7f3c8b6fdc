//! `overlay-sync` keeps untracked files in step between an overlay and every workspace.
//!
//! Rooms so far: `cli`, `commands`, and the noun `merge`: the three-way merge that everything else
//! will rest on. It is a command of its own already, and a merge driver for git.

mod cli;
mod commands;

pub mod merge;

pub use cli::{Cli, command};
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
    match cli.command {
        Command::Merge(args) => commands::merge::run(ui, env, &args),
    }
}
