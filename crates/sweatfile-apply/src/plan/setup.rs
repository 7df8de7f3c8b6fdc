//! Whether the setup commands run, and which tracked files hold them back.

use std::collections::BTreeMap;

use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::files;
use crate::facts::{Facts, SetupRequest, TrackedFile};
use crate::layer::MergedLayers;

#[derive(Debug, PartialEq, Eq)]
pub struct SetupPlan {
    pub commands: Vec<String>,
    /// Identifies the list of commands; recorded once they have run to their end.
    pub digest: Digest,
    pub run: SetupRun,
    /// The tracked files that hold the commands back: a branch brought them, and nobody approved them.
    pub held: Vec<HeldFile>,
    /// The true `[env]` values, which the commands see.
    pub env: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupRun {
    Now,
    /// `--setup-again`: even if they ran to their end before.
    Again,
    /// They ran to their end before.
    Finished,
    /// `--no-setup`.
    LeftOut,
    /// A person must read the held files first.
    Held,
}

/// A tracked file that setup commands would use, and that nobody vouches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldFile {
    pub path: RelPath,
    /// What a person reads and approves.
    pub shown: String,
}

pub fn plan(merged: &MergedLayers, facts: &Facts, request: SetupRequest, env: BTreeMap<String, String>) -> SetupPlan {
    let digest = merged.setup_digest();
    let held = held_files(merged, facts);
    // When a layer is left out, this list is incomplete: commands that ran before are not run again for it.
    let is_finished = facts.record.setup == Some(digest) || merged.left_out && facts.record.setup.is_some();
    let run = match request {
        SetupRequest::Skip => SetupRun::LeftOut,
        SetupRequest::IfNeeded if is_finished => SetupRun::Finished,
        _ if !held.is_empty() => SetupRun::Held,
        SetupRequest::IfNeeded => SetupRun::Now,
        SetupRequest::Again => SetupRun::Again,
    };
    SetupPlan { commands: merged.setup.clone(), digest, run, held, env }
}

/// The files that nobody approved and that differ from what the layers place there. The commands are trusted, but
/// a branch's files are not: `direnv allow` would let an `.envrc` run that nobody has read, and so would `./setup.sh`.
pub fn held_files(merged: &MergedLayers, facts: &Facts) -> Vec<HeldFile> {
    let is_placed = |path: &RelPath, tracked: &TrackedFile| {
        let desired = merged.files.get(path).and_then(|entry| files::desired_content(path, entry, facts));
        desired.is_some() && desired == tracked.content
    };
    let unread = facts.tracked.iter().filter(|(path, tracked)| !tracked.is_approved && !is_placed(path, tracked));
    unread.map(|(path, tracked)| HeldFile { path: path.clone(), shown: tracked.shown.clone() }).collect()
}
