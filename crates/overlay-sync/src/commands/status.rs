//! `status` and `manifest`: how things stand. Hashes and reasons, never contents.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::disk::Disk;
use crate::apply::ground::{Bar, Ground, ReadFile};
use crate::cli::{OverlayFlags, WorkspaceArgs};
use crate::facts::Overlay;
use crate::look::{RunContext, Scope, SeenFile, look};
use crate::manifest::Workspace;
use crate::plan::Step;
use crate::store::SyncRule;

pub fn status(ui: &Ui, env: &Env, place: &OverlayFlags, named: &WorkspaceArgs) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    if overlay.is_unmade() {
        ui.note("there is no overlay yet; `overlay-sync add FILE` makes one");
        return Ok(Exit::Done);
    }
    overlay.require()?;
    let disk = Disk::open(env, &overlay, None)?;
    let (known, managed) = (RunContext::read(&disk)?, disk.overlay()?);
    let polled = overlay.polled()?;
    let workspaces = overlay.workspaces(ui, env, named)?;
    if workspaces.is_empty() {
        ui.note("nothing is attached; `overlay-sync attach` does that");
    }
    if managed.is_empty() && workspaces.iter().any(|workspace| !workspace.files.is_empty()) {
        return Err(overlay.gone("was emptied"));
    }
    for workspace in workspaces.into_iter().filter(|workspace| !workspace.is_gone()) {
        let name = workspace.root.to_string_lossy().into_owned();
        if !workspace.is_present()? {
            for (path, base) in &workspace.files {
                let hashes = [Some(base.sha256), None, None];
                line(ui, &name, &path.to_string(), "unreachable", hashes, None, "the workspace is not there");
            }
            continue;
        }
        for file in look(&disk, &overlay.settings, &known, &managed, &workspace, Scope::All)? {
            let (mut state, mut why) = state(&workspace, &file);
            let dir = workspace.root.join(file.path.as_path());
            if state == "clean" && dir.parent().is_some_and(|dir| polled.iter().any(|polled| polled == dir)) {
                (state, why) = ("degraded", "changes are found by looking, not told by the system".into());
            }
            let digest = |side: &Option<ReadFile>| side.as_ref().map(|file| file.sha256);
            let hashes = [file.base, digest(&file.overlay), digest(&file.here)];
            let size = file.here.as_ref().map(|here| here.bytes.len());
            line(ui, &name, &file.path.to_string(), state, hashes, size, &why);
        }
    }
    Ok(Exit::Done)
}

fn state(workspace: &Workspace, file: &SeenFile) -> (&'static str, String) {
    match (&file.barred, &file.decision.step) {
        (Some(Bar::NotIgnored), _) => ("not_ignored", "git would show it as untracked".into()),
        (Some(Bar::Tracked), _) => ("tracked", "git tracks it".into()),
        (Some(Bar::Alias), _) => ("clean", "a link to the overlay's own file".into()),
        (Some(Bar::Strange(why) | Bar::Unreadable(why)), _) => ("unreachable", why.clone()),
        (None, Step::Hold(why, _)) => ("held", why.clone()),
        (None, _) if file.decision.part.is_some() => {
            ("held", file.decision.part.as_ref().map(|part| part.why.clone()).unwrap_or_default())
        }
        (None, Step::Delete) => ("missing", "deleted here".into()),
        (None, Step::Nothing) if workspace.deleted.contains_key(&file.path) => ("missing", "deleted here".into()),
        (None, Step::Nothing) if file.here != file.overlay && file.policy.is_down && file.here.is_some() => {
            ("changed", "changed here, and stays here".into())
        }
        (None, Step::Write(write)) if write.did == SyncRule::Pull => ("pulled", "the overlay has another text".into()),
        (None, Step::Remove) => ("pulled", "deleted in the overlay".into()),
        (None, Step::Write(_) | Step::Ask(_) | Step::Dispute(_)) => ("changed", "changed here".into()),
        (None, Step::Nothing | Step::Retire) if file.overlay.is_none() && file.here.is_some() => {
            ("clean", "not in the overlay any more, kept here".into())
        }
        (None, Step::Nothing | Step::Adopt(_) | Step::Retire | Step::Forget) => ("clean", String::new()),
    }
}

fn line(
    ui: &Ui,
    workspace: &str,
    path: &str,
    state: &str,
    [base, overlay, here]: [Option<Digest>; 3],
    size: Option<usize>,
    why: &str,
) {
    if ui.is_json() {
        ui.json(&json!({
            "workspace": workspace, "path": path, "state": state,
            "base": base, "overlay": overlay, "here": here, "size": size, "why": why
        }));
    } else {
        let why = if why.is_empty() { String::new() } else { format!(": {}", printable(why)) };
        ui.line(format!("{state} {} ({}){why}", printable(path), printable(workspace)));
    }
}

pub fn manifest(ui: &Ui, env: &Env, place: &OverlayFlags, workspace: Option<PathBuf>) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    let path = match workspace {
        Some(path) => path,
        None => overlay.repo.require_worktree()?.to_path_buf(),
    };
    let found = overlay.workspaces(ui, env, &WorkspaceArgs { paths: vec![path], nul: false })?;
    let workspace = found.first().ok_or_else(|| Failure::not_found("it is not attached"))?;
    let files: BTreeMap<String, Digest> = workspace.files.iter().map(|(p, b)| (p.to_string(), b.sha256)).collect();
    if ui.is_json() {
        ui.json(&json!({ "workspace": workspace.root.to_string_lossy(), "files": files }));
    } else {
        // As sha256sum writes it, and takes it with --check.
        files.iter().for_each(|(path, digest)| ui.line(format!("{digest}  {}", printable(path))));
    }
    Ok(Exit::Done)
}
