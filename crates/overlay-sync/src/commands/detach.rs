//! `detach`: workspaces are synced a last time and then left alone.

use std::slice::from_ref;

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::ui::Ui;

use super::preview::preview;
use super::workspace_args::{WorkspaceArgs, print_membership};
use crate::apply::disk_storage::Disk;
use crate::apply::far_side::reach;
use crate::apply::sync::forget;
use crate::facts::overlay::Overlay;
use crate::facts::versions::waiting;
use crate::storage::Side;
use crate::workspace::Workspace;

/// Syncs workspaces a last time and forgets them; their files stay.
pub fn run(ui: &Ui, overlay: &Overlay, args: &WorkspaceArgs) -> Result<Exit> {
    if ui.is_dry() {
        overlay.require()?;
        let (workspaces, is_all) = still_attached(ui, overlay, args)?;
        let (exit, troubled) = preview(ui, overlay, &workspaces)?;
        for workspace in &workspaces {
            match workspace.far {
                None if troubled.contains(&workspace.id) => warn_that_it_stays(ui, workspace),
                // A preview asks no machine.
                Some(_) if !waiting(from_ref(workspace)).is_empty() => ui.warn(format!(
                    "{} stays attached if its machine answers and something in it is still held, and is detached otherwise",
                    workspace.root.display()
                )),
                _ => print_membership(ui, workspace, false),
            }
        }
        return Ok(if is_all { exit } else { missed(exit) });
    }
    let (named, is_all) = still_attached(ui, overlay, args)?;
    let far: Vec<Workspace> = named.iter().filter(|w| w.far.is_some()).cloned().collect();
    let (views, unreached) = if far.is_empty() { Default::default() } else { reach(overlay, &far)? };
    unreached.into_iter().for_each(|line| ui.warn(line));
    let reached: Vec<Digest> = views.keys().copied().collect();
    let mut disk = Disk::open(overlay, Some(overlay.lock()?))?.last();
    // They may have been synced meanwhile. Their list on stdin can be read only once.
    let mut workspaces = Workspace::load_all(&overlay.store.workspaces())?;
    workspaces.retain(|workspace| named.iter().any(|named| named.id == workspace.id));
    disk.look_at(views, &workspaces);
    // Nobody needs advice about one that is not there, and is not attached from now on.
    let mut synced = workspaces.clone();
    let is_absent = |workspace: &Workspace| matches!(workspace.is_present(), Ok(false));
    synced.retain(|workspace| !is_absent(workspace) || workspace.has_other_id());
    let outcome = disk.sync_workspaces(&mut synced)?;
    outcome.print(ui);
    if workspaces.is_empty() {
        ui.nothing_to_do();
    }
    for workspace in &workspaces {
        let now = Workspace::load_all(&overlay.store.workspaces())?.into_iter().find(|now| now.id == workspace.id);
        let now = now.as_ref().unwrap_or(workspace);
        // Detaching it would forget what waits there. What is open on another machine alone keeps nobody here, and one that
        // does not answer may never do so again: what waits of that stays among the conflicts.
        let stays = match workspace.far {
            None => outcome.troubled.contains(&workspace.id),
            Some(_) => reached.contains(&workspace.id) && !waiting(from_ref(now)).is_empty(),
        };
        if stays {
            warn_that_it_stays(ui, workspace);
            continue;
        }
        // The file stays: a later attach reads it. A worktree that is gone has none.
        if disk.displaced(Side::Here(workspace)).is_ok_and(|displaced| !displaced.is_empty()) {
            let name = workspace.root.display();
            ui.warn(format!("{name}: a program holds a replaced file open; what it writes from now on is not synced"));
        }
        forget(overlay, now)?;
        print_membership(ui, workspace, false);
    }
    let exit = outcome.exit();
    Ok(if is_all { exit } else { missed(exit) })
}

/// The exit code where one that was named is not attached.
fn missed(exit: Exit) -> Exit {
    if exit == Exit::Done { Exit::No } else { exit }
}

/// The workspaces that are meant and attached, and whether all are. Others are named and left out, because a run that was
/// killed may have detached them.
fn still_attached(ui: &Ui, overlay: &Overlay, args: &WorkspaceArgs) -> Result<(Vec<Workspace>, bool)> {
    let all = overlay.workspaces(&[])?;
    if args.paths.is_empty() {
        return Ok((all, true));
    }
    let (mut attached, mut missing) = (Vec::new(), Vec::new());
    for path in args.read(ui, &overlay.env)? {
        match overlay.workspace_at(&all, &path) {
            Ok(workspace) => attached.push(workspace),
            Err(failure) => missing.push(failure.message),
        }
    }
    if attached.is_empty() && !missing.is_empty() {
        return Err(Failure::not_found(missing.join("; ")).hint("`overlay-sync status` shows what is attached"));
    }
    missing.iter().for_each(|line| ui.warn(line));
    Ok((attached, missing.is_empty()))
}

fn warn_that_it_stays(ui: &Ui, workspace: &Workspace) {
    ui.warn(format!("{} stays attached: something in it is held or failed", workspace.root.display()));
}
