//! `explain`: who said something, when, and what came of it.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::ui::Ui;

use super::output::print_statement;
use crate::entry::Entry;
use crate::facts::Ledger;
use crate::facts::gather::{load_archive, load_events};
use crate::joined_ledger::Join;
use crate::plan::join;
use crate::plan::statements::History;
use crate::settings::LedgerArgs;
use crate::short_id::ShortId;
use crate::stored_event::EventRecord;

/// Show who said something, when, and what it replaced, newest first: exit 1 if nobody did
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  ledger-synth explain lexer\n  ledger-synth explain now --json | jq -r 'select(.beaten).value'"
)]
pub struct Args {
    /// A section (`now`), a key (`lexer`, `decisions.lexer`), the text of an item, the beginning of an id, or the id that
    /// `--json` has
    key: String,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let (events, archived) = (load_events(&ledger)?, load_archive(&ledger)?);
    let join = join(&events)?;
    let key = Digest::parse(&args.key).map_or(args.key.clone(), |id| ShortId::of_event(id).to_string());
    let statements = History::new(&events, &archived, &join)?.explain(&key).map_err(|count| {
        Failure::not_found(format!("{count} ids begin with `{}`", args.key)).hint("give more of the id")
    })?;
    if statements.is_empty() {
        if let Some(why) = retraction(events.records().chain(archived.records()), &join, &key) {
            return Err(Failure::not_found(why).hint("`ledger-synth notes` shows everything that counts"));
        }
        return Err(Failure::not_found(format!("nobody said anything about `{}`", args.key)).hint(
            "name a section (`now`), a key (`decisions.lexer`), the whole text of an item, or an id of the page; `ledger-synth notes` shows all",
        ));
    }
    statements.iter().for_each(|one| print_statement(ui, one, false));
    Ok(Exit::Done)
}

/// Why an event says nothing that counts: it was retracted, or it retracts another one.
fn retraction<'r>(records: impl Iterator<Item = &'r EventRecord>, join: &Join<'_>, named: &str) -> Option<String> {
    // A shorter word is rather a key than an id.
    let is_it = |record: &&EventRecord| named.len() >= 4 && ShortId::of_event(record.id).begins_with(named);
    let mut named = records.filter(is_it);
    let (record, None) = (named.next()?, named.next()) else { return None };
    let id = ShortId::of_event(record.id);
    if join.retracted.contains(&record.id) {
        return Some(format!("event {id} was retracted"));
    }
    let other = record.event.entries.iter().find_map(Entry::retracted)?;
    Some(format!("event {id} says only that event {} is retracted", ShortId::of_event(other)))
}
