//! Conflicts: what a rule decided, and what waits for a person.

use serde::{Deserialize, Serialize};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::manifest::{HeldText, StalePart, Workspace};
use crate::rule::SyncRule;

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
    /// The id of a conflict between these texts in a workspace, or (`None`) in the overlay alone. A run after a kill that
    /// decides again gives it the same one.
    pub fn id_of(of: Option<Digest>, path: &RelPath, base: Option<Digest>, overlay: Digest, here: Digest) -> String {
        let base = base.map(|base| base.to_string()).unwrap_or_default();
        let of = of.map(|of| of.to_string()).unwrap_or_default();
        let id = Digest::of(format!("{of}\0{path}\0{base}\0{overlay}\0{here}").as_bytes()).to_string();
        id[..12].to_owned()
    }

    /// A held text as a conflict. Nothing is decided yet, so its result is the base.
    pub fn from_held(workspace: &Workspace, path: &RelPath, held: &HeldText) -> ConflictRecord {
        let base = workspace.files.get(path).map(|base| base.sha256);
        ConflictRecord {
            overlay: held.overlay.or(base).unwrap_or(held.text),
            here: held.here.unwrap_or(held.text),
            result: base.unwrap_or(held.text),
            places: vec![held.why.clone()],
            ..ConflictRecord::waiting(workspace, path, held.id(path), &held.since, held.text)
        }
    }

    /// The difference of a text that was written from an old view.
    pub fn from_stale(workspace: &Workspace, path: &RelPath, part: &StalePart) -> ConflictRecord {
        ConflictRecord {
            here: part.here,
            places: part.places.clone(),
            ..ConflictRecord::waiting(workspace, path, part.id(path), &part.since, part.fresh)
        }
    }

    fn waiting(workspace: &Workspace, path: &RelPath, id: String, since: &str, text: Digest) -> ConflictRecord {
        ConflictRecord {
            v: 1,
            id,
            time: since.to_owned(),
            path: path.clone(),
            workspace: workspace.root.to_string_lossy().into_owned(),
            base: workspace.files.get(path).map(|base| base.sha256),
            overlay: text,
            here: text,
            result: text,
            rule: SyncRule::Hold,
            winner: ConflictWinner::Overlay,
            state: ConflictState::Held,
            places: Vec::new(),
        }
    }

    /// Whether this text is one of those it refers to.
    pub fn refers_to(&self, digest: &Digest) -> bool {
        [self.overlay, self.here, self.result].contains(digest) || self.base == Some(*digest)
    }
}
