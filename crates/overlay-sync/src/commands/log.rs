//! `log`: what was synced, oldest first.

use std::sync::mpsc;
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use serde_json::json;
use shopfloor_core::args::Since;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::cli::OverlayFlags;
use crate::facts::Overlay;
use crate::store::LogRecord;
use crate::watch::{WakeReason, is_change};

/// How often is looked where the system tells nothing.
const POLL: Duration = Duration::from_secs(2);

pub fn run(ui: &Ui, env: &Env, place: &OverlayFlags, follow: bool, since: Option<&str>) -> Result<Exit> {
    let since = since.map(|text| Since::parse(text, env.now)).transpose()?;
    let overlay = Overlay::find(ui, env, place)?;
    if !overlay.is_unmade() {
        overlay.require()?;
    }
    let mut log = LogReader { seq: 0, read: 0 };
    let mut told = log.more(&overlay, since.unwrap_or(Since::All))?;
    if !follow {
        told.iter().for_each(|(seq, event)| line(ui, *seq, event));
        return Ok(Exit::Done);
    }
    if since.is_none() {
        // A script that is started again does not act on what is long past.
        told.clear();
    }
    told.iter().for_each(|(seq, event)| line(ui, *seq, event));
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
        log.more(&overlay, Since::All)?.iter().for_each(|(seq, event)| line(ui, *seq, event));
        if ui.is_unheard() {
            return Ok(Exit::Done);
        }
        if let Ok(WakeReason::Signal(signal)) = wakes.recv_timeout(POLL) {
            return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0)));
        }
    }
}

/// How far the log was read.
struct LogReader {
    /// The number of the last line: they are numbered from 1.
    seq: u64,
    read: usize,
}

impl LogReader {
    /// What has come since, with its numbers.
    fn more(&mut self, overlay: &Overlay, since: Since) -> Result<Vec<(u64, LogRecord)>> {
        let (events, to) = overlay.store.events(self.read)?;
        self.read = to;
        let mut told = Vec::new();
        for event in events {
            self.seq += 1;
            told.extend(event.filter(|event| since.takes(self.seq, &event.time)).map(|event| (self.seq, event)));
        }
        Ok(told)
    }
}

fn line(ui: &Ui, seq: u64, event: &LogRecord) {
    if ui.is_json() {
        let mut record = json!(event);
        record["seq"] = seq.into();
        ui.json(&record);
    } else {
        let (path, workspace) = (printable(&event.path.to_string()), printable(&event.workspace));
        ui.line(format!("{} {} {path} ({workspace})", event.time, event.rule));
    }
}
