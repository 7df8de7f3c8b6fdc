//! `attach` and `detach`: which workspaces take part.

use std::path::PathBuf;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::leave;
use super::sync::{converge, exit, narrate, preview, print};
use crate::apply::converge::SyncOutcome;
use crate::apply::disk::Disk;
use crate::cli::{OverlayFlags, WorkspaceArgs};
use crate::facts::{self, Overlay};
use crate::manifest::Workspace;

/// Registers workspaces and brings them in step; one that is attached is brought in step again.
pub fn attach(ui: &Ui, env: &Env, place: &OverlayFlags, named: &WorkspaceArgs) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    let mut paths = facts::paths(ui, env, named)?;
    if named.paths.is_empty() {
        paths.push(overlay.repo.require_worktree()?.to_path_buf());
    }
    // All of them are looked at before the first is touched.
    let places = facts::worktrees_at(env, &overlay, &paths)?;
    if place.dry_run {
        overlay.require()?;
        let known = Workspace::load_all(&overlay.store.workspaces())?;
        let of = |(root, git_dir): &(PathBuf, PathBuf)| {
            known.iter().find(|w| w.git_dir == *git_dir).cloned().unwrap_or_else(|| Workspace::new(root, git_dir))
        };
        let workspaces: Vec<Workspace> = places.iter().map(of).collect();
        workspaces.iter().for_each(|w| ui.note(format!("would attach {}", w.root.display())));
        return preview(ui, env, &overlay, &workspaces);
    }
    let (outcome, attached) = register(env, &overlay, places)?;
    narrate(ui, &outcome);
    for workspace in &attached {
        if ui.is_json() {
            ui.json(&json!({ "workspace": workspace.root.to_string_lossy(), "attached": true }));
        } else {
            ui.note(format!("attached {}", workspace.root.display()));
        }
    }
    Ok(exit(&outcome))
}

/// Attaches the worktree we stand in.
pub fn attach_here(env: &Env, overlay: &Overlay) -> Result<SyncOutcome> {
    let place = (overlay.repo.require_worktree()?.to_path_buf(), overlay.repo.git_dir.clone());
    Ok(register(env, overlay, vec![place])?.0)
}

/// Registers worktrees, each given by its root and private git directory, and brings them in step.
fn register(env: &Env, overlay: &Overlay, places: Vec<(PathBuf, PathBuf)>) -> Result<(SyncOutcome, Vec<Workspace>)> {
    let lock = overlay.create()?;
    let known = Workspace::load_all(&overlay.store.workspaces())?;
    let mut attached = Vec::new();
    for (root, git_dir) in places {
        let mut old = None;
        for workspace in known.iter().filter(|w| w.root == root || w.git_dir == git_dir) {
            if workspace.git_dir == git_dir && workspace.root != root && workspace.is_present()? {
                let (copy, of) = (root.display(), workspace.root.display());
                return Err(Failure::new(
                    Exit::Bad,
                    "copy",
                    format!("{copy} is a copy of {of}: git takes them for one"),
                )
                .hint("make a worktree of its own with `git worktree add`"));
            }
            if workspace.is_marked()? && workspace.git_dir == git_dir {
                // It may have been moved: it is the same one all the same.
                old = Some(Workspace { root: root.clone(), ..workspace.clone() });
            } else if workspace.is_marked()? {
                // It was moved away from here, and another one is in its place.
                let moved =
                    overlay.git.worktrees(&overlay.repo)?.into_iter().find(|(_, dir)| *dir == workspace.git_dir);
                let moved = moved.and_then(|(root, _)| root.canonicalize().ok());
                if let Some(root) = moved.filter(|moved| *moved != root) {
                    Workspace { root, ..workspace.clone() }.save(&overlay.store.workspaces())?;
                }
            } else {
                // A workspace made anew at the same path is another one.
                leave::forget(overlay, workspace)?;
            }
        }
        let workspace = match old {
            Some(workspace) => {
                workspace.save(&overlay.store.workspaces())?;
                workspace
            }
            None => {
                let workspace = Workspace::new(&root, &git_dir);
                workspace.save(&overlay.store.workspaces())?;
                workspace.brand(&overlay.dir)?;
                workspace
            }
        };
        attached.push(workspace);
    }
    let mut disk = Disk::open(env, overlay, Some(lock))?;
    let outcome = converge(env, overlay, &mut disk, &mut attached)?;
    Ok((outcome, attached))
}

/// Brings workspaces in step a last time and forgets them; their files stay. Without a path: all.
pub fn detach(ui: &Ui, env: &Env, place: &OverlayFlags, named: &WorkspaceArgs) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    if place.dry_run {
        overlay.require()?;
        let workspaces = overlay.workspaces(ui, env, named)?;
        workspaces.iter().for_each(|w| ui.note(format!("would detach {}", w.root.display())));
        return preview(ui, env, &overlay, &workspaces);
    }
    let mut disk = Disk::open(env, &overlay, Some(overlay.lock()?))?;
    let workspaces = overlay.workspaces(ui, env, named)?;
    let outcome = converge(env, &overlay, &mut disk, &mut workspaces.clone())?;
    print(ui, &outcome);
    for workspace in &workspaces {
        // What waits would be forgotten with the workspace.
        if outcome.troubled.contains(&workspace.id) {
            ui.warn(format!("{} stays attached: something in it is held or failed", workspace.root.display()));
            continue;
        }
        workspace.forget(&overlay.store.workspaces())?;
        let root = workspace.root.to_string_lossy();
        if ui.is_json() {
            ui.json(&json!({ "workspace": root, "detached": true }));
        } else {
            ui.line(format!("detached {}", printable(&root)));
        }
    }
    Ok(exit(&outcome))
}
