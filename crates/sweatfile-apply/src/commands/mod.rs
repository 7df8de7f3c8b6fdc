//! One file per subcommand: each reads, asks for a plan, and prints or applies it.

pub mod apply;
mod approve;
mod check;
mod config;
mod env;
mod hook;
mod init;
mod remove;
mod show;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::Ui;

use crate::cli::{ApplyArgs, Cli, Command};

/// Which command it is.
pub fn run(ui: &Ui, env: &Env, cli: Cli) -> Result<Exit> {
    let places = &cli.places;
    if cli.apply != ApplyArgs::default() && !matches!(cli.command, None | Some(Command::Apply(_))) {
        return Err(Failure::usage("options of `apply` stand before another command")
            .hint("write them behind the command they belong to; see `sweatfile-apply --help`"));
    }
    match cli.command {
        None => apply::run(ui, env, places, &cli.apply),
        Some(Command::Apply(args)) => apply::run(ui, env, places, &cli.apply.or(args)),
        Some(Command::Check { strict }) => check::run(ui, env, places, strict),
        Some(Command::Show { layers, reveal }) => show::run(ui, env, places, layers, reveal),
        Some(Command::Init(args)) => init::run(ui, env, places, args.dry_run),
        Some(Command::Approve { yes, dry_run }) => approve::approve(ui, env, places, yes, dry_run.dry_run),
        Some(Command::Approvals) => approve::list(ui, env, places),
        Some(Command::Revoke(args)) => approve::revoke(ui, env, args.dry_run),
        Some(Command::Env(command)) => env::run(ui, env, places, command),
        Some(Command::Remove(args)) => remove::run(ui, env, args.dry_run),
        Some(Command::Hook(command)) => hook::run(ui, env, places, command),
        Some(Command::Config) => config::run(ui, env, places),
    }
}
