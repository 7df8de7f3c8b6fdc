//! The fingerprint of a ledger that is in order, in git's private directory: while it is the same, a run has nothing
//! to do. One that is damaged or of another version is ignored, which costs time only.

use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::fs;
use shopfloor_core::hash::{Digest, DigestBuilder};

use super::event_dir::is_looked_at;
use super::{CURRENT, EVENTS, Ledger};

/// The names and times of a ledger's files, and what else decides the text of its page.
#[derive(PartialEq, Eq)]
pub struct Fingerprint {
    /// Where it is remembered.
    file: PathBuf,
    digest: Digest,
}

impl Fingerprint {
    /// None while a file may change without a new time, or if there is no page.
    pub fn of(ledger: &Ledger, has_stamp: bool) -> Result<Option<Fingerprint>> {
        let cache = ledger.state().join("cache");
        let (Some(dir), Ok(since)) = (ledger.open(EVENTS)?, fs::clock(&cache)) else { return Ok(None) };
        let page = ledger.top.stats(std::iter::once(&ledger.rel(CURRENT)?)).unwrap_or_default();
        let [Some(page)] = page[..] else { return Ok(None) };
        let names = dir.names(is_looked_at)?;
        // The directory itself changes whenever a name in it does.
        let mut stats = vec![page, dir.stat()?];
        for stat in dir.stats_of(&names)? {
            let Some(stat) = stat else { return Ok(None) };
            stats.push(stat);
        }
        if !stats.iter().all(|stat| stat.is_settled(since)) {
            return Ok(None);
        }
        let mut digest = DigestBuilder::default();
        let version = env!("CARGO_PKG_VERSION");
        digest.add(
            format!("{version} {:?} {:?} {has_stamp} {}\0", ledger.page, ledger.settings.root, names.len()).as_bytes(),
        );
        for name in &names {
            digest.add(name.as_encoded_bytes());
            digest.add(b"\0");
        }
        stats.iter().for_each(|stat| digest.add(&stat.key()));
        Ok(Some(Fingerprint { file: cache.join(format!("{}.in-order", ledger.word())), digest: digest.finish() }))
    }

    /// How many events there were when the ledger with this fingerprint was in order.
    pub fn known_count(&self) -> Option<usize> {
        let known = String::from_utf8(fs::read_no_follow(&self.file).ok()??).ok()?;
        known.strip_prefix(&format!("{} ", self.digest))?.trim_end().parse().ok()
    }

    /// Remembers that the ledger is in order. If it cannot be written, the next run only takes longer.
    pub fn remember(&self, count: usize) {
        let text = format!("{} {count}\n", self.digest);
        let dir = self.file.parent().unwrap_or(&self.file);
        drop(fs::create_private_dir(dir).and_then(|()| fs::replace(&self.file, text.as_bytes(), Some(0o600))));
    }
}
