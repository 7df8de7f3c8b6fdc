//! `log`: what was synced, oldest first.

use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use serde_json::json;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::since::Since;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::facts::overlay::Overlay;
use crate::store::LogRecord;
use crate::watch::{WakeReason, listen};

/// How often the log is read where the system reports no changes.
const POLL: Duration = Duration::from_secs(2);

/// Print what was synced, by which rule, and what that changed
///
/// A line has the time, the id that `undo` takes, the rule, the file, the hashes of the text before and after, and the
/// places that were changed, without their contents.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  overlay-sync log --json | tail -n 5")]
pub struct Args {
    /// Print new records as they come, until ended
    #[arg(long)]
    follow: bool,
    /// Start at a time, `30m` ago, after the record with this `seq`, or print `all`
    #[arg(long, value_name = "TIME|SEQ|all")]
    since: Option<String>,
}

pub fn run(ui: &Ui, overlay: &Overlay, args: &Args) -> Result<Exit> {
    let since = args.since.as_deref().map(|text| Since::parse(text, overlay.env.now)).transpose()?;
    if !overlay.is_unmade() {
        overlay.require()?;
    }
    let mut seq = 0;
    let records = more(overlay, &mut seq, since.unwrap_or(Since::All))?;
    // A script that follows and is started again should not act on old records.
    if !args.follow || since.is_some() {
        records.iter().for_each(|(seq, record)| print(ui, *seq, record));
    }
    if !args.follow {
        return Ok(Exit::Done);
    }
    let (mut watcher, wakes) = listen();
    let path = overlay.store.log_path();
    if let Ok(watcher) = &mut watcher {
        let _ = watcher.watch(path.parent().unwrap_or(&path), RecursiveMode::NonRecursive);
    }
    loop {
        more(overlay, &mut seq, Since::All)?.iter().for_each(|(seq, record)| print(ui, *seq, record));
        if ui.is_unheard() {
            return Ok(Exit::Done);
        }
        if let Ok(WakeReason::Signal(signal)) = wakes.recv_timeout(POLL) {
            return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0)));
        }
    }
}

/// The records behind the one with the number `seq`, which becomes that of the last one.
fn more(overlay: &Overlay, seq: &mut u64, since: Since) -> Result<Vec<(u64, LogRecord)>> {
    let events = overlay.store.events(*seq)?;
    *seq = events.last().map_or(*seq, |(last, _)| *last);
    let known = events.into_iter().filter_map(|(seq, record)| Some((seq, record?)));
    Ok(known.filter(|(seq, record)| since.takes(*seq, &record.time)).collect())
}

fn print(ui: &Ui, seq: u64, record: &LogRecord) {
    if ui.is_json() {
        ui.json_of_both(record, &json!({ "worktree": record.workspace, "seq": seq, "id": record.id() }));
    } else {
        let (path, workspace) = (printable(&record.path.to_string()), printable(&record.workspace));
        let what = record.what.to_string();
        let what = if what.is_empty() { what } else { format!(": {}", printable(&what)) };
        let short =
            |digest: &Option<Digest>| digest.map_or("-".to_owned(), |digest| digest.to_string()[..12].to_owned());
        let texts = format!("{}..{}", short(&record.from), short(&record.to));
        ui.line(format!("{} {} {} {path} ({workspace}) {texts}{what}", record.time, record.id(), record.rule));
    }
}
