//! The versions of files that have an id: what lost a conflict, what waits for a person, and what changes made. `show`,
//! `restore`, `undo`, `accept` and `reject` look here for what an id, or the beginning of one, names.

use std::collections::BTreeSet;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use super::overlay::Overlay;
use crate::conflict::{ConflictRecord, ConflictWinner};
use crate::store::LogRecord;
use crate::sync_action::SyncRule;
use crate::workspace::{HeldText, Workspace};

/// A version of a file.
#[derive(Clone, Debug)]
pub struct Version {
    pub id: String,
    pub path: RelPath,
    /// What `show` prints; `None` for a change that removed the file.
    text: Option<Digest>,
    pub origin: Origin,
}

/// Where a version comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// It lost a conflict.
    Decided(ConflictRecord),
    /// It waits in this workspace.
    Waiting(Digest, Box<HeldText>, ConflictRecord),
    /// A pass wrote it.
    Change(LogRecord),
}

impl Version {
    fn of_conflict(record: ConflictRecord) -> Version {
        let loser = if record.winner == ConflictWinner::Workspace { record.overlay } else { record.here };
        let (id, path) = (record.id.clone(), record.path.clone());
        Version { id, path, text: Some(loser), origin: Origin::Decided(record) }
    }

    fn of_change(record: LogRecord) -> Version {
        Version { id: record.id(), path: record.path.clone(), text: record.to, origin: Origin::Change(record) }
    }

    /// What is held, or what waits and why, as a conflict.
    pub fn conflict(&self) -> Option<&ConflictRecord> {
        match &self.origin {
            Origin::Decided(record) | Origin::Waiting(_, _, record) => Some(record),
            Origin::Change(_) => None,
        }
    }

    /// Why it waits, or what it is about.
    pub fn why(&self) -> String {
        self.conflict().map(|conflict| conflict.places.join(", ")).unwrap_or_default()
    }

    /// Whether both are one text, whatever their ids are.
    pub fn is_text_of(&self, other: &Version) -> bool {
        let waiting = |version: &Version| match &version.origin {
            Origin::Waiting(_, held, _) => Some(held.text),
            Origin::Decided(_) | Origin::Change(_) => None,
        };
        self.path == other.path && waiting(self) == waiting(other)
    }

    fn is_named(&self, id: &str) -> bool {
        !id.is_empty() && self.id.starts_with(id)
    }

    fn has(&self, text: &Digest) -> bool {
        match &self.origin {
            Origin::Decided(record) | Origin::Waiting(_, _, record) => record.texts().any(|other| other == *text),
            Origin::Change(record) => [record.from, record.to].contains(&Some(*text)),
        }
    }
}

/// What waits in these workspaces.
pub fn waiting(workspaces: &[Workspace]) -> Vec<Version> {
    let mut all = Vec::new();
    for workspace in workspaces {
        all.extend(workspace.held.iter().chain(&workspace.stale).map(|(path, held)| {
            let text = held.here.filter(|_| held.part || held.is_stale()).unwrap_or(held.text);
            let record = ConflictRecord::from_held(workspace, path, held);
            let (id, path, held) = (record.id.clone(), path.clone(), Box::new(held.clone()));
            Version { id, path, text: Some(text), origin: Origin::Waiting(workspace.id, held, record) }
        }));
    }
    all
}

/// What lost a conflict, oldest first, then what waits. What a `reject` recorded waits as long as its workspace could not
/// be written.
pub fn conflicts(overlay: &Overlay) -> Result<Vec<Version>> {
    let waiting = waiting(&Workspace::load_all(&overlay.store.workspaces())?);
    let mut all: Vec<Version> = overlay.store.conflicts()?.into_iter().map(Version::of_conflict).collect();
    all.retain(|decided| waiting.iter().all(|now| now.id != decided.id));
    all.extend(waiting);
    Ok(all)
}

/// What the log has, oldest first.
fn changes(overlay: &Overlay) -> Result<Vec<Version>> {
    let records = overlay.store.events(0)?.into_iter().filter_map(|(_, record)| record);
    Ok(records.map(Version::of_change).collect())
}

/// The one of these versions that an id names. Of several with one id the first one counts.
fn find(all: &[Version], id: &str) -> Result<Option<Version>> {
    let named: Vec<&Version> = all.iter().filter(|version| version.is_named(id)).collect();
    let is_one = named.windows(2).all(|pair| pair[0].id == pair[1].id);
    if is_one { Ok(named.first().map(|version| (*version).clone())) } else { Err(several(id)) }
}

/// What waits under an id.
pub fn find_waiting(workspaces: &[Workspace], id: &str) -> Result<Version> {
    find(&waiting(workspaces), id)?
        .ok_or_else(|| Failure::not_found(format!("nothing is held under `{id}`")).hint("see `overlay-sync conflicts`"))
}

/// The kept text that an id names, and the paths under which it is known.
pub fn find_text(overlay: &Overlay, id: &str) -> Result<(Vec<u8>, BTreeSet<RelPath>)> {
    let all = [conflicts(overlay)?, changes(overlay)?].concat();
    let objects = overlay.store.objects()?;
    let mut texts = objects.iter().filter(|digest| !id.is_empty() && digest.to_string().starts_with(id));
    let digest = match (find(&all, id)?, texts.next(), texts.next()) {
        (Some(version), None, _) => version.text,
        (None, text, None) => text.copied(),
        _ => return Err(several(id)),
    };
    let bytes = digest.map_or(Ok(None), |digest| overlay.store.content(&digest))?;
    let (Some(digest), Some(bytes)) = (digest, bytes) else {
        return Err(Failure::not_found(format!("nothing is kept under `{id}`"))
            .hint("see `overlay-sync conflicts` and `overlay-sync log --json`"));
    };
    let known = all.into_iter().filter(|version| version.is_named(id) || version.has(&digest));
    Ok((bytes, known.map(|version| version.path).collect()))
}

/// The change that an id names, or the last one that made a text.
pub fn find_change(overlay: &Overlay, id: &str) -> Result<LogRecord> {
    let all = changes(overlay)?;
    let is_made =
        |version: &&Version| version.text.is_some_and(|text| !id.is_empty() && text.to_string().starts_with(id));
    let mut made = all.iter().rev().filter(is_made);
    // Others got the text by pulls, which may bring several changes at once.
    let is_pull = |rule| matches!(rule, SyncRule::Pull | SyncRule::Propagate);
    let is_own = |version: &&Version| matches!(&version.origin, Origin::Change(record) if !is_pull(record.rule));
    let last = made.clone().find(is_own).or(made.next()).cloned();
    match find(&all, id)?.or(last) {
        Some(Version { origin: Origin::Change(record), .. }) => Ok(record),
        _ => Err(Failure::not_found(format!("no change has the id `{id}`")).hint("see `overlay-sync log`")),
    }
}

fn several(id: &str) -> Failure {
    Failure::usage(format!("`{id}` is the beginning of several ids")).hint("type more of the id")
}
