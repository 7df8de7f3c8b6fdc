//! What a run announces before it writes, and how the next run tells its writes from somebody's edits after a kill.

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::hash::Digest;

use super::workspace_plan::PlannedFile;
use crate::plan::Step;
use crate::storage::{Ground, ReadFile, Side};
use crate::store::PlannedWrite;
use crate::workspace::{BaseFile, Workspace};

/// What is about to be written to a file; `None` when nothing is.
pub fn planned_write(workspace: &Workspace, file: &PlannedFile) -> Option<PlannedWrite> {
    let Step::Write(write) = &file.decision.step else { return None };
    Some(PlannedWrite {
        v: 1,
        // Other workspaces do not hold this base, unless it comes from the overlay.
        workspace: (write.overlay.is_some() || write.here.is_none()).then_some(workspace.id),
        path: file.seen.path.clone(),
        overlay: after(write.overlay.as_ref(), file.seen.overlay.as_ref())?,
        here: after(write.here.as_ref(), file.seen.here.as_ref())?,
        base: Digest::of(&write.base),
        writes_here: write.here.is_some(),
        own: after(write.own.as_ref(), file.seen.here.as_ref()).filter(|own| Some(*own) != file.seen.base),
        read: (write.overlay.is_some() && write.here.is_some()).then(|| Digest::of(&write.read)),
    })
}

/// The text of a side that was written or given back, if there is one; otherwise what was read there.
pub fn after(written: Option<&Vec<u8>>, read: Option<&ReadFile>) -> Option<Digest> {
    written.map(|bytes| Digest::of(bytes)).or(read.map(|file| file.sha256))
}

/// Keeps every text that was read, so that it can be restored even when somebody overwrites it a moment later.
pub fn keep_read(ground: &impl Ground, files: &[PlannedFile]) -> Result<()> {
    for seen in files.iter().map(|file| &file.seen) {
        let sides = [&seen.here, &seen.overlay].into_iter().flatten();
        // The base was kept when it became one.
        for side in sides.filter(|side| Some(side.sha256) != seen.base) {
            ground.keep(&side.bytes)?;
        }
    }
    Ok(())
}

/// Tells what earlier runs wrote from what somebody changed since. A side that holds what such a run was writing holds
/// the common base, even though the manifest was not saved. Gives back the writes that concern workspaces which could
/// not be looked at.
pub fn heal(ground: &impl Ground, now: &str) -> Result<Vec<PlannedWrite>> {
    let announced = ground.announced()?;
    let mut left = Vec::new();
    for mut workspace in ground.workspaces()? {
        let before = workspace.clone();
        let id = workspace.id;
        let own = announced.iter().filter(|planned| planned.workspace.is_none_or(|of| of == id));
        let own: Vec<PlannedWrite> = own.cloned().collect();
        // A workspace that is away or cannot be read does not hold up the others. It is healed when it is back.
        if heal_one(ground, now, &mut workspace, &own).is_err() {
            left.extend(own.into_iter().map(|planned| PlannedWrite { workspace: Some(id), ..planned }));
        } else if workspace != before {
            ground.save(&workspace)?;
        }
    }
    Ok(left)
}

fn heal_one(ground: &impl Ground, now: &str, workspace: &mut Workspace, own: &[PlannedWrite]) -> Result<()> {
    if !ground.is_present(workspace)? {
        return Err(Failure::failed("it is not there"));
    }
    for planned in own {
        let path = &planned.path;
        let Ok(Some(here)) = ground.read(Side::Here(workspace), path)? else { continue };
        ground.keep(&here.bytes)?;
        // The overlay is written first, so a workspace that was written has the overlay's text.
        let overlay = ground.read(Side::Overlay, path)?.ok().flatten();
        overlay.as_ref().map(|overlay| ground.keep(&overlay.bytes)).transpose()?;
        let is_overlay_written = overlay.is_some_and(|file| file.sha256 == planned.overlay);
        // By chance somebody's edit may be the text that was to be written. It shows only that the run got there if the
        // run had nothing to write into the overlay before.
        let is_done = match planned.writes_here {
            true => here.sha256 == planned.here && (planned.workspace.is_none() || is_overlay_written),
            false => is_overlay_written,
        };
        let base = workspace.files.get(path).map(|base| base.sha256);
        if is_done {
            let before = planned.own.or(base).filter(|_| planned.writes_here);
            if let Some(before) = before.filter(|before| *before != here.sha256) {
                workspace.note_arrival(path, now, before, here.sha256);
            }
            workspace.set_base(path, BaseFile { sha256: planned.base, mode: here.mode });
        } else if let Some(sha256) = planned.read.filter(|_| is_overlay_written && base != Some(planned.base)) {
            workspace.note_read(path, BaseFile { sha256, mode: here.mode });
        }
    }
    Ok(())
}
