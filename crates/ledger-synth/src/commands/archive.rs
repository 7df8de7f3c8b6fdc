//! `archive`: folds many events into one snapshot that says the same, and keeps the events for a while.

use std::path::PathBuf;

use std::time::Duration;

use serde_json::json;
use shopfloor_core::args::flag_duration;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::ui::Ui;

use crate::apply::archive as execute;
use crate::apply::synthesis::refresh_locked;
use crate::counted::counted;
use crate::facts::gather::{has_left_out, load_events};
use crate::facts::{EVENTS, Ledger};
use crate::plan::archive as plan;
use crate::settings::LedgerArgs;

/// Fold events into one snapshot and move them to `archive/`; `current.md` stays as it is
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  ledger-synth archive --older-than 7d && ledger-synth --yes --commit")]
pub struct Args {
    /// Only events older than this, such as 7d
    #[arg(long, value_name = "TIME")]
    older_than: Option<String>,
}

/// How many files were archived, and the snapshot that was written for them.
pub struct Archived {
    files: usize,
    snapshot: Option<PathBuf>,
    /// As in [`plan::ArchivePlan::changes`].
    pub changes: Vec<(String, bool)>,
}

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let age = args.older_than.as_deref().map(|text| flag_duration("--older-than", text)).transpose()?;
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let _lock = if ui.is_dry() { None } else { Some(ledger.lock()?) };
    let archived = archive(ui, env, &ledger, age)?;
    if ui.is_json() {
        let snapshot = archived.snapshot.as_ref().map(|path| path.to_string_lossy());
        ui.json(&json!({ "archived": archived.files, "snapshot": snapshot }));
    } else {
        print(ui, &archived);
    }
    Ok(Exit::Done)
}

/// Archives the events that are older than `age`. The caller holds the lock, except in a dry run.
pub fn archive(ui: &Ui, env: &Env, ledger: &Ledger, age: Option<Duration>) -> Result<Archived> {
    if has_left_out(ledger)? {
        let dir = shell_word(ledger.dir.strip_prefix(ledger.top.path()).unwrap_or(&ledger.dir));
        let why = "this sparse checkout leaves events out, and only files that are here can be archived";
        let hint = format!("run `git sparse-checkout add {dir}`, then the same command again");
        return Err(Failure::usage(why).hint(hint));
    }
    let events = load_events(ledger)?;
    let plan = plan::archive(env.now, &events, age)?;
    let (mut files, changes) = (plan.moves.len(), plan.changes());
    if !ui.is_dry() {
        let kept = execute::archive(ledger, &plan)?;
        if kept > 0 {
            let verb = if kept == 1 { "stays" } else { "stay" };
            ui.note(format!("{} changed meanwhile and {verb} in {EVENTS}/", counted(kept, "file")));
        }
        files -= kept;
        refresh_locked(ui, env, ledger)?;
    }
    let snapshot = plan.snapshot.map(|snapshot| ledger.dir.join(EVENTS).join(snapshot.name));
    Ok(Archived { files, snapshot, changes })
}

pub fn print(ui: &Ui, archived: &Archived) {
    let would = if ui.is_dry() { "would have " } else { "" };
    let files = counted(archived.files, "file");
    // With `--json` the answer is one of a synthesis.
    let say = |line: String| if ui.is_json() { ui.note(line) } else { ui.line(line) };
    match &archived.snapshot {
        _ if archived.files == 0 => ui.detail("there is nothing to archive"),
        Some(path) => say(format!("{would}archived {files} into {}", printable(&path.to_string_lossy()))),
        None => say(format!("{would}archived {files}, which a snapshot covers already")),
    }
}
