//! `sweatfile-apply` sets up a git worktree from layered sweatfiles.
//!
//! Rooms, top to bottom; each one uses only those below it:
//! - `cli`: the global flags and the list of commands
//! - `commands`: one file per subcommand
//! - `apply`: the only room that writes into worktrees
//! - `plan`: the pure decisions
//! - `facts`: everything that is read
//! - nouns: all others

mod cli;
mod commands;

mod apply;
mod facts;
mod plan;

mod applied;
mod approvable;
mod cache;
pub mod env_file;
mod env_variable;
pub mod excludes;
mod failure;
mod flags;
mod layer;
mod layout;
mod newer_format;
mod placeholder;
mod ports;
mod report;
mod requests;
pub mod review;
mod setup_inputs;
mod setup_step;
mod snapshot;
pub mod sweatfile;
mod teardown_record;
mod template;
mod worktree;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::Ui;

use crate::cli::Command;
pub use crate::cli::{Cli, command};
pub use crate::facts::SETTINGS;

/// The whole program.
pub fn main() -> std::process::ExitCode {
    shopfloor_core::args::main(layout::TOOL, run)
}

/// Runs the command that the command line names.
fn run(ui: &Ui, env: &Env, cli: Cli) -> Result<Exit> {
    let dirs = &cli.layers;
    let before = cli.apply;
    if before != commands::apply::ApplyOptions::default() && !matches!(cli.command, None | Some(Command::Apply(_))) {
        return Err(Failure::usage("options of `apply` cannot stand before another command")
            .hint("write them after the command they belong to; see `sweatfile-apply --help`"));
    }
    match cli.command {
        None => commands::apply::run(ui, env, dirs, &before),
        Some(Command::Apply(args)) => commands::apply::run(ui, env, dirs, &before.or(&args.options)),
        Some(Command::Check(args)) => commands::check::run(ui, env, dirs, &args),
        Some(Command::Show(args)) => commands::show::run(ui, env, dirs, &args),
        Some(Command::Init(args)) => commands::init::run(ui, env, dirs, &args),
        Some(Command::Approve(args)) => commands::approve::run(ui, env, dirs, &args),
        Some(Command::Approvals) => commands::approvals::run(ui, env, dirs),
        Some(Command::Revoke) => commands::revoke::run(ui, env),
        Some(Command::Env(command)) => commands::env::run(ui, env, dirs, &command),
        Some(Command::Wait(args)) => commands::wait::run(ui, env, dirs, &args),
        Some(Command::RunStep(args)) => commands::wait::run_step(env, &args),
        Some(Command::Remove(args)) => commands::remove::run(ui, env, dirs, &args),
        Some(Command::Sweep(args)) => commands::sweep::run(ui, env, &args),
        Some(Command::Doctor(args)) => commands::doctor::run(ui, env, dirs, &args),
        Some(Command::Hook(command)) => commands::hook::run(ui, env, dirs, command),
        Some(Command::Convert(args)) => commands::convert::run(ui, env, dirs, &args),
        Some(Command::Config) => commands::config::run(ui, env, dirs),
    }
}
