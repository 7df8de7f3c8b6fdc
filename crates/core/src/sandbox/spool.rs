//! What a contained agent reports: files in a directory that is its only way out. Each is a stranger's text.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

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

/// The keys of reports: those to an agent's parent, and those of its program's hooks.
pub const NOTIFY: &str = "notify";
/// See [`NOTIFY`].
pub const HOOK: &str = "hook";
const KEYS: [&str; 2] = [NOTIFY, HOOK];

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
    /// Takes the reports that are there and have this key, the oldest first. What has another key stays for whoever takes
    /// those, and what is no report goes.
    pub fn take_reports<T: DeserializeOwned>(&self, key: &str) -> Vec<T> {
        let spool = self.spool();
        let is_report = |name: &str| {
            name.strip_suffix(".json").is_some_and(|id| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()))
        };
        let names = fs::list(&spool).unwrap_or_default();
        let paths = names.into_iter().filter(|name| name.to_str().is_some_and(is_report)).map(|name| spool.join(name));
        let file = |path: PathBuf| Some((path.symlink_metadata().ok()?, path));
        // A directory is no report, and stays.
        let mut found: Vec<_> = paths.filter_map(file).filter(|(meta, _)| !meta.is_dir()).collect();
        found.sort_by_key(|(meta, path)| (meta.modified().ok(), path.clone()));
        let is_flood = found.len() > MOST;
        let mut reports = Vec::new();
        for (n, (meta, path)) in found.into_iter().enumerate() {
            let is_read = meta.len() <= LARGEST as u64 && !is_flood && n < AT_ONCE;
            let text = is_read.then(|| fs::read_no_follow(&path).ok().flatten()).flatten().unwrap_or_default();
            let object: Map<String, Value> = serde_json::from_slice(&text).unwrap_or_default();
            let is_others = KEYS.iter().any(|other| *other != key && object.contains_key(*other));
            if object.contains_key(key) {
                reports.extend(serde_json::from_value(object.into()).ok());
            }
            if is_flood || n < AT_ONCE && !is_others {
                let _ = fs::remove(&path);
            }
        }
        reports
    }
}
