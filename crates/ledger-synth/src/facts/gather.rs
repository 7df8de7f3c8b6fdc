//! Reads the ledger's own events and its page, also those that a sparse checkout leaves out.

use std::collections::HashSet;

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;

use super::event_dir;
use super::objects::{self, CommitTree, Objects};
use super::{ARCHIVE, Current, EVENTS, Events, Ledger};

/// Loads the events of the ledger, in the order of their paths.
pub fn load_events(ledger: &Ledger) -> Result<Events> {
    let mut events = ledger.open(EVENTS)?.map(|dir| event_dir::read(&dir)).transpose()?.unwrap_or_default();
    let left_out = left_out(ledger)?.events;
    if !left_out.is_empty() {
        events.append(left_out);
        events.files.sort_by(|a, b| a.path.cmp(&b.path));
    }
    Ok(events)
}

/// Loads the archive.
pub fn load_archive(ledger: &Ledger) -> Result<Events> {
    Ok(ledger.open(ARCHIVE)?.map(|archive| event_dir::read_archive(&archive)).transpose()?.unwrap_or_default())
}

/// Loads the events of the ledger, and those archived events that a snapshot covers. Other archived events do not count.
pub fn load_events_with_archive(ledger: &Ledger) -> Result<Events> {
    let mut events = load_events(ledger)?;
    let covered = events.covered()?;
    let mut archived = load_archive(ledger)?;
    archived.files.retain(|file| covered.contains(&file.record.id));
    events.append(archived);
    Ok(events)
}

/// Loads `current.md`, here or left out of this sparse checkout.
pub fn load_page(ledger: &Ledger) -> Result<Option<Current>> {
    let current = ledger.current()?;
    Ok(if current.is_some() { current } else { left_out(ledger)?.current })
}

/// The ledger's files that are not in this work tree because it is a sparse checkout.
fn left_out(ledger: &Ledger) -> Result<CommitTree> {
    let Some(prefix) = ledger.in_tree() else { return Ok(CommitTree::default()) };
    let mut blobs = objects::left_out(&ledger.git, &ledger.top, prefix)?;
    blobs.retain(|below, _| objects::is_ours(below));
    if blobs.is_empty() {
        return Ok(CommitTree::default());
    }
    Objects::at(&ledger.git, &ledger.repo, prefix.clone()).read(&blobs)
}

/// Whether this sparse checkout leaves files of the ledger out.
pub fn has_left_out(ledger: &Ledger) -> Result<bool> {
    let left_out = left_out(ledger)?;
    Ok(!left_out.events.is_empty() || left_out.current.is_some())
}

/// Whether the ledger has a directory of events, here or left out of this sparse checkout.
pub fn has_events(ledger: &Ledger) -> Result<bool> {
    Ok(ledger.open(EVENTS)?.is_some() || !left_out(ledger)?.events.is_empty())
}

/// The events in the ledger of a commit, folded ones included. None: there is no such commit.
pub fn events_of_commit(ledger: &Ledger, rev: &str) -> Result<Option<HashSet<Digest>>> {
    let Some(prefix) = ledger.in_tree() else { return Ok(None) };
    let objects = Objects::at(&ledger.git, &ledger.repo, prefix.clone());
    let Ok(commit) = objects.commit(rev) else { return Ok(None) };
    let events = objects.read(&objects.blobs(&commit)?)?.events;
    let folded = events.covered()?;
    Ok(Some(events.records().map(|record| record.id).chain(folded).collect()))
}
