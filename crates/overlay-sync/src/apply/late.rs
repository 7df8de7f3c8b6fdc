//! Late texts: a program that holds a file open while it is replaced goes on writing into the displaced file. What it
//! wrote is brought back into the workspace, where the next pass finds it as an edit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use shopfloor_core::error::Result;
use shopfloor_core::fs::{DisplacedFile, Root, Staging};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::conflict::{ConflictRecord, ConflictState, ConflictWinner};
use crate::ground::{Ground, LateText, ReadFile, Side};
use crate::manifest::Workspace;
use crate::merge::{FileType, MergeInput, MergedText, Rule, WHOLE, merge_growing};
use crate::rule::SyncRule;

/// Every displaced file of a workspace.
pub fn displaced(workspace: &Workspace, root: &Root) -> Result<Vec<DisplacedFile>> {
    let mut all = DisplacedFile::list(&workspace.staging())?;
    if Staging::is_beside(&workspace.staging(), root)? {
        let dir = |path: &RelPath| root.join(path).parent().map(Path::to_path_buf);
        let beside: BTreeSet<PathBuf> = known(workspace).filter_map(dir).collect();
        for dir in beside.iter().filter(|dir| dir.is_dir()) {
            all.extend(DisplacedFile::list(dir)?);
        }
    }
    Ok(all)
}

/// The path that a displaced file had; `None` when the workspace no longer knows it.
pub fn path(workspace: &Workspace, displaced: &DisplacedFile) -> Option<RelPath> {
    known(workspace).find(|path| displaced.was(path)).cloned()
}

fn known(workspace: &Workspace) -> impl Iterator<Item = &RelPath> {
    let past = workspace.deleted.keys().chain(workspace.retired.keys());
    workspace.files.keys().chain(past).chain(workspace.held.keys())
}

/// Brings a late text back. What conflicts with the present text, or has no file to go into, is recorded as a conflict.
/// Returns what a person should know.
pub fn take(ground: &impl Ground, now: &str, workspace: &Workspace, late: &LateText) -> Result<Option<String>> {
    let here = ground.keep(&late.bytes)?;
    let Some(path) = late.path.as_ref().filter(|_| here != late.before) else {
        ground.is_taken(late)?;
        return Ok(None);
    };
    let file = ground.read(Side::Here(workspace), path)?.ok().flatten();
    let base = ground.content(&late.before)?;
    let merged = file.as_ref().and_then(|file| merged(path, base.as_deref(), &file.bytes, &late.bytes));
    let note = match &merged {
        Some(merged) if merged.conflicts.is_empty() => None,
        _ => Some(record(ground, now, workspace, late, file.as_ref(), merged.as_ref())?),
    };
    if let Some((file, merged)) = file.zip(merged)
        && merged.bytes != *file.bytes
        && !ground.put(Side::Here(workspace), path, Some(ground.keep(&file.bytes)?), &merged.bytes, file.mode)?
    {
        // Somebody else was faster; the next pass takes it.
        return Ok(None);
    }
    ground.is_taken(late)?;
    Ok(note)
}

/// The present text with what the late one adds and changes; `None` when the late one may be half written. Lines that
/// both sides added are no conflict: programs write late into logs.
fn merged(path: &RelPath, base: Option<&[u8]>, present: &[u8], late: &[u8]) -> Option<MergedText> {
    let kind = FileType::from_path(path.as_path());
    let is_whole = !late.is_empty() && (kind.parses(late) || !base.is_some_and(|base| kind.parses(base)));
    let input = MergeInput { base, overlay: present, workspace: late, kind, rule: Rule::Overlay };
    is_whole.then(|| merge_growing(&input))
}

/// Records that the present text won over a late one. Returns that in words.
fn record(
    ground: &impl Ground,
    now: &str,
    workspace: &Workspace,
    late: &LateText,
    file: Option<&ReadFile>,
    merged: Option<&MergedText>,
) -> Result<String> {
    let root = workspace.root.to_string_lossy().into_owned();
    let Some(path) = late.path.clone() else { return Ok(root) };
    let overlay = file.map_or(Ok(late.before), |file| ground.keep(&file.bytes))?;
    let result = merged.map_or(Ok(overlay), |merged| ground.keep(&merged.bytes))?;
    let here = Digest::of(&late.bytes);
    let id = ConflictRecord::id_of(workspace, &path, Some(late.before), overlay, here);
    let places = merged.map_or_else(Vec::new, |merged| merged.conflicts.iter().map(|c| c.place.clone()).collect());
    let note = format!(
        "{root}: a program wrote {path} after the file was replaced, and not all of that fits the present text; `overlay-sync show {id}` prints it"
    );
    ground.record(&ConflictRecord {
        v: 1,
        id,
        time: now.to_owned(),
        path,
        workspace: root,
        base: Some(late.before),
        overlay,
        here,
        result,
        rule: SyncRule::LastWrite,
        winner: ConflictWinner::Overlay,
        state: ConflictState::Recorded,
        places: if places.is_empty() { vec![WHOLE.to_owned()] } else { places },
    })?;
    Ok(note)
}
