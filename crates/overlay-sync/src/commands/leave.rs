//! What a remover of worktrees calls before one goes, and what becomes of a workspace whose worktree has gone.

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::Ui;

use super::past::held_conflict;
use super::sync::converge;
use crate::apply::disk::Disk;
use crate::cli::OverlayFlags;
use crate::facts::Overlay;
use crate::manifest::Workspace;
use crate::store::ConflictRecord;

/// Takes in what the worktree has that nobody else has yet. It stays attached: whoever asked may think better of it.
/// Exit 1 where something in it was not taken in, or is held as a whole; gives back what is kept of it to be looked at.
pub fn before_removal(ui: &Ui, env: &Env, place: &OverlayFlags, git: Git, repo: &Repo) -> Result<Vec<String>> {
    // It may be attached to another overlay than the one that is ours to speak of; one that never was is no matter.
    let Some(own) = Workspace::overlay_of(&repo.git_dir)? else { return Ok(Vec::new()) };
    let place = &OverlayFlags { overlay: place.overlay.clone().or(Some(own)), ..place.clone() };
    let overlay = Overlay::of(ui, env, place, git)?;
    overlay.require()?;
    let find = || -> Result<Option<Workspace>> {
        let all = Workspace::load_all(&overlay.store.workspaces())?;
        Ok(all.into_iter().find(|workspace| workspace.git_dir == repo.git_dir))
    };
    if place.dry_run {
        return Ok(Vec::new());
    }
    let mut disk = Disk::open(env, &overlay, Some(overlay.lock()?))?;
    let root = repo.require_worktree()?;
    let mut leaving = find()?.ok_or_else(|| {
        Failure::new(
            Exit::No,
            "unknown",
            format!("the worktree was attached to {}, which does not know it", overlay.dir.display()),
        )
        .hint(format!("bring it in step: `overlay-sync -C {} attach`", shell_word(root)))
    })?;
    if leaving.root != root && leaving.is_marked()? {
        leaving.root = root.to_path_buf();
        leaving.save(&overlay.store.workspaces())?;
    }
    let mut workspaces = Workspace::load_all(&overlay.store.workspaces())?;
    let outcome = converge(env, &overlay, &mut disk, &mut workspaces)?;
    let held = workspaces.into_iter().find(|w| w.id == leaving.id).map(|w| w.held).unwrap_or_default();
    let (parts, whole): (Vec<_>, Vec<_>) = held.iter().partition(|(_, held)| held.part);
    if !whole.is_empty() || outcome.unread.contains(&leaving.id) {
        let name = format!("{}: ", root.display());
        let open = outcome.open.iter().filter_map(|line| line.strip_prefix(&name)).map(|line| format!("  {line}"));
        return Err(
            Failure::new(Exit::No, "held", "the overlay does not have everything that the worktree has").details(open)
        );
    }
    let kept = |(path, held): (_, &crate::manifest::HeldText)| {
        format!("a part of {path} is kept ({}); `overlay-sync show {}`", held.why, held.id(path))
    };
    Ok(parts.into_iter().map(kept).collect())
}

/// Forgets the workspaces that git has let go of; what was held of them stays in the store, among the conflicts.
/// The caller holds the overlay's lock.
pub fn forget_gone(overlay: &Overlay, workspaces: &mut Vec<Workspace>) -> Result<()> {
    for gone in workspaces.iter().filter(|workspace| workspace.is_gone()) {
        forget(overlay, gone)?;
    }
    workspaces.retain(|workspace| !workspace.is_gone());
    Ok(())
}

/// Forgets one; what was held of it stays among the conflicts.
pub fn forget(overlay: &Overlay, gone: &Workspace) -> Result<()> {
    for (path, held) in &gone.held {
        let told = held_conflict(gone, path, held);
        let places = vec![format!("{}; its worktree was removed", held.why)];
        overlay.store.record(&ConflictRecord { state: "recorded".into(), places, ..told })?;
    }
    gone.forget(&overlay.store.workspaces())
}
