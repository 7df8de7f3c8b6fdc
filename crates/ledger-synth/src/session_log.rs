//! When sessions began, which of them wrote events and which were told that they left no word, in the private state of
//! the worktree.

use std::path::{Path, PathBuf};

use shopfloor_core::error::Result;
use shopfloor_core::fs;

use crate::event_time::EventTime;

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

/// Remembers that an event was written in this worktree, by a session if its name is known.
pub fn write(state: &Path, session: Option<&str>) -> Result<()> {
    append(state, &format!("wrote {}", session.unwrap_or(UNKNOWN)))
}

/// The name of a session that nobody named.
const UNKNOWN: &str = "-";

/// Whether a session has written an event, as far as is known: one under its name, or one under no name since it began.
pub fn has_written(state: &Path, session: &str) -> Result<bool> {
    let lines = lines(state)?;
    let began = lines.iter().position(|line| line.starts_with(&format!("began {session} ")));
    let since = began.map(|at| &lines[at..]).unwrap_or_default();
    let unknown = format!("wrote {UNKNOWN}");
    Ok(lines.contains(&format!("wrote {session}")) || since.contains(&unknown))
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
