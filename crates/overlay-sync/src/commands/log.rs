//! `log`: what was synced, oldest first.

use std::sync::mpsc;
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::cli::Place;
use crate::facts::Overlay;
use crate::store::Event;
use crate::watch::{Wake, is_change};

/// How often is looked where the system tells nothing.
const POLL: Duration = Duration::from_secs(2);

pub fn run(ui: &Ui, env: &Env, place: &Place, follow: bool) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    if !overlay.is_unmade() {
        overlay.require()?;
    }
    if !follow {
        overlay.store.events(0)?.0.iter().for_each(|event| line(ui, event));
        return Ok(Exit::Done);
    }
    let (send, wakes) = mpsc::channel();
    let signals = send.clone();
    proc::handle_signals(move |signal| signals.send(Wake::Signal(signal)).is_ok());
    let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if is_change(&event) {
            let _ = send.send(Wake::Change { at: std::time::Instant::now(), gone: Vec::new() });
        }
    });
    let mut watcher = watcher.map_err(|e| Failure::failed("cannot watch files").because(e))?;
    let path = overlay.store.log_path();
    let _ = watcher.watch(path.parent().unwrap_or(&path), RecursiveMode::NonRecursive);
    let mut read = 0;
    loop {
        let (events, to) = overlay.store.events(read)?;
        read = to;
        events.iter().for_each(|event| line(ui, event));
        if ui.is_unheard() {
            return Ok(Exit::Done);
        }
        if let Ok(Wake::Signal(signal)) = wakes.recv_timeout(POLL) {
            return Ok(Exit::Signal(u8::try_from(signal).unwrap_or(0)));
        }
    }
}

fn line(ui: &Ui, event: &Event) {
    if ui.is_json() {
        ui.json(event);
    } else {
        let (path, workspace) = (printable(&event.path.to_string()), printable(&event.workspace));
        ui.line(format!("{} {} {path} ({workspace})", event.time, event.rule));
    }
}
