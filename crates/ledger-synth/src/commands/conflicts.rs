//! `conflicts`: what agents disagree on.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::ui::Ui;

use super::output::{print_event, print_statement};
use crate::apply::event::write_new_event;
use crate::entry::{CLOSED, Entry};
use crate::facts::Ledger;
use crate::facts::gather::{load_archive, load_events};
use crate::plan::join;
use crate::plan::statements::{History, Statement};
use crate::settings::LedgerArgs;

/// List what agents disagree on, and what counts
///
/// A conflict is a key to which two agents gave different values. It is open until somebody closes it, and again when
/// an agent gives the key another value.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  ledger-synth conflicts --json | jq -r 'select(.beaten | not).key'\n  ledger-synth conflicts --close decisions.lexer"
)]
pub struct Args {
    /// Close a conflict, named by its id, the beginning of its id, or its key, by writing an event: exit 1 if there is
    /// no such conflict
    #[arg(long, value_name = "ID")]
    close: Vec<String>,
    /// The agent that closes it [env: LEDGER_SYNTH_AGENT] [default: the session that an agent's program names, else the
    /// worktree's name]
    #[arg(long, requires = "close")]
    agent: Option<String>,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let (events, archived) = (load_events(&ledger)?, load_archive(&ledger)?);
    let join = join(&events)?;
    let statements = History::new(&events, &archived, &join)?.conflicts();
    if !args.close.is_empty() {
        return close(ui, env, &ledger, args, &statements);
    }
    if statements.is_empty() {
        ui.note("nobody disagrees");
    }
    statements.iter().for_each(|one| print_statement(ui, one, true));
    Ok(Exit::Done)
}

/// Writes an event that closes the named conflicts.
fn close(ui: &Ui, env: &Env, ledger: &Ledger, args: &Args, open: &[Statement<'_>]) -> Result<Exit> {
    let mut entries = Vec::new();
    for named in &args.close {
        let is_it = |statement: &&Statement<'_>| {
            statement.name() == *named || statement.key() == Some(named) || statement.id().begins_with(named)
        };
        let mut names: Vec<String> = open.iter().filter(is_it).map(Statement::name).collect();
        names.dedup();
        let [name] = names.as_slice() else {
            let what = match names.len() {
                0 => format!("there is no open conflict `{named}`"),
                count => format!("{count} conflicts are named so: {}", names.join(", ")),
            };
            return Err(Failure::not_found(what).hint("`ledger-synth conflicts` lists them with their ids"));
        };
        entries.push(Entry::Item { section: CLOSED.into(), text: name.clone() });
    }
    let about = ["conflicts", "closed conflicts"];
    let written = write_new_event(ui, env, ledger, args.agent.as_deref(), about, entries)?;
    print_event(ui, &written, None);
    Ok(Exit::Done)
}
