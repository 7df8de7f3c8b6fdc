//! What `--dry-run` prints: the steps that a sync would take.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::time;
use shopfloor_core::ui::Ui;

use crate::apply::disk_storage::Disk;
use crate::apply::late_writes::{self, LateState};
use crate::apply::pass::what_changed;
use crate::apply::workspace_plan::{PlannedFile, RunContext, is_emptied, plan_files};
use crate::facts::file_view::Scope;
use crate::facts::overlay::Overlay;
use crate::facts::versions::{Origin, Version, Waiting};
use crate::plan::Step;
use crate::storage::{Ground, LeftAlone, Side};
use crate::store::LogRecord;
use crate::sync_action::SyncRule;
use crate::workspace::Workspace;

/// Prints what a sync of these workspaces would do, attached or not.
pub fn preview(ui: &Ui, overlay: &Overlay, workspaces: &[Workspace]) -> Result<Exit> {
    Ok(if troubled(ui, overlay, workspaces)?.is_empty() { Exit::Done } else { Exit::No })
}

/// The same; returns the workspaces in which something would be held or cannot be read.
pub fn troubled(ui: &Ui, overlay: &Overlay, workspaces: &[Workspace]) -> Result<BTreeSet<Digest>> {
    let disk = Disk::open(overlay, None)?;
    let context = RunContext::read(&disk)?;
    let managed = &context.overlay;
    if managed.is_empty() && workspaces.iter().map(|w| w.files.len()).max().unwrap_or(0) >= 2 {
        return Err(overlay.gone("was emptied"));
    }
    let (now, mut is_in_step, mut troubled) = (time::render(overlay.env.now), true, BTreeSet::new());
    let print_late = |side, rule| -> Result<bool> {
        let (late, root) = (disk.displaced(side)?, disk.root(side));
        let is_written = |path: &&RelPath| late_writes::state(&late, path) == Some(LateState::Written);
        let written: Vec<&RelPath> = managed.keys().filter(is_written).collect();
        let what = "would bring back what a program wrote late to";
        written.iter().for_each(|path| print(ui, what, &LogRecord::new(&now, &root, path, rule)));
        Ok(!written.is_empty())
    };
    is_in_step &= !print_late(Side::Overlay, SyncRule::Pull)?;
    for far in workspaces.iter().filter(|workspace| workspace.far.is_some()) {
        ui.note(format!("{} is not asked for a preview", far.root.display()));
    }
    for workspace in workspaces {
        // Another machine is not asked for that.
        if workspace.far.is_some() {
            continue;
        }
        match workspace.is_present() {
            Ok(true) => {}
            Ok(false) if workspace.is_known() => continue,
            Ok(false) => {}
            Err(failure) => {
                ui.warn(failure);
                is_in_step = false;
                troubled.insert(workspace.id);
                continue;
            }
        }
        let files = plan_files(&disk, &overlay.settings, &context, workspace, Scope::Changed)?;
        let name = workspace.root.display();
        if is_emptied(workspace, &files) {
            ui.warn(format!("all files are gone from {name}; it is left alone"));
            is_in_step = false;
            troubled.insert(workspace.id);
            continue;
        }
        is_in_step &= !print_late(Side::Here(workspace), SyncRule::Push)?;
        for file in files {
            if let Some(LeftAlone::Unreadable(why)) = &file.seen.left_alone {
                ui.warn(format!("{name}: {}: {why}", file.seen.path));
                is_in_step = false;
                troubled.insert(workspace.id);
            }
            for (what, record) in foresee(&now, &workspace.root, &file) {
                is_in_step = false;
                troubled.extend((record.rule == SyncRule::Hold).then_some(workspace.id));
                print(ui, &what, &record);
            }
        }
    }
    if is_in_step {
        ui.note("everything is in step");
    }
    Ok(troubled)
}

/// Prints what would spread if the overlay had this text of a file, to all workspaces but one.
pub fn preview_text(
    ui: &Ui,
    overlay: &Overlay,
    (path, text): (&RelPath, &[u8]),
    (rule, but): (SyncRule, Option<Digest>),
) -> Result<()> {
    let disk = Disk::open(overlay, None)?;
    let mut context = RunContext::read(&disk)?;
    context.accepted.entry(path.clone()).or_default().insert(Digest::of(text));
    context.planned.insert(path.clone(), text.to_vec());
    let (now, only) = (time::render(overlay.env.now), BTreeSet::from([path.clone()]));
    for workspace in overlay.workspaces(&[])?.iter().filter(|w| but != Some(w.id) && w.far.is_none()) {
        for file in plan_files(&disk, &overlay.settings, &context, workspace, Scope::Only(&only))? {
            for (_, record) in foresee(&now, &workspace.root, &file) {
                let rule = if record.rule == SyncRule::Pull { rule } else { record.rule };
                print(ui, &format!("would {rule}"), &LogRecord { rule, ..record });
            }
        }
    }
    Ok(())
}

/// Prints what accepting a held text would do.
pub fn preview_accept(ui: &Ui, overlay: &Overlay, version: &Version) -> Result<()> {
    let Origin::Waiting(id, Waiting::Held(held), _) = &version.origin else { return Ok(()) };
    let disk = Disk::open(overlay, None)?;
    let mut context = RunContext::read(&disk)?;
    context.accepted.entry(version.path.clone()).or_default().insert(held.text);
    let (now, only) = (time::render(overlay.env.now), BTreeSet::from([version.path.clone()]));
    for workspace in overlay.workspaces(&[])?.iter().filter(|w| w.id == *id && w.far.is_none()) {
        for file in plan_files(&disk, &overlay.settings, &context, workspace, Scope::Only(&only))? {
            foresee(&now, &workspace.root, &file).iter().for_each(|(what, record)| print(ui, what, record));
            if let Step::Write(write) = &file.decision.step
                && let Some(text) = &write.overlay
            {
                preview_text(ui, overlay, (&version.path, text), (SyncRule::Propagate, Some(*id)))?;
            }
        }
    }
    Ok(())
}

fn print(ui: &Ui, what: &str, record: &LogRecord) {
    if ui.is_json() {
        return ui.json_of_both(record, &json!({ "worktree": record.workspace }));
    }
    ui.line(format!("{what} {} ({})", printable(&record.path.to_string()), printable(&record.workspace)));
}

/// What a pass would do about a file: in words, and as the log would have it.
fn foresee(now: &str, root: &Path, file: &PlannedFile) -> Vec<(String, LogRecord)> {
    let seen = &file.seen;
    let (here, overlay) = (seen.here.as_ref().map(|file| file.sha256), seen.overlay.as_ref().map(|file| file.sha256));
    let record = |rule| LogRecord { from: here, ..LogRecord::new(now, root, &seen.path, rule) };
    let mut all = match &file.decision.step {
        Step::Write(write) => {
            let (from, to) = match &write.overlay {
                Some(bytes) => (overlay, Some(bytes)),
                None => (here, write.here.as_ref()),
            };
            let (to, what) = (to.map(|to| Digest::of(to)), what_changed(seen, write, write.overlay.is_none()));
            vec![(format!("would {}", write.rule), LogRecord { from, to, what, ..record(write.rule) })]
        }
        Step::Ask(_) => vec![("would ask the merge command about".into(), record(SyncRule::Command))],
        Step::Hold(why, _) => vec![(format!("would hold ({why})"), record(SyncRule::Hold))],
        Step::Remove => vec![("would remove".into(), record(SyncRule::Pull))],
        _ => Vec::new(),
    };
    if let Some(part) = &file.decision.part {
        all.push((format!("would hold a part of ({})", part.why), record(SyncRule::Hold)));
    }
    all
}
