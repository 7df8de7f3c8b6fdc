//! What a pass sees of a workspace, and what it decides about each file.

use std::collections::{BTreeMap, BTreeSet};

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::apply::ground::{Bar, Ground, ReadFile, Side};
use crate::manifest::{BaseFile, Workspace};
use crate::merge::{FileType, is_binary};
use crate::plan::{Decision, Look, QuestionId, Step, decide};
use crate::settings::{Policy, Settings};
use crate::store::{Intent, RemovedEntries};

/// Beyond this a file is not shown to the merge command.
const ASK_LIMIT: usize = 100 * 1024;

/// What is known beside the two sides, for all workspaces of a run.
#[derive(Debug, Default)]
pub struct RunContext {
    pub intents: BTreeMap<(Digest, RelPath), (Intent, Vec<u8>)>,
    pub removed: RemovedEntries,
    /// Overlay texts of this run that follow from what a person let pass in a workspace.
    pub accepted: BTreeMap<RelPath, BTreeSet<Digest>>,
    /// The questions to which the merge command gave no answer that can be taken.
    pub refused: BTreeSet<QuestionId>,
}

impl RunContext {
    pub fn read(ground: &impl Ground) -> Result<RunContext> {
        let mut known = RunContext { removed: ground.removed()?, ..RunContext::default() };
        for intent in ground.intents()? {
            // One whose result was never kept has nothing to go on with.
            if let Some(result) = ground.content(&intent.result)? {
                known.intents.insert((intent.workspace, intent.path.clone()), (intent, result));
            }
        }
        Ok(known)
    }
}

/// One file of one workspace as a pass sees it.
#[derive(Clone, Debug)]
pub struct SeenFile {
    pub path: RelPath,
    pub base: Option<Digest>,
    pub overlay: Option<ReadFile>,
    pub here: Option<ReadFile>,
    pub decision: Decision,
    pub policy: Policy,
    /// Why nothing may be done here, whatever was decided.
    pub barred: Option<Bar>,
}

/// Which files are looked at.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'s> {
    /// Those that may have changed.
    News,
    /// All of them.
    All,
    /// These.
    Only(&'s BTreeSet<RelPath>),
}

/// Looks at the files of a workspace and decides about each.
pub fn look(
    ground: &impl Ground,
    settings: &Settings,
    known: &RunContext,
    overlay: &BTreeMap<RelPath, Option<Bar>>,
    workspace: &Workspace,
    scope: Scope<'_>,
) -> Result<Vec<SeenFile>> {
    let declared = ground.declared(workspace)?;
    let managed = overlay.keys().chain(workspace.files.keys()).chain(workspace.deleted.keys());
    let managed = managed.chain(workspace.held.keys()).chain(&declared);
    let paths: BTreeSet<RelPath> = match scope {
        Scope::All => managed.chain(workspace.retired.keys()).cloned().collect(),
        Scope::Only(these) => managed.filter(|path| these.contains(path)).cloned().collect(),
        Scope::News => {
            let quiet = ground.quiet(workspace)?;
            let waits = |path: &RelPath| workspace.held.contains_key(path) || workspace.deleted.contains_key(path);
            managed.filter(|path| !quiet.contains(path) || waits(path)).cloned().collect()
        }
    };
    let mut all = Vec::new();
    for path in paths {
        let mut seen = see(ground, settings, known, workspace, &path, declared.contains(&path), |path| {
            overlay.get(path).cloned().flatten()
        })?;
        if seen.decision.step == Step::Nothing
            && let (Some(_), Some(_), Some(_)) = (workspace.files.get(&path), &seen.overlay, &seen.here)
        {
            ground.is_quiet_now(workspace, &path);
        }
        if seen.barred.is_some() {
            seen.decision = Decision { step: Step::Nothing, part: None };
        }
        all.push(seen);
    }
    let touched = |seen: &&SeenFile| {
        let idle = seen.decision.step == Step::Nothing && seen.decision.part.is_none();
        seen.barred.is_none() && (matches!(scope, Scope::All) || !idle)
    };
    let asked: BTreeSet<RelPath> = all.iter().filter(touched).map(|seen| seen.path.clone()).collect();
    let mut barred = ground.barred(workspace, &asked)?;
    for seen in &mut all {
        if let Some(bar) = barred.remove(&seen.path) {
            seen.barred = Some(bar);
            seen.decision = Decision { step: Step::Nothing, part: None };
        }
    }
    Ok(all)
}

fn see(
    ground: &impl Ground,
    settings: &Settings,
    known: &RunContext,
    workspace: &Workspace,
    path: &RelPath,
    is_declared: bool,
    odd: impl Fn(&RelPath) -> Option<Bar>,
) -> Result<SeenFile> {
    // A file that was deleted here and is back (an editor that saves so) still has its past.
    let past = || workspace.deleted.get(path).or(workspace.retired.get(path)).copied();
    let mut base = workspace.files.get(path).map(|base: &BaseFile| base.sha256).or_else(past);
    let policy = settings.policy(path);
    let nothing = Decision { step: Step::Nothing, part: None };
    let mut seen =
        SeenFile { path: path.clone(), base, overlay: None, here: None, decision: nothing, policy, barred: odd(path) };
    if seen.barred.is_some() {
        return Ok(seen);
    }
    let mut read = |side| {
        ground.read(side, path).map(|found| {
            found.unwrap_or_else(|bar| {
                seen.barred = Some(bar);
                None
            })
        })
    };
    let (here, theirs) = (read(Side::Here(workspace))?, read(Side::Overlay)?);
    if seen.barred.is_some() {
        return Ok(seen);
    }
    // Filled again after it was gone: somebody may still write from what was there before.
    if let (Some(old), Some(filled), Some(file)) = (workspace.refilled.get(path), base, &here)
        && file.sha256 != filled
        && theirs.as_ref().is_none_or(|theirs| theirs.sha256 != file.sha256)
        && is_stale(FileType::from_path(path.as_path()), ground.content(old)?, ground.content(&filled)?, &file.bytes)
    {
        base = Some(*old);
        seen.base = base;
    }
    let is = |side: &Option<ReadFile>| side.as_ref().is_some_and(|file| Some(file.sha256) == base);
    let base_bytes = match base {
        // Read only where the two sides differ from it.
        Some(digest) if !(is(&theirs) && is(&here)) => ground.content(&digest)?,
        _ => None,
    };
    let empty = BTreeSet::new();
    let words = [workspace.accepted.get(path), known.accepted.get(path)];
    let accepted: BTreeSet<Digest> = words.into_iter().flatten().flatten().copied().collect();
    let sides = [&theirs, &here];
    let is_shown = settings.merge_command.is_some()
        && sides.iter().all(|side| side.as_ref().is_some_and(|file| may_be_shown(path, file, seen.policy.is_sent)));
    // What waits for a person was asked about before it did.
    let digest = |side: &Option<ReadFile>| side.as_ref().map(|file| file.sha256);
    let was_asked =
        workspace.held.get(path).is_some_and(|held| (held.here, held.overlay) == (digest(&here), digest(&theirs)));
    let intent = known.intents.get(&(workspace.id, path.clone()));
    let is_removed = known.removed.files.contains(path);
    seen.decision = decide(&Look {
        base: base.map(|digest| (digest, base_bytes.as_deref())),
        overlay: theirs.as_ref().map(|file| &*file.bytes),
        here: here.as_ref().map(|file| &*file.bytes),
        accepted: &accepted,
        deleted: workspace.deleted.get(path).copied(),
        kind: FileType::from_path(path.as_path()),
        policy: &seen.policy,
        removed: known.removed.entries.get(path).unwrap_or(&empty),
        is_declared: is_declared && !is_removed,
        is_retired: workspace.retired.contains_key(path),
        command: (is_shown && !was_asked).then_some(&known.refused),
        intent: intent.map(|(intent, result)| (intent, result.as_slice())),
    });
    (seen.overlay, seen.here) = (theirs, here);
    Ok(seen)
}

/// Whether a text was written from the old one, and not from that by which the file was filled again: it has nothing of
/// what that added, or something of what it took away.
fn is_stale(kind: FileType, old: Option<Vec<u8>>, filled: Option<Vec<u8>>, here: &[u8]) -> bool {
    let leaves = |bytes: &[u8]| kind.leaves(bytes).map(BTreeSet::from_iter);
    let (Some(old), Some(filled)) = (old, filled) else { return false };
    let (Some(old), Some(filled), Some(here)) = (leaves(&old), leaves(&filled), leaves(here)) else { return true };
    let has = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).any(|leaf| here.contains(leaf));
    let adds_nothing = filled.is_subset(&old);
    !has(&filled, &old) && (!adds_nothing || has(&old, &filled))
}

/// Whether a program outside may see a file: it is text of a bearable size and no secret, or a person said
/// that it may.
fn may_be_shown(path: &RelPath, file: &ReadFile, is_sent: bool) -> bool {
    let bytes = &file.bytes;
    let is_text = !is_binary(bytes) && bytes.len() <= ASK_LIMIT && std::str::from_utf8(bytes).is_ok();
    let name = path.name().to_string_lossy().to_lowercase();
    let is_key =
        [".pem", ".key", ".p12", ".pfx", ".env"].iter().any(|end| name.ends_with(end)) || name.starts_with("id_");
    let is_secret = name.starts_with(".env") || name.starts_with(".sweatshop-env") || is_key || file.mode & 0o077 == 0;
    is_text && (is_sent || !is_secret)
}

/// Whether everything a workspace had is gone at once: a clean-up, not a decision about each file.
pub fn is_emptied(workspace: &Workspace, seen: &[SeenFile]) -> bool {
    let of = |path: &RelPath| seen.iter().find(|s| s.path == *path);
    let is_gone = |s: &&SeenFile| s.barred.is_none() && s.here.is_none();
    let gone = workspace.files.keys().filter_map(of).filter(is_gone).count();
    let barred = workspace.files.keys().filter_map(of).filter(|s| s.barred.is_some()).count();
    let back = workspace.deleted.keys().filter_map(of).any(|s| s.here.is_some());
    workspace.files.len() >= 2 && gone >= 1 && gone + barred == workspace.files.len() && !back
}
