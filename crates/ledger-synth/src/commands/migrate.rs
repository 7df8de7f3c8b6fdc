//! `migrate`: handoff files of other shapes become events. The files themselves stay where they are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::event::{render_proven, write_event};
use crate::body::NOTES;
use crate::canonical;
use crate::entry::Entry;
use crate::event::LedgerEvent;
use crate::event_file;
use crate::facts::Ledger;
use crate::facts::author::agent_name;
use crate::facts::gather::{load_archive, load_events};
use crate::front::Meta;
use crate::handoff::Handoff;
use crate::instant::{self, EventTime};
use crate::plan::join;
use crate::plan::migration::{MissingText, Proof, SourceEvent, SourceFile, unsaid};
use crate::record::EventRecord;
use crate::settings::LedgerArgs;

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
    #[arg(long)]
    ts: Option<String>,
    /// The agent of all files, whatever they say [default: the agent that a file names, else LEDGER_SYNTH_AGENT or the
    /// worktree's name]
    #[arg(long)]
    agent: Option<String>,
}

/// A text that no event holds.
#[derive(Serialize)]
struct MissingTextAnswer<'a> {
    path: &'a str,
    line: usize,
    text: &'a str,
}

/// A file that became an event.
#[derive(Serialize)]
struct MigrateAnswer<'a> {
    from: &'a str,
    path: &'a str,
    id: Digest,
    ts: String,
    time: String,
    agent: &'a str,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    if args.check {
        return check(ui, env, ledger_args, args);
    }
    let ts = args.ts.as_deref().map(|text| {
        instant::parse(text)
            .ok_or_else(|| Failure::usage(format!("--ts must be an RFC 3339 time with an offset, not `{text}`")))
    });
    let ts = ts.transpose()?;
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let mut known: BTreeSet<_> = load_events(&ledger)?.records().map(|record| record.id).collect();
    // All files are read before the first event is written.
    let mut events = Vec::new();
    let mut refused = Vec::new();
    for file in &args.files {
        let path = env.cwd.join(file);
        match read(&path).and_then(|text| migrated(env, &ledger, args, ts, &path, &text)) {
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
        let written = write_event(&ledger, event, ui.is_dry())?;
        let to = written.path.to_string_lossy().into_owned();
        if ui.is_json() {
            let (id, ts, agent) = (written.record.id, written.record.ts().to_string(), written.record.agent());
            ui.json(&MigrateAnswer { from: &from, path: &to, id, ts, time: written.record.ts().render(), agent });
        } else {
            ui.line(printable(&to));
        }
    }
    Ok(Exit::Done)
}

/// Fails if files cannot become events, and names all of them.
fn refuse_all(refused: Vec<Failure>) -> Result<()> {
    match refused.len() {
        0 => return Ok(()),
        1 => return refused.into_iter().next().map_or(Ok(()), Err),
        _ => {}
    }
    Err(Failure::malformed(format!("{} files cannot become events, so nothing was written", refused.len()))
        .details(refused.iter().map(|failure| failure.message.clone()))
        .hint("leave these files out, or fix them; `--ts 2026-01-10T13:00:00Z` gives a time to files that tell none"))
}

/// Lists what of the files is not in the ledger.
fn check(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let events = load_events(&ledger)?;
    let paths: Vec<PathBuf> = args.files.iter().map(|file| env.cwd.join(file)).collect();
    let source = |path: &PathBuf| {
        let text = read(path)?;
        let events = migrated(env, &ledger, args, None, path, &text).unwrap_or_default();
        let event =
            |event: LedgerEvent| SourceEvent { id: canonical::id(&event), ts: event.meta.ts, agent: event.meta.agent };
        Ok(SourceFile { text, events: events.into_iter().map(event).collect() })
    };
    let files = paths.iter().map(source).collect::<Result<Vec<_>>>()?;
    let join = join(&events)?;
    let archived = load_archive(&ledger)?;
    let snapshots = [events.snapshots()?, archived.snapshots()?].concat();
    let counted = |pass_on: &mut dyn FnMut(&EventRecord)| {
        let counts = |id: &Digest| !join.retracted.contains(id) || join.folded.contains(id);
        events.records().filter(|record| counts(&record.id)).for_each(&mut *pass_on);
        // Other archived events do not count.
        archived.records().filter(|record| join.folded.contains(&record.id)).for_each(&mut *pass_on);
        Ok(())
    };
    let proof = Proof::new(&files, &counted, &snapshots)?;
    let mut exit = Exit::Done;
    for (path, missing) in paths.iter().zip(proof.missing()) {
        let shown = path.to_string_lossy();
        for MissingText { line, text } in missing {
            exit = Exit::No;
            if ui.is_json() {
                ui.json(&MissingTextAnswer { path: &shown, line, text: &text });
            } else {
                ui.line(printable(&format!("{shown}:{line}: {text}")));
            }
        }
    }
    Ok(exit)
}

fn read(path: &Path) -> Result<String> {
    let bytes = fs::read(path)?.ok_or_else(|| Failure::not_found(format!("there is no file {}", path.display())))?;
    let text = event_file::decode(&bytes)
        .and_then(|text| event_file::refuse_conflict_markers(&text).map(|()| text))
        .map_err(|problem| Failure::malformed(format!("{}:{}: {}", path.display(), problem.line, problem.why)))?;
    Ok(text.into_owned())
}

/// The events that a handoff file becomes.
fn migrated(
    env: &Env,
    ledger: &Ledger,
    args: &Args,
    given: Option<EventTime>,
    path: &Path,
    text: &str,
) -> Result<Vec<LedgerEvent>> {
    let event = |handoff: Handoff| {
        let ts = handoff.ts.or(given).or(handoff.day).ok_or_else(|| {
            Failure::malformed(format!("{}: its time is unknown", path.display()))
                .hint("give its time with `--ts 2026-01-10T13:00:00Z`")
        })?;
        let mut handoff = handoff;
        if handoff.entries.is_empty() {
            // A title may be all that somebody wrote.
            let about = [&handoff.title, &handoff.reason].into_iter().flatten();
            let note = |text: &String| Entry::Item { section: NOTES.into(), text: text.clone() };
            handoff.entries = about.map(note).collect();
        }
        if handoff.entries.is_empty() {
            return Err(Failure::malformed(format!("{}: it has no text for an event", path.display())));
        }
        let agent = match handoff.agent {
            Some(agent) if args.agent.is_none() => agent,
            _ => agent_name(env, ledger, args.agent.as_deref())?,
        };
        let meta = Meta {
            ts,
            agent,
            branch: handoff.branch,
            kind: handoff.kind.or(Some("handoff".into())),
            reason: handoff.reason,
            title: handoff.title,
        };
        Ok(LedgerEvent::new(meta, handoff.entries))
    };
    let mut events = Handoff::parse_all(path, text).into_iter().map(event).collect::<Result<Vec<_>>>()?;
    // What was not understood is kept as notes.
    let notes = unsaid(text, &events).into_iter();
    let notes: Vec<_> = notes.map(|MissingText { text, .. }| Entry::Item { section: NOTES.into(), text }).collect();
    if let Some(last) = events.pop() {
        events.push(LedgerEvent::new(last.meta, [last.entries, notes].concat()));
    }
    for event in &events {
        render_proven(event)
            .map_err(|failure| Failure { message: format!("{}: {}", path.display(), failure.message), ..failure })?;
    }
    Ok(events)
}
