//! `conflicts`: what agents disagreed on.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use super::statement;
use crate::facts::Ledger;
use crate::facts::gather::load_events_with_archive;
use crate::plan::history;
use crate::settings::LedgerArgs;

/// List what agents disagreed on, and what counts
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  ledger-synth conflicts --json | jq -r 'select(.beaten | not).key'")]
pub struct Args {}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let statements = history::conflicts(&load_events_with_archive(&ledger)?)?;
    if statements.is_empty() {
        ui.note("nobody disagrees");
    }
    statements.iter().for_each(|one| statement::print(ui, one));
    Ok(Exit::Done)
}
