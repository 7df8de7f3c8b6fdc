//! `attach`: worktrees become workspaces of the overlay.

use std::path::PathBuf;

use shopfloor_core::error::{Exit, Result};
use shopfloor_core::ui::Ui;

use super::preview::preview;
use super::workspace_args::{WorkspaceArgs, print_membership};
use crate::apply::attach::{Attached, attach};
use crate::facts::overlay::{Overlay, worktrees_at};
use crate::workspace::Workspace;

/// Registers workspaces and brings them in step, also those that are attached already.
pub fn run(ui: &Ui, overlay: &Overlay, args: &WorkspaceArgs) -> Result<Exit> {
    let mut paths = args.read(ui, &overlay.env)?;
    if args.paths.is_empty() {
        paths.push(overlay.repo.require_worktree()?.to_path_buf());
    }
    // Every path is checked before the first worktree is touched.
    let worktrees = worktrees_at(overlay, &paths)?;
    if ui.is_dry() {
        overlay.require()?;
        let known = Workspace::load_all(&overlay.store.workspaces())?;
        let find = |(root, git_dir): &(PathBuf, PathBuf)| {
            known.iter().find(|w| w.git_dir == *git_dir).cloned().unwrap_or_else(|| Workspace::new(root, git_dir))
        };
        let workspaces: Vec<Workspace> = worktrees.iter().map(find).collect();
        let exit = preview(ui, overlay, &workspaces)?;
        let is_new = |workspace: &&Workspace| ui.is_json() || !known.iter().any(|known| known.id == workspace.id);
        workspaces.iter().filter(is_new).for_each(|workspace| print_membership(ui, workspace, true));
        return Ok(exit);
    }
    let Attached { outcome, workspaces, new } = {
        let _spinner = ui.spinner(&format!("attaching {} workspaces", worktrees.len()));
        attach(overlay, worktrees)?
    };
    // The answer is which workspaces are attached; the events are not printed under `-q`.
    outcome.print_with(ui, Ui::done);
    for workspace in &workspaces {
        match ui.is_json() || new.contains(&workspace.id) {
            true => print_membership(ui, workspace, true),
            false => ui.detail(format!("{} is attached already", workspace.root.display())),
        }
    }
    Ok(outcome.exit())
}
