//! Edits that a person asks for: texts that are added, replaced, given back or restored.

use std::path::Path;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs::{Root, Staging};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;

use crate::facts::file_view::SeenFile;
use crate::failure;
use crate::storage::{Ground, ReadFile, Side};
use crate::workspace::{BaseFile, Workspace};

/// The overlay's file at a path; exit 1 when there is none.
pub fn require_in_overlay(ground: &dyn Ground, path: &RelPath) -> Result<ReadFile> {
    let missing = || Failure::not_found(format!("there is no file {path} in the overlay"));
    ground.read(Side::Overlay, path)?.ok().flatten().ok_or_else(|| missing().hint("see `overlay-sync status`"))
}

/// Replaces the overlay's text of a file; exit 1 when somebody changed it meanwhile.
pub fn edit(ground: &impl Ground, path: &RelPath, file: &ReadFile, bytes: &[u8]) -> Result<()> {
    ground.keep(&file.bytes)?;
    ground.keep(bytes)?;
    if !ground.put(Side::Overlay, path, Some(file.sha256), bytes, file.mode)? {
        let changed = format!("{path} in the overlay was changed by somebody else just now");
        return Err(failure::CHANGED.failure(changed).hint("run the same command again"));
    }
    Ok(())
}

/// A person asked for this text, so no gate holds it in whatever workspace it turns up.
pub fn accept_in_all(ground: &impl Ground, workspaces: &mut [Workspace], path: &RelPath, text: Digest) -> Result<()> {
    for workspace in workspaces {
        workspace.accepted.entry(path.clone()).or_default().insert(text);
        ground.save(workspace)?;
    }
    Ok(())
}

/// Gives a workspace `text`, made from the overlay's, instead of its own that is held, which is kept; `false` when the
/// workspace's text has changed.
pub fn take_back(
    ground: &impl Ground,
    now: &str,
    workspace: &mut Workspace,
    seen: &SeenFile,
    text: &[u8],
) -> Result<bool> {
    let (Some(here), Some(overlay)) = (&seen.here, &seen.overlay) else { return Ok(false) };
    ground.keep(&here.bytes)?;
    let mode = narrowed(Some(here.mode), Some(overlay.mode));
    if !ground.put(Side::Here(workspace), &seen.path, Some(here.sha256), text, mode)? {
        return Ok(false);
    }
    let sha256 = ground.keep(&overlay.bytes)?;
    // Its program may still write from the text that was there before it was held, or from the base.
    let own = seen.base.unwrap_or(here.sha256);
    workspace.note_arrival(&seen.path, now, own, ground.keep(text)?);
    workspace.set_base(&seen.path, BaseFile { sha256, mode });
    workspace.held.remove(&seen.path);
    Ok(true)
}

/// Puts a text back into a workspace and keeps the one that is there; `false` when that is no file, or has changed.
pub fn put_back(ground: &impl Ground, workspace: &Workspace, path: &RelPath, bytes: &[u8]) -> Result<bool> {
    let Ok(here) = ground.read(Side::Here(workspace), path)? else { return Ok(false) };
    let (expected, mode) = match &here {
        Some(file) => (Some(ground.keep(&file.bytes)?), file.mode),
        None => (None, 0o600),
    };
    Ok(expected == Some(Digest::of(bytes)) || ground.put(Side::Here(workspace), path, expected, bytes, mode)?)
}

/// Writes a text to a new file; `false` when there is one already.
pub fn restore_to(staging: &Path, root: &Root, path: &RelPath, bytes: &[u8]) -> Result<bool> {
    let staging = Staging::open(staging, root)?;
    staging.file(root, path, bytes, Some(0o600))?.place(root, path)
}

/// Forgets that a file's texts were accepted, in every workspace that was looked at since: later the same text has to
/// be accepted again.
pub fn forget_accepted(ground: &impl Ground, path: &RelPath) -> Result<()> {
    for mut workspace in ground.workspaces()? {
        let Some(accepted) = workspace.accepted.get(path) else { continue };
        // A second part may still wait there and be accepted next. What waits although it was accepted could not be written.
        let waits = workspace.held.get(path).is_some_and(|held| !accepted.contains(&held.text));
        if !waits && ground.is_present(&workspace).unwrap_or(false) {
            workspace.accepted.remove(path);
            ground.save(&workspace)?;
        }
    }
    Ok(())
}

/// The mode with which a file is written. A new file gets the permissions of the source. An existing file keeps its own
/// permissions, except those of the group and of others that the source does not have. The result never has the setuid
/// bit, and an existing file never gets more permissions.
pub fn narrowed(own: Option<u32>, source: Option<u32>) -> u32 {
    let source = source.unwrap_or(0o600) & 0o777;
    own.map_or(source, |own| own & 0o777 & (source | 0o700))
}
