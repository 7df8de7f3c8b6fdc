//! Receipts: the last report of an agent's own hook, which confirms that a text has arrived.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;

use crate::layout;

/// How long to wait for a hook that has reported before.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often the receipt is read while waiting.
const POLL: Duration = Duration::from_millis(20);

/// The last report of an agent's hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    v: u64,
    event: String,
    /// The hash of the text that the agent got, if the hook reported one.
    text: Option<String>,
}

impl Receipt {
    /// A report of an event, with the text that came with it.
    pub fn new(event: &str, text: Option<&str>) -> Receipt {
        Receipt { v: 1, event: event.to_owned(), text: text.map(digest) }
    }

    /// Writes the receipt. One without a text does not replace an earlier one.
    pub fn save(&self, root: &Path, worker: &str) -> Result<()> {
        let path = layout::receipt(root, worker);
        if self.text.is_none() && path.exists() {
            return Ok(());
        }
        fs::create_private_dir(path.parent().unwrap_or(root))?;
        self.write(&path)
    }

    fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string(self).map_err(|e| Failure::failed("cannot write a receipt").because(e))?;
        fs::replace(path, format!("{text}\n").as_bytes(), Some(fs::PRIVATE))
    }
}

/// The hash of a text without what programs are known to change in it: they mark a paste, turn tabs into blanks, and add
/// or drop blanks at the end of lines.
fn digest(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.trim().lines() {
        if !is_paste_mark(line.trim()) {
            lines.push(line.replace('\t', "    ").trim_end().to_owned());
        }
    }
    Digest::of(lines.join("\n").trim().as_bytes()).to_string()
}

/// Whether a line is one of those that claude puts around a pasted text.
fn is_paste_mark(line: &str) -> bool {
    line == "</pasted_content>" || line.starts_with("<pasted_content ") && line.ends_with('>')
}

/// The last report of a worker's hook, if there ever was one.
pub fn load(root: &Path, worker: &str) -> Option<Receipt> {
    let bytes = fs::read_no_follow(&layout::receipt(root, worker)).ok()??;
    serde_json::from_slice(&bytes).ok()
}

/// Empties a worker's receipt before a text is sent, so that the next report is about that text.
pub fn forget(root: &Path, worker: &str) -> Result<()> {
    let path = layout::receipt(root, worker);
    if path.exists() { Receipt { v: 1, ..Receipt::default() }.write(&path) } else { Ok(()) }
}

/// Removes a worker's receipt.
pub fn remove(root: &Path, worker: &str) -> Result<()> {
    fs::remove(&layout::receipt(root, worker))
}

/// Waits for a worker's hook to confirm this text. Returns `false` when the time is up.
pub fn confirms(root: &Path, worker: &str, text: &str) -> bool {
    let (start, expected) = (Instant::now(), digest(text));
    loop {
        if load(root, worker).is_some_and(|receipt| receipt.text.as_ref() == Some(&expected)) {
            return true;
        }
        if start.elapsed() >= PATIENCE {
            return false;
        }
        thread::sleep(POLL);
    }
}
