//! One file per subcommand.

pub mod doctor;
pub mod done;
pub mod go;
pub mod new;
pub mod setup;
pub mod shell_init;
pub mod skills;
pub mod status;
pub mod teardown;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use shopfloor_core::args::Common;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};

use crate::facts::answers::command;
use crate::facts::repository;

/// Runs a tool in our place, with the flags that all tools share. Its output and its exit code are the answer.
fn pass_on(env: &Env, common: &Common, tool: &str, words: Vec<String>) -> Result<Exit> {
    repository::find(env)?;
    let flags = [(common.dry_run, "-n"), (common.json, "--json"), (common.quiet, "-q"), (common.verbose, "-v")];
    let color = common.color.to_possible_value();
    let color = ["--color", color.as_ref().map_or("auto", PossibleValue::get_name)];
    let shared = flags.into_iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| flag).chain(color);
    let all: Vec<String> = std::iter::once(tool).chain(shared).map(str::to_owned).chain(words).collect();
    let status = command(env, &all)?.foreground()?;
    Ok(u8::try_from(status.code()).map_or(Exit::Failed, Exit::Command))
}
