//! `log`: what was synced, oldest first.

use std::sync::mpsc;
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use serde::Serialize;
use shopfloor_core::args::Since;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::proc;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::facts::overlay::Overlay;
use crate::settings::OverlayFlags;
use crate::store::LogRecord;
use crate::watch::{WakeReason, is_change};

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

#[derive(Serialize)]
struct LogAnswer<'a> {
    #[serde(flatten)]
    record: &'a LogRecord,
    worktree: &'a str,
    seq: u64,
    id: String,
}

pub fn run(ui: &Ui, env: &Env, flags: &OverlayFlags, args: &Args) -> Result<Exit> {
    let since = args.since.as_deref().map(|text| Since::parse(text, env.now)).transpose()?;
    let overlay = Overlay::find(ui, env, flags)?;
    if !overlay.is_unmade() {
        overlay.require()?;
    }
    let mut log = LogReader { seq: 0 };
    let mut records = log.more(&overlay, since.unwrap_or(Since::All))?;
    if !args.follow {
        records.iter().for_each(|(seq, record)| print(ui, *seq, record));
        return Ok(Exit::Done);
    }
    if since.is_none() {
        // A script that is started again should not act on old records.
        records.clear();
    }
    records.iter().for_each(|(seq, record)| print(ui, *seq, record));
    let (send, wakes) = mpsc::channel();
    let signals = send.clone();
    proc::handle_signals(move |signal| signals.send(WakeReason::Signal(signal)).is_ok());
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if is_change(&event) {
            let _ = send.send(WakeReason::Change { at: std::time::Instant::now(), gone: Vec::new() });
        }
    });
    let mut watcher = watcher.map_err(|e| Failure::failed("cannot watch files").because(e))?;
    let path = overlay.store.log_path();
    let _ = watcher.watch(path.parent().unwrap_or(&path), RecursiveMode::NonRecursive);
    loop {
        log.more(&overlay, Since::All)?.iter().for_each(|(seq, record)| print(ui, *seq, record));
        if ui.is_unheard() {
            return Ok(Exit::Done);
        }
        if let Ok(WakeReason::Signal(signal)) = wakes.recv_timeout(POLL) {
            return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0)));
        }
    }
}

/// How far the log has been read.
struct LogReader {
    /// The number of the last line. Lines are numbered from 1.
    seq: u64,
}

impl LogReader {
    /// The records since the last call, with their numbers.
    fn more(&mut self, overlay: &Overlay, since: Since) -> Result<Vec<(u64, LogRecord)>> {
        let events = overlay.store.events(self.seq)?;
        self.seq = events.last().map_or(self.seq, |(seq, _)| *seq);
        let taken = |(seq, event): (u64, Option<LogRecord>)| {
            event.filter(|event| since.takes(seq, &event.time)).map(|event| (seq, event))
        };
        Ok(events.into_iter().filter_map(taken).collect())
    }
}

fn print(ui: &Ui, seq: u64, record: &LogRecord) {
    if ui.is_json() {
        ui.json(&LogAnswer { record, worktree: &record.workspace, seq, id: record.id() });
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
