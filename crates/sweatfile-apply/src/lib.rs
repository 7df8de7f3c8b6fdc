//! `sweatfile-apply` sets up a git worktree from layered sweatfiles.
//!
//! Rooms, in reading order: `cli` (what can be asked), `commands` (one file per subcommand),
//! `facts` (everything read), `plan` (the pure decision), `apply` (the only room that writes), then
//! the nouns: `sweatfile`, `layer`, `env_file` and `env_reader`, `excludes`, `template`, `record`, `removed`, `review`, `trust`, `report`.

mod cli;
mod commands;

mod apply;
mod facts;
mod plan;

pub mod env_file;
mod env_reader;
pub mod excludes;
mod layer;
mod record;
mod removed;
mod report;
pub mod review;
mod snapshot;
pub mod sweatfile;
mod template;
mod trust;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::Ui;

use crate::cli::{ApplyArgs, Command};
pub use crate::cli::{Cli, command};
pub use crate::facts::SETTINGS;

/// The tool's name: its binary, its table in `config.toml`, its directory of state.
pub const TOOL: &str = "sweatfile-apply";

/// The whole program.
pub fn main() -> std::process::ExitCode {
    shopfloor_core::args::main(TOOL, run)
}

/// Which command it is.
fn run(ui: &Ui, env: &Env, cli: Cli) -> Result<Exit> {
    let places = &cli.places;
    if cli.apply != ApplyArgs::default() && !matches!(cli.command, None | Some(Command::Apply(_))) {
        return Err(Failure::usage("options of `apply` stand before another command")
            .hint("write them behind the command they belong to; see `sweatfile-apply --help`"));
    }
    match cli.command {
        None => commands::apply::run(ui, env, places, &cli.apply),
        Some(Command::Apply(args)) => commands::apply::run(ui, env, places, &cli.apply.or(args)),
        Some(Command::Check { strict }) => commands::check::run(ui, env, places, strict),
        Some(Command::Show { layers, reveal }) => commands::show::run(ui, env, places, layers, reveal),
        Some(Command::Init(args)) => commands::init::run(ui, env, places, args.dry_run),
        Some(Command::Approve { yes, dry_run }) => commands::approve::approve(ui, env, places, yes, dry_run.dry_run),
        Some(Command::Approvals) => commands::approve::list(ui, env, places),
        Some(Command::Revoke(args)) => commands::approve::revoke(ui, env, args.dry_run),
        Some(Command::Env(command)) => commands::env::run(ui, env, places, command),
        Some(Command::Remove(args)) => commands::remove::run(ui, env, args.dry_run),
        Some(Command::Hook(command)) => commands::hook::run(ui, env, places, command),
        Some(Command::Config) => commands::config::run(ui, env, places),
    }
}
