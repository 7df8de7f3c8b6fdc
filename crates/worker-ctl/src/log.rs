//! The logs: `logs/events.jsonl` has one event per line, and `logs/<worker>.log` has what the terminal showed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;
use shopfloor_core::time;

use crate::layout;
use crate::worker::Worker;

/// The event of a change of the activity alone.
pub const ACTIVITY: &str = "activity";

/// A log of this size is rotated.
pub const MAX_SIZE: u64 = 10 << 20;

/// The path of the previous log after a rotation.
pub fn older(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".old");
    path.with_file_name(name)
}

/// The record of an event that took a worker from `before` to `after`, with the event's name and detail. `revision` is
/// the revision of the state that has `after`.
pub fn record(
    now: jiff::Timestamp,
    before: &Worker,
    after: &Worker,
    (name, detail): (&str, String),
    revision: u64,
) -> Value {
    // `append` sets `seq`.
    json!({ "v": 1, "seq": 0, "time": time::render(now), "worker": after.name, "event": name, "from": before.status(),
        "to": after.status(), "detail": detail, "task": after.task.word(), "revision": revision,
        "activity": after.activity().word(), "activity_text": after.reported.activity_text })
}

/// The last record of each worker that has a revision. The key `rejected` is added: the commit of the worker's last
/// rejection, followed through rebases.
pub fn last_of_each(root: &Path) -> Result<BTreeMap<String, Value>> {
    let mut last = BTreeMap::new();
    for path in [older(&layout::events(root)), layout::events(root)] {
        let text = fs::read_own(&path)?.unwrap_or_default();
        let records = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        for mut record in records.filter(|record| record["revision"].is_u64()) {
            let name = record["worker"].as_str().unwrap_or_default().to_owned();
            let is_baseline = matches!(record["event"].as_str(), Some("reject" | "rebased"));
            let before = last.get(&name).map_or(Value::Null, |before: &Value| before["rejected"].clone());
            record["rejected"] = if is_baseline { record["detail"].clone() } else { before };
            last.insert(name, record);
        }
    }
    Ok(last)
}

/// A record as a line for a person.
pub fn line(record: &Value) -> String {
    let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
    let change = match text("event").as_str() {
        ACTIVITY => text("activity"),
        _ if record["from"] == record["to"] => text("to"),
        _ => format!("{} -> {}", text("from"), text("to")),
    };
    let line = format!("{}  {}  {}  {change}  {}", text("time"), text("worker"), text("event"), text("detail"));
    line.trim_end().to_owned()
}

/// Appends a record to both logs, with the next sequence number.
pub fn append(root: &Path, record: &Value) -> Result<()> {
    rotate(&layout::events(root))?;
    {
        let _lock = Lock::take(&layout::events(root).with_file_name(".seq.lock"))?;
        let mut numbered = record.clone();
        numbered["seq"] = (last_seq(root)? + 1).into();
        fs::append_line(&layout::events(root), &numbered.to_string())?;
    }
    let log = layout::worker_log(root, record["worker"].as_str().unwrap_or_default());
    // Terminal output may end in the middle of a line.
    let begin = if fs::ends_line(&log)? { "" } else { "\n" };
    fs::append_line(&log, &format!("{begin}--- {}", line(record)))
}

/// The last sequence number.
pub fn last_seq(root: &Path) -> Result<u64> {
    for path in [layout::events(root), older(&layout::events(root))] {
        let last = fs::last_line(&path)?.and_then(|last| serde_json::from_slice::<Value>(&last).ok());
        if let Some(seq) = last.and_then(|record| record["seq"].as_u64()) {
            return Ok(seq);
        }
    }
    Ok(0)
}

/// Rotates a log that has grown large. Returns whether it did.
pub fn rotate(path: &Path) -> Result<bool> {
    let is_large = path.metadata().is_ok_and(|meta| meta.len() >= MAX_SIZE);
    if !is_large {
        return Ok(false);
    }
    // Check again under the lock: a second rotation would replace the full old log with the nearly empty new one.
    let _lock = Lock::take(&path.with_file_name(".rotate.lock"))?;
    let is_large = path.metadata().is_ok_and(|meta| meta.len() >= MAX_SIZE);
    if is_large {
        fs::rename_over(path, &older(path))?;
    }
    Ok(is_large)
}
