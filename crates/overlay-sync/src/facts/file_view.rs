//! What a pass reads of a workspace: for each file both sides, the base, and how it is handled.

use std::collections::{BTreeMap, BTreeSet};

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::merge::{Arrival, FileType, is_binary};
use crate::settings::{Policy, Settings, looks_private};
use crate::storage::{Ground, LeftAlone, ReadFile, Side};
use crate::workspace::Workspace;

/// A larger file is not shown to the merge command.
const ASK_LIMIT: usize = 100 * 1024;

/// One file of one workspace as it was read.
#[derive(Clone, Debug)]
pub struct SeenFile {
    pub path: RelPath,
    /// The content both sides held last.
    pub base: Option<Digest>,
    /// Its bytes; read only where a side differs from it, and `None` too when the store has lost them.
    pub base_bytes: Option<Vec<u8>>,
    pub overlay: Option<ReadFile>,
    pub here: Option<ReadFile>,
    /// What arrived here; read only where the text was edited.
    pub arrivals: Vec<Arrival>,
    pub policy: Policy,
    /// Whether the merge command may be asked about it.
    pub may_ask: bool,
    /// Why nothing may be done about it.
    pub left_alone: Option<LeftAlone>,
}

/// Which files are looked at.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'s> {
    /// Those that may have changed.
    Changed,
    /// All of them.
    All,
    /// These.
    Only(&'s BTreeSet<RelPath>),
}

impl Scope<'_> {
    /// Whether this file is looked at if it has changed.
    pub fn covers(&self, path: &RelPath) -> bool {
        match self {
            Scope::Changed | Scope::All => true,
            Scope::Only(these) => these.contains(path),
        }
    }
}

/// The files of a workspace within a scope. `overlay` lists the overlay's files, `declared` those that the workspace
/// may bring into it.
pub fn paths(
    ground: &impl Ground,
    overlay: &BTreeMap<RelPath, Option<LeftAlone>>,
    workspace: &Workspace,
    declared: &BTreeSet<RelPath>,
    scope: Scope<'_>,
) -> Result<BTreeSet<RelPath>> {
    let waits = workspace.deleted.keys().chain(workspace.held.keys());
    let offered = overlay.keys().chain(declared);
    if matches!(scope, Scope::Changed) {
        let new = offered.filter(|path| !workspace.files.contains_key(path));
        return Ok(new.chain(waits).cloned().chain(ground.changed_files(workspace)?).collect());
    }
    let all = offered.chain(waits).chain(workspace.files.keys()).chain(workspace.retired.keys());
    Ok(all.filter(|path| scope.covers(path)).cloned().collect())
}

/// Reads a file on both sides. `left_alone` says why the overlay's file is left alone, if it is.
pub fn read(
    ground: &impl Ground,
    settings: &Settings,
    workspace: &Workspace,
    path: &RelPath,
    left_alone: Option<LeftAlone>,
) -> Result<SeenFile> {
    // A file that was deleted here and is back (some editors save that way) still has a base.
    let past = || workspace.deleted.get(path).or(workspace.retired.get(path)).copied();
    let mut seen = SeenFile {
        path: path.clone(),
        base: workspace.files.get(path).map(|base| base.sha256).or_else(past),
        base_bytes: None,
        overlay: None,
        here: None,
        arrivals: Vec::new(),
        policy: settings.policy(path, workspace.far.is_some()),
        may_ask: false,
        left_alone,
    };
    if seen.left_alone.is_some() {
        return Ok(seen);
    }
    match (ground.read(Side::Here(workspace), path)?, ground.read(Side::Overlay, path)?) {
        (Ok(here), Ok(overlay)) => (seen.here, seen.overlay) = (here, overlay),
        (_, Err(why)) | (Err(why), _) => {
            seen.left_alone = Some(why);
            return Ok(seen);
        }
    }
    seen.base = stale_base(ground, workspace, &seen)?.or(seen.base);
    seen.policy.mode = [&seen.here, &seen.overlay].into_iter().flatten().fold(0, |mode, file| mode | file.mode);
    let [here, overlay] = [&seen.here, &seen.overlay].map(|side| side.as_ref().map(|file| file.sha256));
    seen.base_bytes = match seen.base {
        Some(base) if overlay != Some(base) || here != Some(base) => ground.content(&base)?,
        _ => None,
    };
    let sides = [&seen.here, &seen.overlay].into_iter().flatten().map(|file| &*file.bytes);
    seen.policy.keep_agents_server(path, sides.chain(seen.base_bytes.as_deref()));
    let is_known = overlay.is_some() || seen.base.is_some();
    if is_known && here.is_some() && here != seen.base && here != overlay {
        // As far as the store still has them.
        for arrived in workspace.arrived.get(path).into_iter().flatten() {
            seen.arrivals.extend(ground.content(&arrived.before)?.zip(ground.content(&arrived.after)?));
        }
    }
    let may_be_shown = settings.merge_command.is_some()
        && [&seen.overlay, &seen.here]
            .iter()
            .all(|side| side.as_ref().is_some_and(|file| may_be_shown(path, file, seen.policy.is_sent)));
    // The merge command was asked about these very texts before they were held.
    let was_asked = workspace.held.get(path).is_some_and(|held| (held.here, held.overlay) == (here, overlay));
    seen.may_ask = may_be_shown && !was_asked;
    Ok(seen)
}

/// The base from before a file was gone and filled again, where the workspace's text was written from that one: some
/// program still knows only the old text.
fn stale_base(ground: &impl Ground, workspace: &Workspace, seen: &SeenFile) -> Result<Option<Digest>> {
    let (Some(old), Some(filled), Some(here)) = (workspace.refilled.get(&seen.path), seen.base, &seen.here) else {
        return Ok(None);
    };
    if here.sha256 == filled || seen.overlay.as_ref().is_some_and(|overlay| overlay.sha256 == here.sha256) {
        return Ok(None);
    }
    let kind = FileType::from_path(seen.path.as_path());
    let is_stale = is_stale(kind, ground.content(old)?, ground.content(&filled)?, &here.bytes);
    Ok(is_stale.then_some(*old))
}

/// Whether a text was written from `old` rather than from `filled`: it has nothing that `filled` added, or something
/// that `filled` removed.
fn is_stale(kind: FileType, old: Option<Vec<u8>>, filled: Option<Vec<u8>>, here: &[u8]) -> bool {
    let leaves = |bytes: &[u8]| kind.leaves(bytes).map(BTreeSet::from_iter);
    let (Some(old), Some(filled)) = (old, filled) else { return false };
    let (Some(old), Some(filled), Some(here)) = (leaves(&old), leaves(&filled), leaves(here)) else { return true };
    let has = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).any(|leaf| here.contains(leaf));
    let adds_nothing = filled.is_subset(&old);
    !has(&filled, &old) && (!adds_nothing || has(&old, &filled))
}

/// Whether the merge command may see a file: it is text of a moderate size, and either no secret or allowed by a
/// person.
fn may_be_shown(path: &RelPath, file: &ReadFile, is_sent: bool) -> bool {
    let bytes = &file.bytes;
    let is_text = !is_binary(bytes) && bytes.len() <= ASK_LIMIT && std::str::from_utf8(bytes).is_ok();
    let is_secret = looks_private(path) || file.mode & 0o077 == 0;
    is_text && (is_sent || !is_secret)
}
