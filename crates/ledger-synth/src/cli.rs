//! The command line: the flags of every command, and the list of commands.

use std::ffi::OsString;

use clap::{Parser, Subcommand};
use shopfloor_core::args::{self, CommandLine, Common, CompletedArgument, EXIT_CODES, FlagUse};
use shopfloor_core::doctor::DoctorArgs;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hook_subcommand::HookCommand;

use crate::commands::{
    add, archive, banner, check, conflicts, explain, install, merge_driver, migrate, notes, retract, synth_args,
};
use crate::section::Section;
use crate::settings::LedgerArgs;

/// Merge the events of parallel agents into one deterministic ledger
///
/// Each agent writes small files into `events/`. ledger-synth reads all of them and writes `current.md`, the same
/// bytes for everyone who has the same events. Without a subcommand it does this once.
#[derive(Debug, Parser)]
#[command(
    name = "ledger-synth",
    version,
    max_term_width = 100,
    after_help = format!("Example:\n  ledger-synth add --now 'Review' --done 'Wrote it' --decision lexer='by hand'\n  ledger-synth --yes --commit\n  ledger-synth --check\n\n{EXIT_CODES}")
)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub ledger: LedgerArgs,
    #[command(flatten)]
    pub synth: synth_args::Args,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Add(add::Args),
    Banner(banner::Args),
    Archive(archive::Args),
    /// Delete archived events that a snapshot covers and that are older than --retention
    ///
    /// An event is as old as its time says. Prune on one branch only: if one branch deletes a file and another
    /// moves it, git sees a conflict.
    #[command(after_help = "Example:\n  ledger-synth prune --retention 30d")]
    Prune,
    Check(check::Args),
    Notes(notes::Args),
    Explain(explain::Args),
    Conflicts(conflicts::Args),
    Retract(retract::Args),
    Lint(check::LintArgs),
    Migrate(migrate::Args),
    MergeDriver(merge_driver::Args),
    Install(install::Args),
    /// Show what is missing or wrong, and what fixes it: exit 0 if nothing is wrong, 1 if something is
    #[command(after_help = "Example:\n  ledger-synth doctor --json | jq -r 'select(.ok | not).fix'")]
    Doctor(DoctorArgs),
    /// Synthesise after merges and rebases, check before a push
    #[command(subcommand, after_help = "Example:\n  ledger-synth hook install")]
    Hook(HookCommand),
    /// Print the settings in force, each with its source
    #[command(after_help = "Example:\n  ledger-synth config --json")]
    Config,
}

/// The sections of a ledger.
fn sections(_: &Env) -> Result<Vec<String>> {
    Ok(Section::ALL.iter().map(|section| section.word().to_owned()).collect())
}

impl CommandLine for Cli {
    fn completed() -> &'static [CompletedArgument] {
        &[(&["explain"], "key", sections)]
    }

    fn uses() -> Vec<FlagUse> {
        LedgerArgs::uses()
    }

    fn common(&self) -> &Common {
        &self.common
    }

    // An agent's session begins and ends whatever is wrong.
    fn exit_of_failure(line: &[OsString]) -> Option<Exit> {
        let is_of_hook = |word: &OsString| {
            let word = word.to_string_lossy();
            ["--from-hook", "--for-hook"].contains(&word.split('=').next().unwrap_or_default())
        };
        line.iter().take_while(|word| *word != "--").any(is_of_hook).then_some(Exit::Done)
    }
}

/// The command line as clap knows it, for man pages, completions and the reference.
pub fn command() -> clap::Command {
    args::command::<Cli>()
}
