//! `shopfloor` is the front door to the five tools. It knows nothing itself: it runs them by name, and shows what they
//! say.
//!
//! Rooms, top to bottom; each one uses only those below it:
//! - `cli`: the global flags and the list of commands
//! - `commands`: one file per subcommand
//! - `apply`: runs the steps of a set-up, and takes them back
//! - `plan`: which steps a repository needs, and what the rows of `status` say
//! - `facts`: what is there, and what the tools answer
//! - nouns: `record`, `step`, `skill`, `tool`

mod cli;
mod commands;

mod apply;
mod facts;
mod plan;

mod setup_log;
mod skill;
mod step;
mod tool;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use crate::cli::Command;
pub use crate::cli::{Cli, command};

/// The whole program.
pub fn main() -> std::process::ExitCode {
    shopfloor_core::args::main(tool::TOOL, run)
}

/// Runs the command that the command line names.
fn run(ui: &Ui, env: &Env, cli: Cli) -> Result<Exit> {
    match cli.command {
        Command::Setup(args) => commands::setup::run(ui, env, &args),
        Command::Teardown(args) => commands::teardown::run(ui, env, &args),
        Command::Status(args) => commands::status::run(ui, env, &args),
        Command::Doctor(args) => commands::doctor::run(ui, env, args),
        Command::New(args) => commands::new::run(env, &cli.common, &args),
        Command::Go(args) => commands::go::run(ui, env, &args),
        Command::Done(args) => commands::done::run(env, &cli.common, &args),
        Command::Skills(args) => commands::skills::run(ui, env, &args),
        Command::ShellInit(args) => commands::shell_init::run(ui, env, &args),
    }
}
