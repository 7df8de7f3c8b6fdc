//! Executes an archiving.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;

use super::files;
use crate::facts::directory::{self, EventFileContent};
use crate::facts::{EVENTS, Ledger};
use crate::plan::archive::{ArchiveMove, ArchivePlan};

/// Writes the snapshot, then moves what it covers. The caller holds the lock.
pub fn archive(ledger: &Ledger, plan: &ArchivePlan) -> Result<()> {
    if plan.moves.is_empty() && plan.snapshot.is_none() {
        return Ok(());
    }
    if let Some((name, text)) = &plan.snapshot {
        files::create_snapshot(ledger, name, text)?;
    }
    for ArchiveMove { name, day, id } in &plan.moves {
        // The snapshot does not cover what somebody wrote into the file in the meantime.
        if id.is_some() && id_of(ledger, name)? != *id {
            continue;
        }
        files::archive(ledger, name, day)?;
    }
    let days: BTreeSet<String> = plan.moves.iter().map(|m| m.day.clone()).collect();
    files::sync(ledger, &days.into_iter().collect::<Vec<_>>())
}

/// The event that a file of `events/` holds now.
fn id_of(ledger: &Ledger, name: &str) -> Result<Option<Digest>> {
    let Some((bytes, _)) = ledger.top.read_whole(&ledger.rel(&format!("{EVENTS}/{name}"))?)? else { return Ok(None) };
    Ok(match directory::content(OsStr::new(name), &bytes) {
        EventFileContent::Event(record) => Some(record.id),
        _ => None,
    })
}
