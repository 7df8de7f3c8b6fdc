//! Taking an event out of a spool: for as long as the process lives, or until a lease ends.

use jiff::Timestamp;
use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::lock::Lock;

use super::directory::{Spool, SpoolEntry};
use crate::event::SpoolEvent;

/// An event that belongs to this process until the process ends or gives it back.
#[derive(Debug)]
pub struct Claim {
    pub spool: Spool,
    entry: SpoolEntry,
    pub event: SpoolEvent,
    _lock: Lock,
}

impl Spool {
    /// Claims an event; none if another process has it.
    pub fn claim(&self, entry: &SpoolEntry, now: Timestamp) -> Result<Option<Claim>> {
        if entry.lent.is_some_and(|until| until > now) {
            return Ok(None);
        }
        let Some(lock) = Lock::try_existing(&entry.path)? else { return Ok(None) };
        // The event may have been leased again since it was listed.
        let is_due = entry.lent.is_none() || fs::changed(&entry.path).is_some_and(|until| until <= now);
        let Some(event) = self.read(entry)?.filter(|_| is_due) else { return Ok(None) };
        let cur = self.dir.join("cur").join(format!("{:020}.json", entry.id));
        if entry.path != cur {
            fs::rename_over(&entry.path, &cur)?;
        }
        let entry = SpoolEntry { path: cur, lent: None, ..entry.clone() };
        Ok(Some(Claim { spool: self.clone(), entry, event, _lock: lock }))
    }
}

impl Claim {
    /// Acknowledges the event after it was delivered.
    pub fn acknowledge(self) -> Result<()> {
        self.spool.discard(&self.entry)
    }

    /// Gives the event back: the next process that asks gets it.
    pub fn give_back(self) -> Result<()> {
        let new = self.spool.dir.join("new").join(format!("{:020}.json", self.entry.id));
        fs::rename_new(&self.entry.path, &new).map(drop)
    }

    /// Leases the event after it was delivered: it is delivered again if nobody acknowledges it until then.
    pub fn lend(self, until: Timestamp) -> Result<()> {
        // An event that was forwarded meanwhile is delivered by the other session.
        if self.entry.path.symlink_metadata().is_err() {
            return Ok(());
        }
        fs::touch(&self.entry.path, until)?;
        fs::rename_over(&self.entry.path, &self.entry.path.with_extension("lent"))
    }
}
