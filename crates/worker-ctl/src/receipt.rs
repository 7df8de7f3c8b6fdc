//! Receipts: what a worker's agent said last through its own hook, which confirms that a text has arrived.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;

use crate::layout;

/// How long an agent whose hook has spoken before has to speak again.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often the file is read meanwhile.
const POLL: Duration = Duration::from_millis(20);

/// What a worker's agent said last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    v: u64,
    event: String,
    /// The hash of the text that the agent was given, if it tells one.
    text: Option<String>,
}

impl Receipt {
    /// What the hook said at an event, and the text that came with it.
    pub fn new(event: &str, text: Option<&str>) -> Receipt {
        Receipt { v: 1, event: event.to_owned(), text: text.map(digest) }
    }

    /// Writes it. One without a text leaves an earlier one with a text in force.
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

/// The hash of a text without the blanks around it.
fn digest(text: &str) -> String {
    Digest::of(text.trim().as_bytes()).to_string()
}

/// What a worker's hook said last; none where no hook ever spoke.
pub fn load(root: &Path, worker: &str) -> Option<Receipt> {
    let bytes = fs::read_no_follow(&layout::receipt(root, worker)).ok()??;
    serde_json::from_slice(&bytes).ok()
}

/// Empties a worker's receipt before a text is sent, so that the next one is about that text.
pub fn forget(root: &Path, worker: &str) -> Result<()> {
    let path = layout::receipt(root, worker);
    if path.exists() { Receipt { v: 1, ..Receipt::default() }.write(&path) } else { Ok(()) }
}

/// Removes a worker's receipt with the worker.
pub fn remove(root: &Path, worker: &str) -> Result<()> {
    fs::remove(&layout::receipt(root, worker))
}

/// Waits for a worker's hook to say that this text has arrived; `false` when it has not in time.
pub fn confirms(root: &Path, worker: &str, text: &str) -> bool {
    let (start, wanted) = (Instant::now(), digest(text));
    loop {
        if load(root, worker).is_some_and(|receipt| receipt.text.as_ref() == Some(&wanted)) {
            return true;
        }
        if start.elapsed() >= PATIENCE {
            return false;
        }
        thread::sleep(POLL);
    }
}
