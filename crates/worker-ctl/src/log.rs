//! What happened, line by line: `logs/events.jsonl` for programs, `logs/<worker>.log` with what its terminal showed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;

use crate::layout;
use crate::worker::Worker;

/// A log that has grown to this is put aside, and a new one begun.
const MOST: u64 = 10 << 20;

/// Where a log that was put aside lies.
pub fn older(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".old");
    path.with_file_name(name)
}

/// The record of an event, by its name and what there is to say of it, that took a worker from `before` to `after`, as
/// the state of this revision has it.
pub fn record(
    now: jiff::Timestamp,
    before: &Worker,
    after: &Worker,
    (name, detail): (&str, String),
    revision: u64,
) -> Value {
    // It gets its number when it is appended.
    json!({ "v": 1, "seq": 0, "time": now.to_string(), "worker": after.name, "event": name, "from": before.status(),
        "to": after.status(), "detail": detail, "task": after.task.word(), "revision": revision })
}

/// What the log has of each worker last, of those whose records say which revision they are of; with `rejected`, the
/// commit that was rejected last, where that is what it is at.
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

/// The same as a person reads it.
pub fn line(record: &Value) -> String {
    let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
    let change =
        if record["from"] == record["to"] { text("to") } else { format!("{} -> {}", text("from"), text("to")) };
    let line = format!("{}  {}  {}  {change}  {}", text("time"), text("worker"), text("event"), text("detail"));
    line.trim_end().to_owned()
}

/// Appends it to both logs, with the number that follows the last one.
pub fn append(root: &Path, record: &Value) -> Result<()> {
    rotate(&layout::events(root))?;
    {
        let _lock = Lock::take(&layout::events(root).with_file_name(".seq.lock"))?;
        let mut numbered = record.clone();
        numbered["seq"] = (last_seq(root)? + 1).into();
        fs::append_line(&layout::events(root), &numbered.to_string())?;
    }
    let log = layout::worker_log(root, record["worker"].as_str().unwrap_or_default());
    // What a terminal shows may end anywhere.
    let begin = if fs::ends_line(&log)? { "" } else { "\n" };
    fs::append_line(&log, &format!("{begin}--- {}", line(record)))
}

/// The number given last. Records of a version that gave none count from 1.
pub fn last_seq(root: &Path) -> Result<u64> {
    let mut count = 0;
    for path in [layout::events(root), older(&layout::events(root))] {
        let Some(last) = fs::last_line(&path)? else { continue };
        if let Some(seq) = serde_json::from_slice::<Value>(&last).ok().and_then(|record| record["seq"].as_u64()) {
            return Ok(seq + count);
        }
        let text = fs::read_own(&path)?.unwrap_or_default();
        count += text.iter().filter(|byte| **byte == b'\n').count() as u64;
    }
    Ok(count)
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
