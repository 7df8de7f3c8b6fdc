//! `retract`: writes an event that retracts another one.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::path::Path;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::ui::Ui;

use super::output::print_event;
use crate::apply::event::write_new_event;
use crate::entry::{Entry, RETRACT};
use crate::facts::gather::{load_archive, load_events};
use crate::facts::{Events, Ledger};
use crate::failure;
use crate::plan::join;
use crate::settings::LedgerArgs;
use crate::short_id::ShortId;

/// Retract one event by writing another: exit 1 if a snapshot already holds it
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  ledger-synth retract 3f2a9c01")]
pub struct Args {
    /// The id of the event or the beginning of the id, short or long, or the event's file
    event: String,
    /// The agent that retracts the event [env: LEDGER_SYNTH_AGENT] [default: the session that an agent's program names, else the
    /// worktree's name]
    #[arg(long)]
    agent: Option<String>,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let events = load_events(&ledger)?;
    let joined = join(&events)?;
    let id = find(env, &ledger, &events, &joined.folded, &args.event)?;
    let short = ShortId::of_event(id);
    if joined.folded.contains(&id) {
        let message = format!("event {short} is folded into a snapshot, so it cannot be retracted");
        return Err(failure::FOLDED
            .with(Exit::No, message)
            .hint("write a newer event that replaces what it says, with `ledger-synth add`"));
    }
    let retracts = |entry: &Entry| entry.retracted().is_some();
    if events.records().any(|record| record.id == id && record.event.entries.iter().any(retracts)) {
        return Err(failure::RETRACTION
            .with(Exit::No, "that event retracts another one, which cannot be undone")
            .hint("write what was retracted again, with `ledger-synth add`"));
    }
    if joined.retracted.contains(&id) {
        ui.note(format!("event {short} is already retracted"));
        if ui.is_json() {
            ui.json(&json!({ "retracted": id }));
        }
        return Ok(Exit::Done);
    }
    let title = format!("retracted event {short}");
    let entries = vec![Entry::Item { section: RETRACT.into(), text: id.to_string() }];
    let written = write_new_event(ui, env, &ledger, args.agent.as_deref(), [RETRACT, &title], entries)?;
    print_event(ui, &written, Some(("retracted", json!(id))));
    Ok(Exit::Done)
}

/// The event that a person names: by its file, its id or the beginning of its id.
fn find(env: &Env, ledger: &Ledger, events: &Events, folded: &HashSet<Digest>, named: &str) -> Result<Digest> {
    let path = env.cwd.join(named).canonicalize().ok();
    let is_named = |file: &Path| {
        file.file_name() == Some(OsStr::new(named)) || (path.is_some() && file.canonicalize().ok() == path)
    };
    if let Some(file) = events.files.iter().find(|file| is_named(&file.path)) {
        return Ok(file.record.id);
    }
    if let Some(skipped) =
        events.skipped.iter().find(|s| path.is_some() && Path::new(&s.path).canonicalize().ok() == path)
    {
        return Err(Failure::not_found(format!("{skipped}: it does not count, so there is nothing to retract"))
            .hint("fix the file or move it away"));
    }
    let all: BTreeSet<Digest> = events.records().map(|record| record.id).chain(folded.iter().copied()).collect();
    let is_hex = named.len() >= 4 && named.bytes().all(|b| b.is_ascii_hexdigit());
    let prefix = named.to_lowercase();
    let is_it =
        |id: &&Digest| ShortId::of_event(**id).begins_with(named) || (is_hex && id.to_string().starts_with(&prefix));
    let found: Vec<&Digest> = all.iter().filter(is_it).collect();
    match found.as_slice() {
        [id] => Ok(**id),
        [] => {
            let archived = load_archive(ledger)?.files.into_iter().find(|file| is_named(&file.path));
            let archived = archived.map(|file| file.record.id).filter(|id| folded.contains(id));
            archived.ok_or_else(|| {
                Failure::not_found(format!("there is no event `{named}`")).hint(
                    "name its file, or its id, which `ledger-synth explain KEY` prints last; KEY may be an id of the page",
                )
            })
        }
        _ => {
            Err(Failure::not_found(format!("{} events begin with `{named}`", found.len())).hint("give more of the id"))
        }
    }
}
