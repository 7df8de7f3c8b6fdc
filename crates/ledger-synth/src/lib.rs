//! `ledger-synth` merges the events of parallel agents into one deterministic ledger.
//!
//! Rooms, in reading order: `cli`, `commands`, `facts` (where the ledger is, its events, from a directory or from
//! git's objects), `plan` (the join, pure), `apply` (the only room that writes), then the nouns: `event` with its
//! `body` and the `scalar`s in it, `snapshot` (many events in one), `view` (`current.md`), `draft` (what a
//! session keeps for its end), `cache`, `claude` (its setup), `settings`.

mod cli;
mod commands;

mod apply;
mod facts;
mod plan;

mod body;
mod cache;
mod claude;
mod draft;
pub mod event;
mod scalar;
mod settings;
mod snapshot;
mod view;

pub use cli::{Cli, command};
pub use settings::SETTINGS;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hook_command;
use shopfloor_core::ui::Ui;

use crate::cli::{Command, SynthArgs};

/// The tool's name: its binary, its table in `config.toml`, its directory of state.
pub const TOOL: &str = "ledger-synth";

/// The whole program.
pub fn main() -> std::process::ExitCode {
    shopfloor_core::args::main(TOOL, run)
}

/// Which command it is.
fn run(ui: &Ui, env: &Env, cli: Cli) -> Result<Exit> {
    let place = &cli.place;
    let Some(command) = cli.command else { return commands::synth::run(ui, env, place, &cli.synth) };
    if cli.synth != SynthArgs::default() {
        return Err(Failure::usage("a flag of the synthesis stands before a subcommand")
            .hint("put it behind, where the subcommand takes it, or leave the subcommand out"));
    }
    match command {
        Command::Add(args) => commands::add::run(ui, env, place, &args),
        Command::Banner(args) => commands::banner::run(ui, env, place, &args),
        Command::Archive { older_than } => commands::archive::archive(ui, env, place, older_than.as_deref()),
        Command::Prune => commands::archive::prune(ui, env, place),
        Command::Explain { key } => commands::explain::explain(ui, env, place, &key),
        Command::Conflicts => commands::explain::conflicts(ui, env, place),
        Command::Retract { event, agent } => commands::retract::run(ui, env, place, &event, agent.as_deref()),
        Command::Lint { files } => commands::lint::run(ui, env, place, &files),
        Command::Migrate(args) => commands::migrate::run(ui, env, place, &args),
        Command::MergeDriver(args) => commands::merge_driver::run(ui, env, place, &args),
        Command::Install { claude } => commands::install::install(ui, env, place, claude),
        Command::Doctor => commands::install::doctor(ui, env, place),
        Command::Hook(command) => {
            hook_command::run(ui, env, TOOL, command, |called| commands::hook::called(ui, env, place, called))
        }
        Command::Config => commands::config::run(ui, env, place),
    }
}
