//! What `--dry-run` prints: what a sync would do.

use serde_json::json;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::time;
use shopfloor_core::ui::Ui;

use crate::apply::dry_disk::DryDisk;
use crate::apply::late_writes::{self, LateState};
use crate::apply::outcome::SyncOutcome;
use crate::apply::overlay_change::{OverlayChange, make};
use crate::apply::verdict::{Verdict, give};
use crate::facts::overlay::Overlay;
use crate::facts::versions::{Origin, Version};
use crate::storage::{Ground, Side};
use crate::store::LogRecord;
use crate::sync_action::SyncRule;
use crate::workspace::Workspace;

/// Prints what a sync of these workspaces would do, attached or not. Returns its exit code, and the workspaces in which
/// something would be held or fail.
pub fn preview(ui: &Ui, overlay: &Overlay, workspaces: &[Workspace]) -> Result<(Exit, Vec<Digest>)> {
    let mut disk = DryDisk::open(overlay, workspaces)?;
    let managed = disk.overlay()?;
    for far in workspaces.iter().filter(|workspace| workspace.far.is_some()) {
        ui.note(format!("{} is not asked for a preview", far.root.display()));
    }
    let now = time::render(overlay.env.now);
    let print_late = |side, rule| {
        // A side that cannot be read is reported by its pass.
        let late = disk.disk.displaced(side).unwrap_or_default();
        let is_written = |path: &&RelPath| late_writes::state(&late, path) == Some(LateState::Written);
        let written: Vec<&RelPath> = managed.keys().filter(is_written).collect();
        let (what, root) = ("would bring back what a program wrote late to", disk.root(side));
        written.iter().for_each(|path| print(ui, what, &LogRecord::new(&now, &root, path, rule), ""));
        !written.is_empty()
    };
    let mut has_late = print_late(Side::Overlay, SyncRule::Pull);
    for workspace in workspaces.iter().filter(|workspace| disk.is_present(workspace).unwrap_or(false)) {
        has_late |= print_late(Side::Here(workspace), SyncRule::Push);
    }
    let mut synced = workspaces.to_vec();
    let outcome = disk.sync_workspaces(&mut synced)?;
    let is_in_step = outcome.events.is_empty() && outcome.open.is_empty() && !has_late;
    let (exit, troubled) = (outcome.exit(), outcome.troubled.clone());
    print_foreseen(ui, &synced, outcome);
    if is_in_step {
        ui.note("everything is in step");
    }
    Ok((exit, troubled))
}

/// Prints what a change of the overlay that a person asks for would do. Returns it with the exit code of the real one.
pub fn preview_change(
    ui: &Ui,
    overlay: &Overlay,
    find: impl FnOnce(&dyn Ground) -> Result<OverlayChange>,
) -> Result<(OverlayChange, Exit)> {
    foresee(ui, overlay, |disk, workspaces| {
        let change = find(disk)?;
        make(disk, workspaces, &change)?;
        Ok((change.path.clone(), change))
    })
}

/// Prints what a verdict on what waits would do. Returns the exit code of the real one.
pub fn preview_verdict(ui: &Ui, overlay: &Overlay, seen: &Version, verdict: Verdict) -> Result<Exit> {
    let Origin::Waiting(of, ..) = &seen.origin else { return Ok(Exit::Done) };
    let workspaces = overlay.workspaces(&[])?;
    if let Some(far) = workspaces.iter().find(|workspace| workspace.id == *of && workspace.far.is_some()) {
        ui.note(format!("{} is not asked for a preview", far.root.display()));
        return Ok(Exit::Done);
    }
    let ((), exit) = foresee(ui, overlay, |disk, workspaces| {
        give(disk, overlay, workspaces, seen, verdict)?;
        Ok((seen.path.clone(), ()))
    })?;
    Ok(exit)
}

/// Prints what the syncs before and after an act of a person would do. The act names the file that it is about. Returns
/// what it gives, and the exit code of the real command.
fn foresee<T>(
    ui: &Ui,
    overlay: &Overlay,
    act: impl FnOnce(&DryDisk<'_>, &mut [Workspace]) -> Result<(RelPath, T)>,
) -> Result<(T, Exit)> {
    overlay.require()?;
    let mut workspaces = overlay.workspaces(&[])?;
    let mut disk = DryDisk::open(overlay, &workspaces)?;
    let before = disk.sync_workspaces(&mut workspaces)?;
    let (path, acted) = act(&disk, &mut workspaces)?;
    let mut outcome = disk.sync_workspaces(&mut workspaces)?;
    let exit = outcome.exit_for(&path);
    // The second sync tells what is still open.
    outcome.events = [before.events, outcome.events].concat();
    outcome.conflicts += before.conflicts;
    print_foreseen(ui, &workspaces, outcome);
    Ok((acted, exit))
}

/// Prints what the passes of a sync would do, and what waits already.
fn print_foreseen(ui: &Ui, workspaces: &[Workspace], mut outcome: SyncOutcome) {
    for event in &outcome.events {
        let of = workspaces.iter().find(|workspace| workspace.root.to_string_lossy() == event.workspace);
        let held = of.and_then(|of| of.held.get(&event.path)).filter(|_| event.rule == SyncRule::Hold);
        let what = match (event.rule, event.to) {
            (SyncRule::Pull, None) => "would remove".to_owned(),
            (SyncRule::Command, _) => "would ask the merge command about".to_owned(),
            _ if held.is_some_and(|held| held.part) => "would hold a part of".to_owned(),
            (rule, _) => format!("would {rule}"),
        };
        print(ui, &what, event, held.map_or("", |held| held.why.as_str()));
        if let Some(held) = held {
            // What is not held yet has no id that `accept` takes.
            let (id, its) = (held.id(&event.path), format!("{}: ", event.workspace));
            outcome.open.retain(|line| !(line.starts_with(&its) && line.contains(&id)));
        }
    }
    outcome.notes.clear();
    outcome.print_open(ui);
}

fn print(ui: &Ui, what: &str, record: &LogRecord, why: &str) {
    if ui.is_json() {
        return ui.json_of_both(record, &json!({ "worktree": record.workspace }));
    }
    let (path, workspace) = (printable(&record.path.to_string()), printable(&record.workspace));
    let why = if why.is_empty() { String::new() } else { format!(": {}", printable(why)) };
    ui.line(format!("{what} {path} ({workspace}){why}"));
}
