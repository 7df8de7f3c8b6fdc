//! What an id, or the beginning of one, names: what waits, a conflict, or any text in the store.

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::overlay::Overlay;
use crate::conflict::ConflictWinner;
use crate::manifest::{HeldText, StalePart, Workspace};

/// What waits for a person's word.
#[derive(Clone, Debug)]
pub enum Waiting {
    /// A text, or a part of one, that is held.
    Held(HeldText),
    /// What a text that was written from an old view would have changed.
    Stale(StalePart),
}

impl Waiting {
    pub fn id(&self, path: &RelPath) -> String {
        match self {
            Waiting::Held(held) => held.id(path),
            Waiting::Stale(part) => part.id(path),
        }
    }

    pub fn why(&self) -> String {
        match self {
            Waiting::Held(held) => held.why.clone(),
            Waiting::Stale(part) => part.places.join(", "),
        }
    }
}

/// What an id names, its path and its workspace.
pub fn find_waiting(workspaces: &[Workspace], id: &str) -> Result<(Digest, RelPath, Waiting)> {
    let all = workspaces.iter().flat_map(|w| {
        let held = w.held.iter().map(|(path, held)| (w.id, path.clone(), Waiting::Held(held.clone())));
        held.chain(w.stale.iter().map(|(path, part)| (w.id, path.clone(), Waiting::Stale(part.clone()))))
    });
    let named: Vec<_> = all.filter(|(_, path, it)| !id.is_empty() && it.id(path).starts_with(id)).collect();
    match named.as_slice() {
        [] => Err(Failure::not_found(format!("nothing is held under `{id}`")).hint("see `overlay-sync conflicts`")),
        [first, others @ ..] if others.iter().all(|(_, path, it)| it.id(path) == first.2.id(&first.1)) => {
            Ok(first.clone())
        }
        _ => Err(several(id)),
    }
}

/// The kept text that an id names; of a conflict the side that lost.
pub fn content(overlay: &Overlay, id: &str) -> Result<Vec<u8>> {
    let unknown = || {
        Failure::not_found(format!("nothing is kept under `{id}`"))
            .hint("see `overlay-sync conflicts` and `overlay-sync log --json`")
    };
    let workspaces = Workspace::load_all(&overlay.store.workspaces())?;
    if let Ok((_, _, waiting)) = find_waiting(&workspaces, id) {
        let text = match waiting {
            Waiting::Held(held) => held.here.filter(|_| held.part).unwrap_or(held.text),
            Waiting::Stale(part) => part.here,
        };
        return overlay.store.content(&text)?.ok_or_else(unknown);
    }
    let is_named = |full: &str| !id.is_empty() && full.starts_with(id);
    let conflicts: Vec<_> = overlay.store.conflicts()?.into_iter().filter(|c| is_named(&c.id)).collect();
    let digest = match conflicts.as_slice() {
        [conflict] if conflict.winner == ConflictWinner::Workspace => conflict.overlay,
        [conflict] => conflict.here,
        [] => {
            let objects = overlay.store.objects()?;
            let named: Vec<&Digest> = objects.iter().filter(|digest| is_named(&digest.to_string())).collect();
            match named.as_slice() {
                [digest] => **digest,
                [] => return Err(unknown()),
                _ => return Err(several(id)),
            }
        }
        _ => return Err(several(id)),
    };
    overlay.store.content(&digest)?.ok_or_else(unknown)
}

fn several(id: &str) -> Failure {
    Failure::usage(format!("`{id}` is the beginning of several ids")).hint("type more of the id")
}
