//! The session of a removed agent: its events go to another session.

use std::path::Path;

use shopfloor_core::error::Result;
use shopfloor_core::fs;

use super::directory::{Spool, Tombstone};
use super::publish::publish;
use crate::event::mark_forwarded;
use crate::identity::Agent;
use crate::json_file;

impl Spool {
    /// Forwards this session's events to `heir`: those that are not acknowledged now, and later ones as they arrive.
    /// Keeps the agent's identity where it is known. May be repeated after a kill.
    pub fn bury(&self, shared: &Path, heir: &str, agent: Option<&Agent>) -> Result<()> {
        // A session without events may get its first one from an agent that is still at work.
        self.create()?;
        {
            let _lock = self.lock()?;
            let kept = self.buried()?;
            let agent = agent.or(kept.as_ref()).and_then(|agent| serde_json::to_value(agent).ok());
            let tombstone = Tombstone { v: 1, forward_to: Some(heir.to_owned()), agent };
            json_file::save(&self.tombstone_file(), &tombstone)?;
        }
        // Repeated until nothing is left, because a waiter may give an event back meanwhile.
        loop {
            let mut any = false;
            for entry in self.entries()? {
                // An event of a later version stays.
                let Some(event) = self.read(&entry)? else { continue };
                let key = format!("forwarded:{}", event.uid());
                let mut record = event.0;
                mark_forwarded(&mut record, &self.session);
                publish(shared, heir, &[], record, Some(&key))?;
                fs::remove(&entry.path)?;
                any = true;
            }
            if !any {
                return Ok(());
            }
        }
    }

    /// Ends the forwarding, because a new agent of the same id was spawned.
    pub fn unbury(&self) -> Result<()> {
        fs::remove(&self.tombstone_file())
    }
}
