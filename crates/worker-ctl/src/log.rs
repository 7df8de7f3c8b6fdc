//! What happened, line by line: `logs/events.jsonl` for programs, `logs/<worker>.log` with what its terminal showed.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;

use crate::plan::machine::Event;
use crate::worker::Worker;

/// A log that has grown to this is put aside, and a new one begun.
const MOST: u64 = 10 << 20;

pub fn events(root: &Path) -> PathBuf {
    root.join("logs/events.jsonl")
}

pub fn of_worker(root: &Path, name: &str) -> PathBuf {
    root.join("logs").join(format!("{name}.log"))
}

/// What an `up` in the background says; no worker's log has such a name.
pub fn of_up(root: &Path) -> PathBuf {
    root.join("logs/up.out")
}

/// What `on_event` says.
pub fn of_on_event(root: &Path) -> PathBuf {
    root.join("logs/on_event.out")
}

/// Where a log that was put aside lies.
pub fn older(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".old");
    path.with_file_name(name)
}

/// The record of an event that took a worker from `before` to `after`.
pub fn record(now: jiff::Timestamp, before: &Worker, after: &Worker, event: &Event) -> Value {
    let (name, detail) = event.told();
    json!({ "v": 1, "time": now.to_string(), "worker": after.name, "event": name,
        "from": before.status(), "to": after.status(), "detail": detail })
}

/// The same as a person reads it.
pub fn told(record: &Value) -> String {
    let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
    let change =
        if record["from"] == record["to"] { text("to") } else { format!("{} -> {}", text("from"), text("to")) };
    let line = format!("{}  {}  {}  {change}  {}", text("time"), text("worker"), text("event"), text("detail"));
    line.trim_end().to_owned()
}

/// Appends it to both logs.
pub fn append(root: &Path, record: &Value) -> Result<()> {
    rotate(&events(root))?;
    fs::append_line(&events(root), &record.to_string())?;
    let log = of_worker(root, record["worker"].as_str().unwrap_or_default());
    // What a terminal shows may end anywhere.
    let begin = if fs::ends_line(&log)? { "" } else { "\n" };
    fs::append_line(&log, &format!("{begin}--- {}", told(record)))
}

/// Puts a log aside once it is large; whether it did.
pub fn rotate(path: &Path) -> Result<bool> {
    let is_large = path.metadata().is_ok_and(|meta| meta.len() >= MOST);
    if !is_large {
        return Ok(false);
    }
    // Once, whoever else sees it: a second time the little that is there by then would take the place of all that was.
    let _lock = Lock::take(&path.with_file_name(".rotate.lock"))?;
    let is_large = path.metadata().is_ok_and(|meta| meta.len() >= MOST);
    if is_large {
        fs::rename_over(path, &older(path))?;
    }
    Ok(is_large)
}
