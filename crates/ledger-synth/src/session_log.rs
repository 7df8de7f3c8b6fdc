//! When sessions began, and which of them were told that they left no word, in the private state of the worktree.

use std::path::{Path, PathBuf};

use shopfloor_core::error::Result;
use shopfloor_core::fs;

use crate::instant::{self, EventTime};

/// The most lines that are kept.
const LINES: usize = 400;

fn file(state: &Path) -> PathBuf {
    state.join("sessions")
}

fn lines(state: &Path) -> Result<Vec<String>> {
    let bytes = fs::read_no_follow(&file(state))?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}

fn append(state: &Path, line: &str) -> Result<()> {
    fs::create_private_dir(state)?;
    let known = lines(state)?;
    if known.len() > LINES {
        let rest = known[LINES / 2..].join("\n") + "\n";
        fs::replace(&file(state), rest.as_bytes(), Some(fs::PRIVATE))?;
    }
    fs::append_line(&file(state), line)
}

/// Remembers when a session began.
pub fn begin(state: &Path, session: &str, at: EventTime) -> Result<()> {
    append(state, &format!("began {session} {at}"))
}

/// When a session began. None: nobody told us.
pub fn began(state: &Path, session: &str) -> Result<Option<EventTime>> {
    let begin = format!("began {session} ");
    Ok(lines(state)?.iter().rev().find_map(|line| instant::parse(line.strip_prefix(&begin)?)))
}

/// Remembers that a session was told; `false` if it was told before.
pub fn tell(state: &Path, session: &str) -> Result<bool> {
    let line = format!("told {session}");
    let is_new = !lines(state)?.contains(&line);
    if is_new {
        append(state, &line)?;
    }
    Ok(is_new)
}
