//! What `--dry-run` prints: the steps that a sync would take.

use std::path::Path;

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::time;
use shopfloor_core::ui::Ui;

use crate::apply::disk::Disk;
use crate::apply::late::{self, LateState};
use crate::apply::planned::{PlannedFile, RunContext, is_emptied, plan_files};
use crate::facts::overlay::Overlay;
use crate::facts::sides::Scope;
use crate::ground::{Ground, LeftAlone, Side};
use crate::manifest::{Workspace, WorkspaceKeys};
use crate::plan::Step;
use crate::rule::SyncRule;

/// One thing that a sync would do about a file of a workspace, or of the overlay.
#[derive(Serialize)]
struct Foreseen<'a> {
    time: String,
    #[serde(flatten)]
    workspace: WorkspaceKeys<'a>,
    path: &'a RelPath,
    rule: SyncRule,
    from: Option<Digest>,
    to: Option<Digest>,
    /// In words.
    #[serde(skip)]
    what: String,
}

/// Prints what a sync of these workspaces would do, attached or not.
pub fn preview(ui: &Ui, env: &Env, overlay: &Overlay, workspaces: &[Workspace]) -> Result<Exit> {
    let disk = Disk::open(env, overlay, None)?;
    let (managed, context) = (disk.overlay()?, RunContext::read(&disk)?);
    if managed.is_empty() && workspaces.iter().map(|w| w.files.len()).max().unwrap_or(0) >= 2 {
        return Err(overlay.gone("was emptied"));
    }
    let (mut is_quiet, mut is_held) = (true, false);
    let late = disk.displaced(Side::Overlay)?;
    for path in managed.keys().filter(|path| late::state(&late, path) == Some(LateState::Written)) {
        is_quiet = false;
        print(ui, &late_text(env, &overlay.dir, path, SyncRule::Pull));
    }
    for workspace in workspaces {
        if !workspace.is_present()? && workspace.is_known() {
            continue;
        }
        let files = plan_files(&disk, &overlay.settings, &context, &managed, workspace, Scope::News)?;
        let name = workspace.root.display();
        if is_emptied(workspace, &files) {
            ui.warn(format!("all files are gone from {name}; it is left alone"));
            (is_quiet, is_held) = (false, true);
            continue;
        }
        let late = disk.displaced(Side::Here(workspace))?;
        for path in managed.keys().filter(|path| late::state(&late, path) == Some(LateState::Written)) {
            is_quiet = false;
            print(ui, &late_text(env, &workspace.root, path, SyncRule::Push));
        }
        for file in files {
            if let Some(LeftAlone::Unreadable(why)) = &file.seen.left_alone {
                ui.warn(format!("{name}: {}: {why}", file.seen.path));
                (is_quiet, is_held) = (false, true);
            }
            for foreseen in foresee(env, &workspace.root, &file) {
                is_quiet = false;
                is_held |= foreseen.rule == SyncRule::Hold;
                print(ui, &foreseen);
            }
        }
    }
    if is_quiet {
        ui.note("everything is in step");
    }
    Ok(if is_held { Exit::No } else { Exit::Done })
}

fn late_text<'a>(env: &Env, root: &'a Path, path: &'a RelPath, rule: SyncRule) -> Foreseen<'a> {
    let what = "would bring back what a program wrote late to".into();
    let (time, workspace) = (time::render(env.now), WorkspaceKeys::of(root.to_string_lossy()));
    Foreseen { time, workspace, path, rule, from: None, to: None, what }
}

fn print(ui: &Ui, foreseen: &Foreseen<'_>) {
    if ui.is_json() {
        return ui.json(foreseen);
    }
    let (path, workspace) = (printable(&foreseen.path.to_string()), printable(foreseen.workspace.path()));
    ui.line(format!("{} {path} ({workspace})", foreseen.what));
}

/// What a pass would do about a file.
fn foresee<'a>(env: &Env, root: &'a Path, file: &'a PlannedFile) -> Vec<Foreseen<'a>> {
    let seen = &file.seen;
    let (here, overlay) = (seen.here.as_ref().map(|file| file.sha256), seen.overlay.as_ref().map(|file| file.sha256));
    let foreseen = |rule, what: String, from, to: Option<&[u8]>| {
        let (time, workspace) = (time::render(env.now), WorkspaceKeys::of(root.to_string_lossy()));
        Foreseen { time, workspace, path: &seen.path, rule, from, to: to.map(Digest::of), what }
    };
    let mut all = match &file.decision.step {
        Step::Write(write) => {
            let (from, to) = match &write.overlay {
                Some(bytes) => (overlay, Some(bytes)),
                None => (here, write.here.as_ref()),
            };
            vec![foreseen(write.rule, format!("would {}", write.rule), from, to.map(Vec::as_slice))]
        }
        Step::Ask(_) => vec![foreseen(SyncRule::Command, "would ask the merge command about".into(), here, None)],
        Step::Hold(why, _) => vec![foreseen(SyncRule::Hold, format!("would hold ({why})"), here, None)],
        Step::Remove => vec![foreseen(SyncRule::Pull, "would remove".into(), here, None)],
        _ => Vec::new(),
    };
    if let Some(part) = &file.decision.part {
        all.push(foreseen(SyncRule::Hold, format!("would hold a part of ({})", part.why), here, None));
    }
    all
}
