//! Conflicts: what a rule decided, and what waits for a person.

use std::path::Path;

use serde::{Deserialize, Serialize};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::sync_action::SyncRule;
use crate::workspace::{HeldText, ID, Workspace};

/// A conflict and how it was decided. The texts are named by their digests; all of them are in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictRecord {
    pub v: u32,
    pub id: String,
    pub time: String,
    pub path: RelPath,
    pub workspace: String,
    pub base: Option<Digest>,
    pub overlay: Digest,
    pub here: Digest,
    pub result: Digest,
    pub rule: SyncRule,
    pub winner: ConflictWinner,
    pub state: ConflictState,
    /// The key paths, variables or lines that both sides changed.
    pub places: Vec<String>,
}

/// Whose side of a conflict was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictWinner {
    Workspace,
    Overlay,
}

/// What became of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictState {
    /// The rule decided it.
    Recorded,
    /// It waits for a person.
    Held,
}

impl ConflictRecord {
    /// A conflict between these texts in a workspace, or (`None`) in the overlay alone, before anything is decided: a
    /// run after a kill that decides again gives it the same id.
    pub fn between(
        of: Option<Digest>,
        root: &Path,
        path: &RelPath,
        (base, overlay, here): (Option<Digest>, Digest, Digest),
        time: &str,
    ) -> ConflictRecord {
        let spelled = |digest: Option<Digest>| digest.map(|digest| digest.to_string()).unwrap_or_default();
        let (of, spelled_base) = (spelled(of), spelled(base));
        let id = Digest::of(format!("{of}\0{path}\0{spelled_base}\0{overlay}\0{here}").as_bytes()).to_string();
        ConflictRecord {
            v: 1,
            id: id[..ID].to_owned(),
            time: time.to_owned(),
            path: path.clone(),
            workspace: root.to_string_lossy().into_owned(),
            base,
            overlay,
            here,
            result: overlay,
            rule: SyncRule::LastWrite,
            winner: ConflictWinner::Overlay,
            state: ConflictState::Recorded,
            places: Vec::new(),
        }
    }

    /// What waits as a conflict. Nothing is decided yet, so its result is the base, or what stands in place of a text that
    /// was written from an old view.
    pub fn from_held(workspace: &Workspace, path: &RelPath, held: &HeldText) -> ConflictRecord {
        let base = workspace.files.get(path).map(|base| base.sha256);
        let overlay = held.overlay.or(base).unwrap_or(held.text);
        let texts = (base, overlay, held.here.unwrap_or(held.text));
        ConflictRecord {
            id: held.id(path),
            result: if held.is_stale() { overlay } else { base.unwrap_or(held.text) },
            rule: SyncRule::Hold,
            state: ConflictState::Held,
            places: if held.is_stale() { held.places.clone() } else { vec![held.why.clone()] },
            ..ConflictRecord::between(None, &workspace.root, path, texts, &held.since)
        }
    }

    /// The texts that it refers to.
    pub fn texts(&self) -> impl Iterator<Item = Digest> {
        [self.overlay, self.here, self.result].into_iter().chain(self.base)
    }
}
