//! `migrate`: handoff files of other shapes become events. The files themselves stay where they are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::output::print_event;
use crate::apply::event::{render_proven, write_event};
use crate::canonical;
use crate::entry::Entry;
use crate::event::LedgerEvent;
use crate::event_file;
use crate::event_time::{self, EventTime};
use crate::facts::Ledger;
use crate::facts::author::agent_name;
use crate::facts::gather::{load_archive, load_events};
use crate::front::Meta;
use crate::handoff::Handoff;
use crate::plan::join;
use crate::plan::migration_check::missing;
use crate::settings::LedgerArgs;
use crate::stored_event::EventRecord;

/// Turn handoff files of other shapes into events, and leave the files where they are
///
/// `migrate --check` proves that nothing of them was lost.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Example:\n  ledger-synth migrate thoughts/shared/handoffs/*/*.md\n  ledger-synth migrate --check thoughts/shared/handoffs/*/*.md"
)]
pub struct Args {
    /// Files to read
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Write nothing, and list every text of the files that no event of the ledger holds: exit 1 if there is one
    #[arg(long, conflicts_with_all = ["ts", "agent"])]
    check: bool,
    /// The time of files that do not tell it in their text or name (RFC 3339)
    #[arg(long, value_parser = given_time)]
    ts: Option<EventTime>,
    /// The agent of all files, whatever they say [default: the agent that a file names, else LEDGER_SYNTH_AGENT or the
    /// worktree's name]
    #[arg(long)]
    agent: Option<String>,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    if args.check {
        return check(ui, env, ledger_args, args);
    }
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let mut known: BTreeSet<_> = load_events(&ledger)?.records().map(|record| record.id).collect();
    // All files are read before the first event is written.
    let mut events = Vec::new();
    let mut refused = Vec::new();
    for file in &args.files {
        let path = env.cwd.join(file);
        let all = read(&path).and_then(|text| {
            let handoffs = Handoff::parse_all(&path, &text);
            handoffs.iter().map(|handoff| migrated(env, &ledger, args, &path, handoff)).collect::<Result<Vec<_>>>()
        });
        match all {
            Ok(all) => events.extend(all.into_iter().map(|event| (path.clone(), event))),
            Err(failure) => refused.push(failure),
        }
    }
    refuse_all(refused)?;
    for (path, event) in events {
        let from = path.to_string_lossy();
        if !known.insert(canonical::id(&event)) {
            ui.detail(format!("{} is an event already", printable(&from)));
            continue;
        }
        let written = write_event(env, &ledger, event, ui.is_dry())?;
        print_event(ui, &written, Some(("from", json!(from))));
    }
    Ok(Exit::Done)
}

/// Fails if files cannot become events, and names all of them.
fn refuse_all(mut refused: Vec<Failure>) -> Result<()> {
    if refused.len() < 2 {
        return refused.pop().map_or(Ok(()), Err);
    }
    Err(Failure::malformed(format!("{} files cannot become events, so nothing was written", refused.len()))
        .details(refused.iter().map(|failure| failure.message.clone()))
        .hint("leave these files out, or fix them; `--ts 2026-01-10T13:00:00Z` gives a time to files that tell none"))
}

/// Lists what of the files is not in the ledger.
fn check(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let events = load_events(&ledger)?;
    let join = join(&events)?;
    let archived = load_archive(&ledger)?;
    let folded = [events.folded()?, archived.folded()?].concat();
    let counts = |record: &&EventRecord| !join.retracted.contains(&record.id) || join.folded.contains(&record.id);
    // Other archived events do not count.
    let of_archive = archived.records().filter(|record| join.folded.contains(&record.id));
    let records: Vec<&EventRecord> = events.records().filter(counts).chain(of_archive).collect();

    let (mut files, mut sources) = (Vec::new(), Vec::new());
    for file in &args.files {
        let path = env.cwd.join(file);
        let text = read(&path)?;
        for handoff in Handoff::parse_all(&path, &text) {
            let event = migrated(env, &ledger, args, &path, &handoff).ok().map(EventRecord::new);
            sources.push((handoff, event));
            files.push((path.clone(), text.clone()));
        }
    }
    let mut exit = Exit::Done;
    for ((path, file), missing) in files.iter().zip(missing(&sources, &records, &folded)) {
        let path = path.to_string_lossy();
        let lines = missing.into_iter().flat_map(str::lines).filter(|text| !text.trim().is_empty());
        let lines: BTreeSet<(usize, &str)> = lines.map(|text| (line_of(file, text), text)).collect();
        for (line, text) in lines {
            exit = Exit::No;
            if ui.is_json() {
                ui.json(&json!({ "path": path, "line": line, "text": text }));
            } else {
                ui.line(printable(&format!("{path}:{line}: {text}")));
            }
        }
    }
    Ok(exit)
}

/// The line of a file in which a text begins, counted from 1.
fn line_of(file: &str, text: &str) -> usize {
    let find = |words: &str| file.lines().position(|line| line.contains(words));
    // It may go on in the next line.
    find(text).or_else(|| find(text.split_whitespace().next()?)).map_or(1, |at| at + 1)
}

fn read(path: &Path) -> Result<String> {
    let bytes = fs::read(path)?.ok_or_else(|| Failure::not_found(format!("there is no file {}", path.display())))?;
    event_file::decode(&bytes)
        .and_then(|text| event_file::refuse_conflict_markers(&text).map(|()| text))
        .map_err(|problem| problem.in_file(path.display()))
}

/// The event that a handoff becomes.
fn migrated(env: &Env, ledger: &Ledger, args: &Args, path: &Path, handoff: &Handoff) -> Result<LedgerEvent> {
    let ts = handoff.ts.or(args.ts).or(handoff.day).ok_or_else(|| {
        Failure::malformed(format!("{}: its time is unknown", path.display()))
            .hint("give its time with `--ts 2026-01-10T13:00:00Z`")
    })?;
    let agent = match &handoff.agent {
        Some(agent) if args.agent.is_none() => agent.clone(),
        _ => agent_name(env, ledger, args.agent.as_deref())?,
    };
    let meta = Meta {
        ts,
        agent,
        branch: handoff.branch.clone(),
        kind: handoff.kind.clone().or(Some("handoff".into())),
        reason: handoff.reason.clone(),
        title: handoff.title.clone(),
    };
    let mut entries = [handoff.entries.clone(), handoff.left_over(&meta)].concat();
    if entries.is_empty() {
        // A title may be all that somebody wrote.
        let about = [&handoff.title, &handoff.reason].into_iter().flatten();
        entries.extend(about.map(|text| Entry::note(text)));
    }
    if entries.is_empty() {
        return Err(Failure::malformed(format!("{}: it has no text for an event", path.display())));
    }
    let event = LedgerEvent::new(meta, entries);
    render_proven(&event)
        .map_err(|failure| Failure { message: format!("{}: {}", path.display(), failure.message), ..failure })?;
    Ok(event)
}

fn given_time(text: &str) -> Result<EventTime, &'static str> {
    event_time::parse(text).ok_or("it must be an RFC 3339 time with an offset")
}
