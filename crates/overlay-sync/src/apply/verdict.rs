//! A person's word on a held text: it spreads as it is, or the workspace gets the overlay's text back.

use std::collections::BTreeSet;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::time::render;
use shopfloor_core::ui::Ui;

use super::disk_storage::Disk;
use super::far_side::reach;
use super::outdated_edits;
use super::user_edits::{accept_in_all, forget_accepted, take_back};
use super::workspace_plan::{PlannedFile, RunContext, plan_files};
use crate::conflict::{ConflictRecord, ConflictState};
use crate::facts::file_view::Scope;
use crate::facts::overlay::Overlay;
use crate::facts::versions::{Origin, Version, find_waiting};
use crate::failure;
use crate::merge::{FileType, donate, strip};
use crate::storage::Ground;
use crate::workspace::{HeldText, Workspace};

/// What a person says of a held text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It spreads as it is.
    Accept,
    /// The workspace gets the overlay's text; its own stays in the store.
    Reject,
}

/// Carries out a verdict on what a person has seen, and syncs. Prints what the syncs before and after it did. Returns the
/// exit code of the command, and whether nothing of it waits for a person any more.
pub fn carry_out(ui: &Ui, overlay: &Overlay, seen: &Version, verdict: Verdict) -> Result<(Exit, bool)> {
    let load = || Workspace::load_all(&overlay.store.workspaces());
    let of = if let Origin::Waiting(of, ..) = &seen.origin { Some(*of) } else { None };
    let far: Vec<Workspace> = load()?.into_iter().filter(|w| w.far.is_some() && Some(w.id) == of).collect();
    let (views, unreached) = if far.is_empty() { Default::default() } else { reach(overlay, &far)? };
    unreached.into_iter().for_each(|line| ui.warn(line));
    let mut disk = Disk::open(overlay, Some(overlay.lock()?))?;
    let mut workspaces = load()?;
    disk.look_at(views, &workspaces);
    // The text may have changed since a person looked at it, so it is looked at again first.
    let mut before = disk.sync_workspaces(&mut workspaces)?;
    // A person is just answering this.
    before.open.retain(|line| !line.contains(&seen.id));
    before.print(ui);
    give(&disk, overlay, &mut workspaces, seen, verdict)?;
    let mut outcome = disk.sync_workspaces(&mut workspaces)?;
    forget_accepted(&disk, &seen.path)?;
    let exit = outcome.exit_for(&seen.path);
    outcome.leave_out(&before);
    outcome.print(ui);
    workspaces.retain(|workspace| Some(workspace.id) == of);
    // A workspace that could not be reached gives it at the next sync.
    let is_its = |workspace: &Workspace| Some(workspace.id) == of && workspace.accepted.contains_key(&seen.path);
    let is_due = verdict == Verdict::Accept && load()?.iter().any(is_its);
    Ok((exit, is_due || find_waiting(&workspaces, &seen.id).is_err()))
}

/// Gives a verdict on what a person has seen, if that is what waits now.
pub fn give(
    ground: &impl Ground,
    overlay: &Overlay,
    workspaces: &mut [Workspace],
    seen: &Version,
    verdict: Verdict,
) -> Result<()> {
    let Version { id, path, .. } = seen;
    let version = find_waiting(workspaces, id).ok().filter(|now| now.is_text_of(seen)).ok_or_else(|| changed(path))?;
    let Origin::Waiting(of, held, _) = &version.origin else { return Err(changed(path)) };
    match (verdict, held.is_stale()) {
        (Verdict::Accept, false) => accept_in_all(ground, workspaces, path, held.text),
        (Verdict::Accept, true) => outdated_edits::accept(ground, workspaces, path, held),
        (Verdict::Reject, false) => reject(ground, overlay, workspaces, of, path, held),
        (Verdict::Reject, true) => outdated_edits::close(ground, workspaces, path, id),
    }
}

fn changed(path: &RelPath) -> Failure {
    failure::CHANGED
        .failure(format!("{path} is no longer what was held"))
        .hint("run `overlay-sync sync`, then look at `overlay-sync conflicts`")
}

/// Gives a workspace the overlay's text in place of the one that is held, except for the workspace's own entries.
fn reject(
    ground: &impl Ground,
    overlay: &Overlay,
    all: &mut [Workspace],
    id: &Digest,
    path: &RelPath,
    held: &HeldText,
) -> Result<()> {
    let changed = || changed(path);
    let workspace = all.iter_mut().find(|w| w.id == *id).ok_or_else(changed)?;
    let only = BTreeSet::from([path.clone()]);
    let files = plan_files(ground, &overlay.settings, &RunContext::read(ground)?, workspace, Scope::Only(&only))?;
    let file = files.iter().find(|file| file.seen.left_alone.is_none()).ok_or_else(changed)?;
    let Some(here) = &file.seen.here else { return Err(changed()) };
    if file.seen.overlay.is_none() {
        // A declared file that is not to enter the overlay: there is no text to give back. Another text of it waits again.
        if Some(here.sha256) != held.here {
            return Err(changed());
        }
        workspace.rejected.insert(path.clone(), here.sha256);
        workspace.held.remove(path);
        return ground.save(workspace);
    }
    if held.is_overlays() {
        let (file, id) = (overlay.dir.join(path.as_path()), held.id(path));
        return Err(failure::OVERLAY_HELD
            .failure(format!("what is held is the overlay's text of {path}"))
            .hint(format!("fix {}, or run `overlay-sync accept {id}`", file.display())));
    }
    // Of a file that waits in part only that part is taken back: the rest was synced.
    let waits = file.decision.part.as_ref().map(|part| part.digest);
    let is_held = Some(here.sha256) == held.here && (!held.part || waits == Some(held.text));
    if !is_held {
        return Err(changed());
    }
    let text = overlays_text(file).ok_or_else(changed)?;
    // Its id finds the workspace's text from now on as well.
    let rejected = ConflictRecord::from_held(workspace, path, held);
    ground.record(&ConflictRecord { state: ConflictState::Recorded, ..rejected })?;
    if !take_back(ground, &render(overlay.env.now), workspace, &file.seen, &text)? {
        return Err(changed());
    }
    ground.save(workspace)
}

/// The overlay's text of a file with the workspace's own entries; `None` when the entries cannot be told apart.
fn overlays_text(file: &PlannedFile) -> Option<Vec<u8>> {
    let (here, overlay) = (file.seen.here.as_ref()?, file.seen.overlay.as_ref()?);
    let (kind, local) = (FileType::from_path(file.seen.path.as_path()), &file.seen.policy.local);
    if local.is_empty() {
        return Some(overlay.bytes.to_vec());
    }
    let shared = strip(kind, &overlay.bytes, local)?;
    match strip(kind, &here.bytes, local) {
        Some(_) => donate(kind, &shared, local, &here.bytes),
        None => Some(shared),
    }
}
