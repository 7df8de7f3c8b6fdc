//! `explain`: who said something, when, and what came of it.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::Ui;

use super::statement;
use crate::facts::Ledger;
use crate::facts::gather::load_events_with_archive;
use crate::plan::history;
use crate::settings::LedgerArgs;

/// Show who said something, when, and what it replaced, newest first: exit 1 if nobody did
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  ledger-synth explain lexer\n  ledger-synth explain now --json | jq -r 'select(.beaten).value'"
)]
pub struct Args {
    /// A section (`now`), a key (`lexer`, `decisions.lexer`), or the text of an item
    key: String,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let statements = history::explain(&load_events_with_archive(&ledger)?, &args.key)?;
    if statements.is_empty() {
        return Err(Failure::not_found(format!("nobody said anything about `{}`", args.key))
            .hint("name a section (`now`), a key (`decisions.lexer`) or the whole text of an item; `ledger-synth --json` shows all"));
    }
    statements.iter().for_each(|one| statement::print(ui, one));
    Ok(Exit::Done)
}
