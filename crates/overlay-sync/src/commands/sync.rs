//! `sync`: passes over the workspaces until nothing more is to be done.

use std::path::PathBuf;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{Found, Root};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::leave::forget_gone;
use crate::apply::converge::{self, SyncOutcome};
use crate::apply::disk::Disk;
use crate::apply::ground::{Bar, Ground};
use crate::cli::{OverlayFlags, WorkspaceArgs};
use crate::facts::Overlay;
use crate::look::{RunContext, Scope, SeenFile, is_emptied, look};
use crate::manifest::Workspace;
use crate::plan::Step;
use crate::store::SyncRule;

pub fn run(ui: &Ui, env: &Env, place: &OverlayFlags, named: &WorkspaceArgs, restore: &[PathBuf]) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    if overlay.is_unmade() {
        ui.note("there is no overlay yet; `overlay-sync add FILE` makes one");
        return Ok(Exit::Done);
    }
    overlay.require()?;
    if place.dry_run {
        let workspaces = overlay.workspaces(ui, env, named)?;
        return preview(ui, env, &overlay, &workspaces);
    }
    let mut disk = Disk::open(env, &overlay, Some(overlay.lock()?))?;
    let mut workspaces = overlay.workspaces(ui, env, named)?;
    if !restore.is_empty() {
        let restored = overlay.workspaces(ui, env, &WorkspaceArgs { paths: restore.to_vec(), nul: false })?;
        for restored in
            restored.iter().filter(|r| !workspaces.iter().any(|w| w.id == r.id)).cloned().collect::<Vec<_>>()
        {
            workspaces.push(restored);
        }
        for workspace in workspaces.iter_mut().filter(|w| restored.iter().any(|r| r.id == w.id)) {
            // Only what is gone: an edit of what is there still has its past.
            let here = Root::open(&workspace.root)?;
            let gone = |path: &RelPath| here.look(path).is_ok_and(|found| found == Found::Missing);
            workspace.files.retain(|path, _| !gone(path));
            workspace.deleted.retain(|path, _| !gone(path));
            disk.save(workspace)?;
        }
    }
    let outcome = converge(env, &overlay, &mut disk, &mut workspaces)?;
    print(ui, &outcome);
    Ok(exit(&outcome))
}

/// Forgets workspaces that are gone, passes until quiet, and does what is due after it. The ground holds the overlay's lock, before and after.
pub fn converge(
    env: &Env,
    overlay: &Overlay,
    disk: &mut Disk<'_>,
    workspaces: &mut Vec<Workspace>,
) -> Result<SyncOutcome> {
    forget_gone(overlay, workspaces)?;
    let outcome = converge::converge(disk, &overlay.settings, &env.now.to_string(), workspaces)?;
    if outcome.is_emptied {
        return Err(overlay.gone("was emptied"));
    }
    disk.finish();
    overlay.store.collect(env, || Workspace::load_all(&overlay.store.workspaces()))?;
    Ok(outcome)
}

pub fn print(ui: &Ui, outcome: &SyncOutcome) {
    tell_events(ui, outcome, Ui::line);
    tell_rest(ui, outcome);
}

/// The same for a command whose answer this is not.
pub fn narrate(ui: &Ui, outcome: &SyncOutcome) {
    tell_events(ui, outcome, Ui::done);
    tell_rest(ui, outcome);
}

fn tell_events(ui: &Ui, outcome: &SyncOutcome, tell: impl Fn(&Ui, String)) {
    for event in &outcome.events {
        if ui.is_json() {
            ui.json(event);
        } else {
            let kept = match event.kept {
                0 => String::new(),
                1 => ": an entry it took away stays".into(),
                n => format!(": {n} entries it took away stay"),
            };
            let path = printable(&event.path.to_string());
            tell(ui, format!("{} {path} ({}){kept}", event.rule, printable(&event.workspace)));
        }
    }
}

fn tell_rest(ui: &Ui, outcome: &SyncOutcome) {
    outcome.notes.iter().for_each(|note| ui.note(note));
    outcome.details.iter().for_each(|detail| ui.detail(detail));
    outcome.warnings.iter().chain(&outcome.open).for_each(|warning| ui.warn(warning));
    match outcome.conflicts {
        0 => {}
        1 => ui.warn("a conflict was decided by rule; see `overlay-sync conflicts`"),
        n => ui.warn(format!("{n} conflicts were decided by rule; see `overlay-sync conflicts`")),
    }
    if ui.is_json() && !outcome.failures.is_empty() {
        let failure = Failure::failed("not everything could be read or written")
            .details(outcome.failures.clone())
            .hint("mend the cause and run `overlay-sync sync`; whatever else there was is done");
        ui.json(&serde_json::json!({ "error": failure.to_json() }));
    }
}

pub fn exit(outcome: &SyncOutcome) -> Exit {
    if !outcome.failures.is_empty() {
        return Exit::Failed;
    }
    if outcome.conflicts == 0 && outcome.open.is_empty() { Exit::Done } else { Exit::No }
}

/// The same for a command that is about one file.
pub fn exit_for(outcome: &SyncOutcome, path: &RelPath) -> Exit {
    let is_decided = outcome.events.iter().any(|event| event.path == *path && event.rule == SyncRule::LastWrite);
    if is_decided || outcome.open_paths.contains(path) { Exit::No } else { Exit::Done }
}

/// Tells what a sync of these workspaces would do, attached or not.
pub fn preview(ui: &Ui, env: &Env, overlay: &Overlay, workspaces: &[Workspace]) -> Result<Exit> {
    let disk = Disk::open(env, overlay, None)?;
    let (managed, known) = (disk.overlay()?, RunContext::read(&disk)?);
    if managed.is_empty() && workspaces.iter().map(|w| w.files.len()).max().unwrap_or(0) >= 2 {
        return Err(overlay.gone("was emptied"));
    }
    let (mut quiet, mut held) = (true, false);
    for workspace in workspaces {
        if !workspace.is_present()? && workspace.is_known() {
            continue;
        }
        let seen = look(&disk, &overlay.settings, &known, &managed, workspace, Scope::News)?;
        let name = workspace.root.display();
        if is_emptied(workspace, &seen) {
            ui.warn(format!("all files are gone from {name}; it is left alone"));
            (quiet, held) = (false, true);
            continue;
        }
        for file in seen {
            if let Some(Bar::Unreadable(why)) = &file.barred {
                ui.warn(format!("{name}: {}: {why}", file.path));
                (quiet, held) = (false, true);
            }
            for (rule, what, from, to) in foretold(&file) {
                quiet = false;
                held |= rule == SyncRule::Hold;
                let root = workspace.root.to_string_lossy();
                if ui.is_json() {
                    let time = env.now.to_string();
                    ui.json(&serde_json::json!({
                        "time": time, "workspace": root, "path": file.path, "rule": rule, "from": from, "to": to
                    }));
                } else {
                    ui.line(format!("{what} {} ({})", printable(&file.path.to_string()), printable(&root)));
                }
            }
        }
    }
    if quiet {
        ui.note("everything is in step");
    }
    Ok(if held { Exit::No } else { Exit::Done })
}

/// What a pass would do about a file: by which rule, in words, from which text to which.
fn foretold(file: &SeenFile) -> Vec<(SyncRule, String, Option<Digest>, Option<Digest>)> {
    let (here, overlay) = (file.here.as_ref().map(|file| file.sha256), file.overlay.as_ref().map(|file| file.sha256));
    let to = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(Digest::of);
    let mut told = match &file.decision.step {
        Step::Write(write) if write.overlay.is_none() => {
            vec![(write.did, format!("would {}", write.did), here, to(&write.here))]
        }
        Step::Write(write) => vec![(write.did, format!("would {}", write.did), overlay, to(&write.overlay))],
        Step::Ask(_) => vec![(SyncRule::Command, "would ask the merge command about".into(), here, None)],
        Step::Hold(why, _) => vec![(SyncRule::Hold, format!("would hold ({why})"), here, None)],
        Step::Remove => vec![(SyncRule::Pull, "would remove".into(), here, None)],
        _ => Vec::new(),
    };
    if let Some(part) = &file.decision.part {
        told.push((SyncRule::Hold, format!("would hold a part of ({})", part.why), here, None));
    }
    told
}
