//! `sync`: passes over the workspaces until nothing is left to do.

use std::path::PathBuf;

use shopfloor_core::error::{Exit, Result};
use shopfloor_core::fs::Found;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::ui::Ui;

use super::preview::preview;
use super::workspace_args::WorkspaceArgs;
use crate::apply::disk_storage::Disk;
use crate::apply::far_side::sync_far;
use crate::apply::outcome::SyncOutcome;
use crate::facts::fingerprint::Fingerprint;
use crate::facts::overlay::Overlay;
use crate::storage::Ground;
use crate::workspace::Workspace;

/// Sync the overlay and all attached workspaces: 0 all in step, 1 something is held or conflicted
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  overlay-sync sync --json | jq -r 'select(.rule == \"last_write\").path'")]
pub struct Args {
    #[command(flatten)]
    workspaces: WorkspaceArgs,
    /// Refill a workspace whose files are all gone
    #[arg(long, value_name = "WS")]
    restore: Vec<PathBuf>,
}

pub fn run(ui: &Ui, overlay: &Overlay, args: &Args) -> Result<Exit> {
    overlay.refuse_other_name()?;
    if overlay.is_unmade() {
        ui.note("there is no overlay yet; `overlay-sync add FILE` makes one");
        return Ok(Exit::Done);
    }
    overlay.require()?;
    if ui.is_dry() {
        let (workspaces, _) = meant(ui, overlay, args)?;
        return Ok(preview(ui, overlay, &workspaces)?.0);
    }
    let is_whole = args.workspaces.paths.is_empty() && args.restore.is_empty();
    let (mut outcome, synced, refilled) = sync_near(ui, overlay, args, is_whole)?;
    let far = |all: &[Workspace]| all.iter().filter(|w| w.far.is_some()).map(|w| w.id).collect::<Vec<Digest>>();
    let (named, refilled) = (far(&synced), far(&refilled));
    // Nobody here waits for another machine.
    if is_whole || !named.is_empty() {
        match sync_far(overlay, (!is_whole).then_some(&named), &refilled) {
            Ok(far) => far.into_iter().for_each(|(far, _)| outcome.absorb(far)),
            Err(failure) => outcome.fail(failure.to_string()),
        }
    }
    outcome.print(ui);
    if outcome.events.is_empty() && outcome.exit() == Exit::Done {
        ui.nothing_to_do();
    }
    Ok(outcome.exit())
}

/// Syncs the workspaces of this machine. Returns also which ones were meant, and which of those are to be refilled.
fn sync_near(
    ui: &Ui,
    overlay: &Overlay,
    args: &Args,
    is_whole: bool,
) -> Result<(SyncOutcome, Vec<Workspace>, Vec<Workspace>)> {
    let lock = overlay.lock()?;
    // What cannot be looked at is reported when it is synced.
    if is_whole && Fingerprint::load(overlay).is_same().unwrap_or(false) {
        return Ok(Default::default());
    }
    let (mut workspaces, restored) = meant(ui, overlay, args)?;
    let mut disk = Disk::open(overlay, Some(lock))?;
    let is_restored = |workspace: &&Workspace| restored.iter().any(|restored| restored.id == workspace.id);
    workspaces.iter().filter(is_restored).try_for_each(|workspace| disk.save(workspace))?;
    let _spinner = ui.spinner(&format!("syncing {} workspaces", workspaces.len()));
    Ok((disk.sync_workspaces(&mut workspaces)?, workspaces, restored))
}

/// The workspaces that are meant, and which of those are to be refilled.
fn meant(ui: &Ui, overlay: &Overlay, args: &Args) -> Result<(Vec<Workspace>, Vec<Workspace>)> {
    let mut workspaces = args.workspaces.workspaces(ui, overlay)?;
    if args.restore.is_empty() {
        return Ok((workspaces, Vec::new()));
    }
    let restored = WorkspaceArgs { paths: args.restore.clone(), nul: false }.workspaces(ui, overlay)?;
    for workspace in &restored {
        if !workspaces.iter().any(|known| known.id == workspace.id) {
            workspaces.push(workspace.clone());
        }
    }
    let is_restored = |w: &&mut Workspace| w.far.is_none() && restored.iter().any(|restored| restored.id == w.id);
    for workspace in workspaces.iter_mut().filter(is_restored) {
        let here = workspace.open()?;
        // Files that are there keep their base, so that edits of them are still merged.
        let is_gone = |path: &RelPath| here.look(path).is_ok_and(|found| found == Found::Missing);
        workspace.files.retain(|path, _| !is_gone(path));
        workspace.deleted.retain(|path, _| !is_gone(path));
    }
    Ok((workspaces, restored))
}
