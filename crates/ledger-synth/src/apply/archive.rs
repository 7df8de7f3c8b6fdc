//! Executes an archiving.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{BufReader, Seek, Write};
use std::path::PathBuf;

use shopfloor_core::error::{At, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;

use super::files;
use crate::facts::{ARCHIVE, EVENTS, EventFileContent, Events, Ledger, directory};
use crate::plan::archive::{ArchiveMove, ArchivePlan, DoomedFile, SnapshotPlan, file_name, join_folded, prove};
use crate::record::{EventRecord, RecordBuilder};
use crate::snapshot;

/// Writes the snapshot, then moves what it covers. Returns how many files stay, because they changed meanwhile. The caller
/// holds the lock.
pub fn archive(ledger: &Ledger, events: Events, plan: &ArchivePlan) -> Result<usize> {
    if plan.moves() == 0 && plan.snapshot.is_none() {
        return Ok(0);
    }
    let Events { files: paths, .. } = match &plan.snapshot {
        Some(snapshot) => write_snapshot(ledger, events, snapshot)?,
        None => events,
    };
    let (mut days, mut kept) = (BTreeSet::new(), 0);
    for ArchiveMove { file, day } in &plan.events {
        let name = paths.at(file.number).name.to_string_lossy().into_owned();
        let day = day.to_string();
        // The snapshot does not cover what somebody wrote into the file in the meantime.
        if hash_of(ledger, EVENTS, &name)? == Some(file.read) {
            files::archive(ledger, &name, &day)?;
        } else {
            kept += 1;
        }
        days.insert(day);
    }
    for ArchiveMove { file, day } in &plan.snapshots {
        files::archive(ledger, file, &day.to_string())?;
        days.insert(day.to_string());
    }
    files::sync(ledger, &days.into_iter().collect::<Vec<_>>())?;
    Ok(kept)
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

/// Deletes those archived files that still hold what was read, and passes on the path of each. The caller holds the lock,
/// but git and editors do not know it.
pub fn delete(ledger: &Ledger, files: Vec<DoomedFile>, mut pass_on: impl FnMut(PathBuf)) -> Result<()> {
    let mut days = BTreeSet::new();
    for DoomedFile { path, read } in files {
        let day = path.parent().map(file_name).unwrap_or_default();
        let name = file_name(&path);
        if hash_of(ledger, &format!("{ARCHIVE}/{day}"), &name)? == Some(read) {
            files::prune(ledger, &day, &name)?;
            pass_on(path);
        }
        days.insert(day);
    }
    days.iter().try_for_each(|day| files::remove_empty_day(ledger, day))
}

/// The hash of what a file holds now: of an event, or the content of a snapshot.
fn hash_of(ledger: &Ledger, dir: &str, name: &str) -> Result<Option<Digest>> {
    let Some((bytes, _)) = ledger.top.read_whole(&ledger.rel(&format!("{dir}/{name}"))?)? else { return Ok(None) };
    let mut records = RecordBuilder::default();
    Ok(match directory::content(OsStr::new(name), &bytes, &mut records) {
        EventFileContent::Event(range) => Some(Digest::of(EventRecord::part(&records.finish(), range).bytes())),
        EventFileContent::Snapshot(read) => read.ok().map(|snapshot| snapshot.content),
        EventFileContent::Malformed(_) => None,
    })
}
