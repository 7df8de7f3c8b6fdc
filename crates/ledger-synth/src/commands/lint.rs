//! `lint`: whether event files are well-formed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::entry::Entry;
use crate::facts::gather::load_events;
use crate::facts::{CURRENT, Events, Ledger, directory};
use crate::plan::{Filter, future_sources, join};
use crate::settings::LedgerArgs;

/// Check event files: exit 0 if all are well-formed, 2 if not
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  ledger-synth lint thoughts/shared/handoffs/events/*.md")]
pub struct Args {
    /// Event files; by default all those of the ledger
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Error,
    Warning,
}

/// One thing that is wrong with an event file.
#[derive(Serialize)]
struct LintAnswer {
    path: String,
    line: usize,
    why: String,
    level: Level,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let events = if args.files.is_empty() { load_events(&ledger)? } else { named(env, &args.files)? };
    let snapshots = events.snapshots()?;
    let join = join(&events.records, &snapshots, &Filter::default());
    let future: BTreeSet<_> = future_sources(env.now.into(), &join).map(|source| source.id).collect();
    lint(&events, &future, &mut |problem| {
        let LintAnswer { path, line, why, level } = &problem;
        let word = if *level == Level::Error { "" } else { "warning: " };
        if ui.is_json() {
            ui.json(&problem);
        } else {
            ui.line(printable(&format!("{path}:{line}: {word}{why}")));
        }
    });
    Ok(if events.skipped.is_empty() && future.is_empty() { Exit::Done } else { Exit::Bad })
}

/// Tells `report` everything that is wrong.
fn lint(events: &Events, future: &BTreeSet<Digest>, report: &mut dyn FnMut(LintAnswer)) {
    for skipped in &events.skipped {
        let (path, line) = (skipped.path.to_string_lossy().into_owned(), skipped.problem.line);
        report(LintAnswer { path, line, why: skipped.problem.why.clone(), level: Level::Error });
    }
    for (record, file) in events.records.iter().zip(events.files.iter()) {
        let Some(event) = record.decode() else { continue };
        let path = file.path().to_string_lossy().into_owned();
        let mut push = |level, why: String| report(LintAnswer { path: path.clone(), line: 1, why, level });
        if future.contains(&record.id()) {
            push(Level::Error, format!("its time is in the future: {}", event.meta.ts));
        }
        let stem = event.file_stem();
        if !file.name.to_string_lossy().starts_with(&stem) {
            let why = format!("the file name differs from its time and agent ({stem}.md); nothing depends on it");
            push(Level::Warning, why);
        }
        let names: BTreeSet<_> = event.entries.iter().map(Entry::section).collect();
        for (name, word) in names.iter().filter_map(|name| Some((name, name.near()?))) {
            push(
                Level::Warning,
                format!("the section `{}` is shown on its own; did you mean `{word}`?", name.as_str()),
            );
        }
        if event.entries.is_empty() {
            push(Level::Warning, "the event says nothing".to_owned());
        }
    }
}

fn named(env: &Env, files: &[PathBuf]) -> Result<Events> {
    let mut paths = Vec::new();
    for file in files {
        let path = env.cwd.join(file);
        if path.symlink_metadata().is_err() {
            return Err(Failure::not_found(format!("there is no file {}", path.display()))
                .hint("run `ledger-synth lint` without a file to check all events"));
        }
        // A glob over the whole ledger matches `current.md` too, but means its events.
        if path.file_name().is_some_and(|name| name != CURRENT) {
            paths.push(path);
        }
    }
    directory::files(&paths)
}
