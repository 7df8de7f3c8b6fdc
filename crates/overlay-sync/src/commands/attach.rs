//! `attach`: worktrees become workspaces of the overlay, and overlays of other machines.

use std::path::PathBuf;

use shopfloor_core::error::{Exit, Result};
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::preview::preview;
use super::workspace_args::{WorkspaceArgs, print_membership};
use crate::apply::attach::{Attached, attach};
use crate::apply::far_side::{machine, sync_far};
use crate::facts::overlay::{Overlay, require_nameable, worktrees_at};
use crate::far::{Request, there};
use crate::far_place::FarPlace;
use crate::workspace::Workspace;

#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(flatten)]
    workspaces: WorkspaceArgs,
    /// Attach the overlay of a worktree on another machine, which ssh reaches: `big:workers/app`
    ///
    /// The files that the overlay has travel there and come back merged whenever `sync` or `watch` runs here. overlay-sync
    /// has to be installed there; its hook is installed, so that new worktrees there are attached.
    #[arg(long, value_name = "DEST:PATH", conflicts_with = "workspaces")]
    ssh: Option<String>,
    /// With --ssh, let files that look private travel, too, such as `.env`
    #[arg(long, requires = "ssh")]
    yes: bool,
}

/// Registers workspaces and brings them in step, also those that are attached already.
pub fn run(ui: &Ui, overlay: &Overlay, args: &Args) -> Result<Exit> {
    if let Some(text) = &args.ssh {
        return attach_far(ui, overlay, FarPlace::parse(text)?, args.yes);
    }
    let args = &args.workspaces;
    let mut paths = args.read(ui, &overlay.env)?;
    if args.paths.is_empty() {
        paths.push(overlay.repo.require_worktree()?.to_path_buf());
    }
    // Every path is checked before the first worktree is touched.
    let worktrees = worktrees_at(overlay, &paths)?;
    if ui.is_dry() {
        overlay.require()?;
        require_nameable(&worktrees)?;
        let known = Workspace::load_all(&overlay.store.workspaces())?;
        let find = |(root, git_dir): &(PathBuf, PathBuf)| {
            let own = known.iter().find(|w| w.git_dir == *git_dir && w.is_marked().unwrap_or(false));
            own.cloned().unwrap_or_else(|| Workspace::new(root, git_dir))
        };
        let workspaces: Vec<Workspace> = worktrees.iter().map(find).collect();
        let (exit, _) = preview(ui, overlay, &workspaces)?;
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

/// Attaches the overlay of another machine, and brings it in step.
fn attach_far(ui: &Ui, overlay: &Overlay, place: FarPlace, is_agreed: bool) -> Result<Exit> {
    if ui.is_dry() {
        overlay.require()?;
        print_membership(ui, &Workspace::of_machine(place), true);
        return Ok(Exit::Done);
    }
    drop(overlay.create()?);
    let known = Workspace::load_all(&overlay.store.workspaces())?;
    let is_same = |known: &FarPlace| (&known.dest, &known.path) == (&place.dest, &place.path);
    let known = known.into_iter().find(|workspace| workspace.far.as_ref().is_some_and(is_same));
    let question = format!("let files that look private travel to {} too, such as .env?", printable(&place.dest));
    let takes_private = is_agreed
        || match &known {
            Some(known) => known.far.as_ref().is_some_and(|place| place.takes_private),
            None => ui.can_ask() && ui.confirm(&question),
        };
    let agreed = FarPlace { takes_private, ..place.clone() };
    let workspace = known.unwrap_or_else(|| Workspace::of_machine(agreed.clone()));
    let workspace = Workspace { far: Some(agreed.clone()), ..workspace };
    if let Some(machine) = machine(overlay, &workspace) {
        let open = machine.ask(&[Request::Attach])?.into_iter().flat_map(|answer| answer.open).collect();
        there(&place, open).for_each(|line| ui.warn(line));
        // Worktrees that are made there later are attached by it.
        match machine.run(&["hook", "install"], Vec::new()) {
            Ok(said) => String::from_utf8_lossy(&said).lines().for_each(|line| ui.detail(printable(line))),
            Err(failure) => ui.warn(failure),
        }
    }
    {
        // Meanwhile others may have synced it, or attached it too.
        let _lock = overlay.lock()?;
        let now = Workspace::load_all(&overlay.store.workspaces())?;
        let now = now.into_iter().find(|workspace| workspace.far.as_ref().is_some_and(is_same));
        Workspace { far: Some(agreed), ..now.unwrap_or_else(|| workspace.clone()) }
            .save(&overlay.store.workspaces())?;
    }
    if !takes_private {
        ui.note("files that look private, such as .env, stay here; the same command with `--yes` lets them travel");
    }
    let outcome = sync_far(overlay, None, &[])?.map(|(outcome, _)| outcome).unwrap_or_default();
    outcome.print_with(ui, Ui::done);
    print_membership(ui, &workspace, true);
    Ok(outcome.exit())
}
