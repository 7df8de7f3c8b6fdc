//! Executes an archiving.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{BufReader, Seek, Write};

use shopfloor_core::error::{At, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;

use super::files;
use crate::facts::{EVENTS, EventFileContent, Events, Ledger, directory};
use crate::plan::archive::{ArchiveMove, ArchivePlan, SnapshotPlan, join_folded, prove};
use crate::record::{EventRecord, RecordBuilder};
use crate::snapshot;

/// Writes the snapshot, then moves what it covers. The caller holds the lock.
pub fn archive(ledger: &Ledger, events: Events, plan: &ArchivePlan) -> Result<()> {
    if plan.moves() == 0 && plan.snapshot.is_none() {
        return Ok(());
    }
    let Events { files: paths, .. } = match &plan.snapshot {
        Some(snapshot) => write_snapshot(ledger, events, snapshot)?,
        None => events,
    };
    let mut days = BTreeSet::new();
    for ArchiveMove { file, day } in &plan.events {
        let name = paths.at(file.number).name.to_string_lossy().into_owned();
        let day = day.to_string();
        // The snapshot does not cover what somebody wrote into the file in the meantime.
        if hash_of(ledger, &name)? == Some(file.read) {
            files::archive(ledger, &name, &day)?;
        }
        days.insert(day);
    }
    for ArchiveMove { file, day } in &plan.snapshots {
        files::archive(ledger, file, &day.to_string())?;
        days.insert(day.to_string());
    }
    files::sync(ledger, &days.into_iter().collect::<Vec<_>>())
}

/// Writes the snapshot once it is proved, and returns the events without what they say: the events, their join and the
/// snapshot together would need much memory if there are a hundred thousand events.
fn write_snapshot(ledger: &Ledger, mut events: Events, plan: &SnapshotPlan) -> Result<Events> {
    let state = ledger.state();
    let (mut to, mut from) = fs::scratch(&state)?;
    let mut size = 0;
    snapshot::write(&join_folded(&events, &plan.folded)?, &plan.content, |piece| {
        size += piece.len();
        to.write_all(piece).at("write", &state)
    })?;
    drop(to);
    (events.records, events.snapshots) = (Vec::new(), Vec::new());
    prove(plan, snapshot::read(BufReader::new(&mut from), size).at("read", &state)?)?;
    from.rewind().at("read", &state)?;
    files::create_snapshot(ledger, &plan.name, &mut from)?;
    Ok(events)
}

/// The hash of the event that a file of `events/` holds now.
fn hash_of(ledger: &Ledger, name: &str) -> Result<Option<Digest>> {
    let Some((bytes, _)) = ledger.top.read_whole(&ledger.rel(&format!("{EVENTS}/{name}"))?)? else { return Ok(None) };
    let mut records = RecordBuilder::default();
    Ok(match directory::content(OsStr::new(name), &bytes, &mut records) {
        EventFileContent::Event(range) => Some(Digest::of(EventRecord::part(&records.finish(), range).bytes())),
        _ => None,
    })
}
