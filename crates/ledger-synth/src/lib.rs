//! `ledger-synth` merges the events of parallel agents into one deterministic ledger.
//!
//! Rooms, in reading order: `cli`, `commands`, `apply` (the only room that writes), `plan` (the join and the other pure
//! decisions), `facts` (everything that is read), then the nouns.

mod cli;
mod commands;

mod apply;
mod plan;

mod facts;

mod agent_hooks;
mod body;
pub mod canonical;
mod counted;
mod draft;
mod entry;
mod entry_from_text;
pub mod event;
pub mod event_file;
mod event_time;
mod failure;
mod foreign_page;
mod front;
mod front_sections;
mod handoff;
mod joined_ledger;
mod markdown;
mod problem;
mod section;
mod session_log;
mod settings;
mod short_id;
mod snapshot;
pub mod stored_event;
mod tool;
mod view;
mod yaml_scalar;
mod yaml_sections;

pub use cli::{Cli, command};
pub use settings::SETTINGS;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::Ui;

use crate::cli::Command;
use crate::tool::TOOL;

/// The whole program.
pub fn main() -> std::process::ExitCode {
    shopfloor_core::args::main(TOOL, run)
}

/// Runs the command.
fn run(ui: &Ui, env: &Env, cli: Cli) -> Result<Exit> {
    let ledger = &cli.ledger;
    let Some(command) = cli.command else { return commands::synth::run(ui, env, ledger, &cli.synth) };
    if let Some(flag) = cli.synth.first_flag() {
        return Err(Failure::usage(format!("{flag} belongs to plain `ledger-synth`"))
            .hint("put flags after the subcommand, if it takes them, or leave the subcommand out"));
    }
    match command {
        Command::Add(args) => commands::add::run(ui, env, ledger, &args),
        Command::Banner(args) => commands::banner::run(ui, env, ledger, &args),
        Command::Archive(args) => commands::archive::run(ui, env, ledger, &args),
        Command::Prune => commands::prune::run(ui, env, ledger),
        Command::Check(args) => commands::check::run(ui, env, ledger, &args),
        Command::Notes(args) => commands::notes::run(ui, env, ledger, &args),
        Command::Explain(args) => commands::explain::run(ui, env, ledger, &args),
        Command::Conflicts(args) => commands::conflicts::run(ui, env, ledger, &args),
        Command::Retract(args) => commands::retract::run(ui, env, ledger, &args),
        Command::Lint(args) => commands::check::lint(ui, env, ledger, &args),
        Command::Migrate(args) => commands::migrate::run(ui, env, ledger, &args),
        Command::MergeDriver(args) => commands::merge_driver::run(ui, env, ledger, &args),
        Command::Install(args) => commands::install::run(ui, env, ledger, &args),
        Command::Doctor(args) => commands::doctor::run(ui, env, ledger, args),
        Command::Hook(command) => commands::hook::run(ui, env, ledger, command),
        Command::Config => commands::config::run(ui, env, ledger),
    }
}
