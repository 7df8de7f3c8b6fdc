//! Registers worktrees as workspaces of an overlay and brings them in step.

use std::path::{Path, PathBuf};

use shopfloor_core::error::Result;
use shopfloor_core::hash::Digest;
use shopfloor_core::known_dirs::note_worktree;

use super::disk_storage::Disk;
use super::outcome::SyncOutcome;
use super::sync::forget;
use crate::facts::overlay::{Overlay, require_nameable};
use crate::workspace::Workspace;

/// What attaching did.
pub struct Attached {
    pub outcome: SyncOutcome,
    pub workspaces: Vec<Workspace>,
    /// Those that were not attached before.
    pub new: Vec<Digest>,
}

/// Attaches worktrees, each given by its root and private git directory, and brings them in step.
pub fn attach(overlay: &Overlay, worktrees: Vec<(PathBuf, PathBuf)>) -> Result<Attached> {
    require_nameable(&worktrees)?;
    let lock = overlay.create()?;
    let known = Workspace::load_all(&overlay.store.workspaces())?;
    let (mut workspaces, mut new) = (Vec::new(), Vec::new());
    for (root, git_dir) in worktrees {
        if git_dir != overlay.repo.common_dir {
            note_worktree(&overlay.env, &root, &overlay.repo.common_dir)?;
        }
        let attached = known_as(overlay, &known, &root, &git_dir)?;
        let is_new = attached.is_none();
        let workspace = attached.unwrap_or_else(|| Workspace::new(&root, &git_dir));
        workspace.save(&overlay.store.workspaces())?;
        if is_new {
            workspace.write_mark(&overlay.dir)?;
            new.push(workspace.id);
        }
        workspaces.push(workspace);
    }
    let outcome = Disk::open(overlay, Some(lock))?.sync_workspaces(&mut workspaces)?;
    Ok(Attached { outcome, workspaces, new })
}

/// The workspace that a worktree is attached as already. Workspaces that were at its place before are forgotten, or
/// recorded at their new place.
fn known_as(overlay: &Overlay, known: &[Workspace], root: &Path, git_dir: &Path) -> Result<Option<Workspace>> {
    let mut found = None;
    for workspace in known.iter().filter(|w| w.root == root || w.git_dir == git_dir) {
        let is_same = workspace.git_dir == git_dir;
        if !workspace.is_marked()? {
            // It was removed, and another worktree was made at the same path.
            forget(overlay, workspace)?;
        } else if is_same {
            // It may have been moved.
            found = Some(Workspace { root: root.to_path_buf(), ..workspace.clone() });
        } else {
            // It was moved away, and another worktree is at its old path.
            let moved = overlay.git.worktrees(&overlay.repo)?.into_iter().find(|(_, dir)| *dir == workspace.git_dir);
            let moved = moved.and_then(|(root, _)| root.canonicalize().ok());
            if let Some(moved) = moved.filter(|moved| moved != root) {
                Workspace { root: moved, ..workspace.clone() }.save(&overlay.store.workspaces())?;
            }
        }
    }
    Ok(found)
}
