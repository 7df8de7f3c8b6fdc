//! What a contained agent reports: files in a directory that is its only way out. Each is a stranger's text.

use std::path::Path;

use super::{SPOOL, Sandbox};
use crate::env::Env;
use crate::error::{Failure, Result};
use crate::fs;
use crate::hash::Digest;

/// How many reports are looked at in one go, and how many an agent may leave: more are deleted unread.
const AT_ONCE: usize = 1_000;
const MOST: usize = 10_000;

/// How large a report may be.
const LARGEST: usize = 64 * 1024;

/// Leaves a report, from inside. Returns its id.
pub fn report(env: &Env, bytes: &[u8]) -> Result<String> {
    let spool = env.var(SPOOL).map(Path::new).ok_or_else(|| Failure::failed("this is no sandbox"))?;
    if bytes.len() > LARGEST {
        return Err(Failure::malformed(format!("a report from a sandbox has at most {LARGEST} bytes")));
    }
    let id = Digest::random().to_string()[..32].to_owned();
    fs::replace(&spool.join(format!("{id}.json")), bytes, None)?;
    Ok(id)
}

impl Sandbox {
    /// Takes the reports that are there, the oldest first.
    pub fn take_reports(&self) -> Vec<Vec<u8>> {
        let spool = self.spool();
        let is_report = |name: &str| {
            name.strip_suffix(".json").is_some_and(|id| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()))
        };
        let names = fs::list(&spool).unwrap_or_default();
        let is_flood = names.len() > MOST;
        let names = names.into_iter().filter(|name| is_flood || name.to_str().is_some_and(is_report));
        let mut found: Vec<_> = names.map(|name| spool.join(name)).map(|path| (fs::changed(&path), path)).collect();
        found.sort();
        let mut reports = Vec::new();
        for (n, (_, path)) in found.into_iter().enumerate() {
            let is_small = path.symlink_metadata().is_ok_and(|meta| meta.len() <= LARGEST as u64);
            let is_read = is_small && !is_flood && n < AT_ONCE;
            reports.extend(is_read.then(|| fs::read_no_follow(&path).ok().flatten()).flatten());
            if is_flood || n < AT_ONCE {
                // A directory of the agent's making stays, and is no report.
                let _ = fs::remove(&path);
            }
        }
        reports
    }
}
