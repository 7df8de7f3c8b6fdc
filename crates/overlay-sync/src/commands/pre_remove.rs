//! The hook that runs before a worktree is removed.

use shopfloor_core::env::Env;
use shopfloor_core::error::Result;
use shopfloor_core::git::{Git, Repo};
use shopfloor_core::text::shell_word;
use shopfloor_core::ui::Ui;

use crate::apply::disk_storage::Disk;
use crate::apply::dry_disk::DryDisk;
use crate::facts::overlay::Overlay;
use crate::failure;
use crate::settings::OverlayFlags;
use crate::workspace::{HeldText, Workspace};

/// Syncs what only the worktree has. The worktree stays attached, because its removal may still be called off. Exit 1
/// when something in it was not synced, or a whole file is held; gives back, in words, which parts are kept. A dry run finds
/// that out, and writes nothing.
pub fn run(ui: &Ui, env: &Env, flags: &OverlayFlags, git: Git, repo: Repo) -> Result<Vec<String>> {
    let Some(own) = Workspace::overlay_of(&repo.git_dir)? else { return Ok(Vec::new()) };
    let overlay = Overlay::of(ui, env, flags, git, repo)?;
    let repo = &overlay.repo;
    // An agent may be able to write there, and could name an overlay of its own that knows all other worktrees.
    if own != overlay.dir {
        let (root, own) = (repo.require_worktree()?, own.as_path());
        let what = format!("{} says that it is attached to {}", root.display(), own.display());
        let detach = format!("overlay-sync --overlay {} detach {}", shell_word(own), shell_word(root));
        return Err(failure::UNKNOWN
            .failure(format!("{what}, and the overlay here is {}", overlay.dir.display()))
            .hint(format!("if you attached it there, run `{detach}`; else remove it with `--force`")));
    }
    overlay.require()?;
    let disk = if ui.is_dry() { None } else { Some(Disk::open(&overlay, Some(overlay.lock()?))?.last()) };
    let root = repo.require_worktree()?;
    let mut workspaces = Workspace::load_all(&overlay.store.workspaces())?;
    let is_it = |workspace: &&mut Workspace| workspace.git_dir == repo.git_dir && !workspace.has_other_id();
    let leaving = workspaces.iter_mut().find(is_it).ok_or_else(|| {
        failure::UNKNOWN
            .failure(format!("the worktree was attached to {}, which does not know it", overlay.dir.display()))
            .hint(format!("attach it again: `overlay-sync -C {} attach`", shell_word(root)))
    })?;
    if leaving.root != root && leaving.is_marked()? {
        leaving.root = root.to_path_buf();
        disk.as_ref().map_or(Ok(()), |_| leaving.save(&overlay.store.workspaces()))?;
    }
    let (leaving, held_before) = (leaving.id, leaving.held.clone());
    let outcome = match disk {
        Some(mut disk) => disk.sync_workspaces(&mut workspaces)?,
        None => DryDisk::open(&overlay, &workspaces)?.sync_workspaces(&mut workspaces)?,
    };
    let held = workspaces.into_iter().find(|w| w.id == leaving).map(|w| w.held).unwrap_or_default();
    let (parts, whole): (Vec<_>, Vec<_>) = held.iter().partition(|(_, held)| held.part);
    if !whole.is_empty() || outcome.unread.contains(&leaving) {
        let name = format!("{}: ", root.display());
        let open = outcome.open.iter().filter_map(|line| line.strip_prefix(&name)).map(|line| format!("  {line}"));
        let failure = failure::HELD.failure("the overlay does not have everything that the worktree has").details(open);
        // What a dry run would hold cannot be settled by the id that it has then.
        let is_held_yet =
            whole.iter().all(|(path, held)| held_before.get(*path).is_some_and(|old| old.text == held.text));
        let hint = "`overlay-sync sync` holds what waits, so that it can be settled";
        return Err(if !ui.is_dry() || is_held_yet { failure } else { failure.hint(hint) });
    }
    let kept = |(path, held): (_, &HeldText)| match ui.is_dry() {
        true => format!("would keep a part of {path} ({})", held.why),
        false => format!("a part of {path} is kept ({}); `overlay-sync show {}` prints it", held.why, held.id(path)),
    };
    Ok(parts.into_iter().map(kept).collect())
}
