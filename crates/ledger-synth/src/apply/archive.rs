//! Executes an archiving.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;

use super::files;
use crate::facts::{ARCHIVE, EVENTS, EventFileContent, Ledger, event_dir};
use crate::plan::archive::{ArchiveMove, ArchivePlan, DoomedFile, SnapshotPlan, file_name};

/// Writes the snapshot, then moves what it covers. Returns how many files stay, because they changed meanwhile. The caller
/// holds the lock.
pub fn archive(ledger: &Ledger, plan: &ArchivePlan) -> Result<usize> {
    if let Some(SnapshotPlan { name, text }) = &plan.snapshot {
        files::create_snapshot(ledger, name, text)?;
    }
    if plan.moves.is_empty() {
        return Ok(0);
    }
    let (mut days, mut kept) = (BTreeSet::new(), 0);
    for ArchiveMove { name, read, day } in &plan.moves {
        let day = day.to_string();
        // The snapshot does not cover what somebody wrote into the file in the meantime.
        if hash_of(ledger, EVENTS, name)? == Some(*read) {
            files::move_file(ledger, EVENTS, &format!("{ARCHIVE}/{day}"), name)?;
        } else {
            kept += 1;
        }
        days.insert(day);
    }
    days.iter().try_for_each(|day| ledger.top.sync(&ledger.rel(&format!("{ARCHIVE}/{day}"))?))?;
    ledger.top.sync(&ledger.rel(EVENTS)?)?;
    Ok(kept)
}

/// Deletes those archived files that still hold what was read, and passes on the path of each. The caller holds the lock,
/// but git and editors do not know it.
pub fn delete(ledger: &Ledger, files: Vec<DoomedFile>, mut pass_on: impl FnMut(PathBuf)) -> Result<()> {
    let mut days = BTreeSet::new();
    for (path, read) in files {
        let day = path.parent().map(file_name).unwrap_or_default();
        let name = file_name(&path);
        if hash_of(ledger, &format!("{ARCHIVE}/{day}"), &name)? == Some(read) {
            ledger.top.unlink(&ledger.rel(&format!("{ARCHIVE}/{day}/{name}"))?)?;
            pass_on(path);
        }
        days.insert(day);
    }
    days.iter().try_for_each(|day| files::remove_empty_day(ledger, day))
}

/// What a file holds now: the id of an event, or the content of a snapshot.
fn hash_of(ledger: &Ledger, dir: &str, name: &str) -> Result<Option<Digest>> {
    let Some((bytes, _)) = ledger.top.read_whole(&ledger.rel(&format!("{dir}/{name}"))?)? else { return Ok(None) };
    Ok(match event_dir::content(OsStr::new(name), &bytes) {
        EventFileContent::Event(record) => Some(record.id),
        EventFileContent::Snapshot(read) => read.ok().map(|snapshot| snapshot.content),
        EventFileContent::Malformed(_) | EventFileContent::Misnamed => None,
    })
}
