//! `status` and `manifest`: how things stand. Hashes and reasons, never contents.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::cli::{Place, Workspaces};
use crate::facts::{self, Bar, Overlay, Seen};
use crate::manifest::Workspace;
use crate::plan::Step;
use crate::store::Did;

pub fn status(ui: &Ui, env: &Env, place: &Place, named: &Workspaces) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    let root = overlay.root()?;
    for workspace in overlay.workspaces(ui, env, named)? {
        let name = workspace.root.to_string_lossy().into_owned();
        let (Some(root), true) = (&root, workspace.is_present()?) else {
            let why = if root.is_some() { "the workspace is not there" } else { "the overlay is not there" };
            for (path, base) in &workspace.files {
                line(ui, &name, &path.to_string(), "unreachable", [Some(base.sha256), None, None], why);
            }
            continue;
        };
        for file in facts::look(&overlay, root, &workspace)? {
            let (state, why) = state(&workspace, &file);
            let digest = |side: &Option<(Vec<u8>, u32)>| side.as_ref().map(|(bytes, _)| Digest::of(bytes));
            let hashes = [file.base, digest(&file.overlay), digest(&file.here)];
            line(ui, &name, &file.path.to_string(), state, hashes, &why);
        }
    }
    Ok(Exit::Done)
}

fn state(workspace: &Workspace, file: &Seen) -> (&'static str, String) {
    match (&file.barred, &file.step) {
        (Some(Bar::NotIgnored), _) => ("not_ignored", "git would show it as untracked".into()),
        (Some(Bar::Tracked), _) => ("tracked", "git tracks it".into()),
        (Some(Bar::Strange(why)), _) => ("unreachable", why.clone()),
        (None, Step::Hold(why, _)) => ("held", why.clone()),
        (None, Step::Delete) => ("missing", "deleted here".into()),
        (None, Step::Nothing) if workspace.deleted.contains_key(&file.path) => ("missing", "deleted here".into()),
        (None, Step::Write(write)) if write.did == Did::Pull => ("pulled", "the overlay has another text".into()),
        (None, Step::Write(_)) => ("changed", "changed here".into()),
        (None, Step::Nothing | Step::Adopt | Step::Retire) => ("clean", String::new()),
    }
}

fn line(ui: &Ui, workspace: &str, path: &str, state: &str, [base, overlay, here]: [Option<Digest>; 3], why: &str) {
    if ui.is_json() {
        ui.json(&json!({
            "workspace": workspace, "path": path, "state": state,
            "base": base, "overlay": overlay, "here": here, "why": why
        }));
    } else {
        let why = if why.is_empty() { String::new() } else { format!(": {}", printable(why)) };
        ui.line(format!("{state} {} ({}){why}", printable(path), printable(workspace)));
    }
}

pub fn manifest(ui: &Ui, env: &Env, place: &Place, workspace: Option<PathBuf>) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    let path = match workspace {
        Some(path) => path,
        None => overlay.repo.require_worktree()?.to_path_buf(),
    };
    let found = overlay.workspaces(ui, env, &Workspaces { paths: vec![path], nul: false })?;
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
