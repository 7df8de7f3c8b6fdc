//! `conflicts`, `show`, `restore`, `log`: what was decided, and every displaced text.

use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::Root;
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::sync::converge;
use crate::apply::{self, Sides};
use crate::cli::Place;
use crate::facts::{self, Overlay};
use crate::manifest::{Held, Workspace};
use crate::store::Conflict;

pub fn conflicts(ui: &Ui, env: &Env, place: &Place) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    let mut all = overlay.store.conflicts()?;
    for workspace in Workspace::load_all(&overlay.store.workspaces())? {
        all.extend(workspace.held.iter().map(|(path, held)| held_conflict(&workspace, path, held)));
    }
    for conflict in all {
        if ui.is_json() {
            ui.json(&conflict);
        } else {
            let places = conflict.places.join(", ");
            ui.line(format!(
                "{} {} {} {} ({}): {}",
                conflict.state,
                conflict.id,
                conflict.time,
                printable(&conflict.path.to_string()),
                printable(&conflict.workspace),
                printable(&places)
            ));
        }
    }
    Ok(Exit::Done)
}

/// What is held, told as the conflicts are: nothing was decided, so the result is the base.
fn held_conflict(workspace: &Workspace, path: &RelPath, held: &Held) -> Conflict {
    let base = workspace.files.get(path).map(|base| base.sha256);
    Conflict {
        v: 1,
        id: held.id(),
        time: held.since.clone(),
        path: path.clone(),
        workspace: workspace.root.to_string_lossy().into_owned(),
        base,
        overlay: base.unwrap_or(held.text),
        here: held.text,
        result: base.unwrap_or(held.text),
        rule: "hold".into(),
        winner: "overlay".into(),
        state: "held".into(),
        places: vec![held.why.clone()],
    }
}

/// `accept`: what is held under this id spreads as it is. `reject`: the workspace gets the overlay's text,
/// its own stays in the store.
pub fn settle(ui: &Ui, env: &Env, place: &Place, id: &str, accept: bool) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    let _lock = Lock::take(&overlay.store.lock_path())?;
    let mut workspaces = Workspace::load_all(&overlay.store.workspaces())?;
    let held = |workspace: &Workspace| {
        let found = workspace.held.iter().find(|(_, held)| !id.is_empty() && held.id().starts_with(id));
        found.map(|(path, held)| (path.clone(), held.clone()))
    };
    let found = workspaces.iter().enumerate().filter_map(|(i, w)| held(w).map(|(path, held)| (i, path, held))).next();
    let Some((index, path, held)) = found else {
        return Err(Failure::not_found(format!("nothing is held under `{id}`")).hint("see `overlay-sync conflicts`"));
    };
    if accept {
        // A person's word is for the text, wherever it comes to.
        for workspace in &mut workspaces {
            workspace.accepted.insert(path.clone(), held.text);
            workspace.save(&overlay.store.workspaces())?;
        }
    } else {
        let workspace = &mut workspaces[index];
        let root = Root::open(&overlay.dir)?;
        let seen = facts::look(&overlay, &root, workspace)?;
        let here = |s: &facts::Seen| s.here.as_ref().map(|(bytes, _)| Digest::of(bytes));
        if !seen.iter().any(|s| s.path == path && s.barred.is_none() && here(s) == Some(held.text)) {
            return Err(Failure::new(Exit::No, "changed", format!("{path} is not what was held any more"))
                .hint("run `overlay-sync sync`, then look at `overlay-sync conflicts`"));
        }
        let sides = Sides::open(&overlay, &root, workspace)?;
        if !apply::reject(&overlay, &sides, workspace, &path)? {
            return Err(Failure::new(Exit::No, "changed", format!("{path} changed since it was held"))
                .hint("run `overlay-sync sync`"));
        }
        workspace.save(&overlay.store.workspaces())?;
    }
    let outcome = converge(ui, env, &overlay, &mut workspaces)?;
    outcome.print(ui);
    if !ui.is_json() {
        ui.line(format!("{} {}", if accept { "accepted" } else { "rejected" }, printable(&path.to_string())));
    }
    Ok(outcome.exit())
}

pub fn show(ui: &Ui, env: &Env, place: &Place, id: &str) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    ui.answer(&content(&overlay, id)?);
    Ok(Exit::Done)
}

pub fn restore(ui: &Ui, env: &Env, place: &Place, id: &str, to: &Path) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    let bytes = content(&overlay, id)?;
    let path = env.cwd.join(to);
    let refuse = || Failure::usage(format!("cannot restore to {}", path.display()));
    let root = Root::open(path.parent().ok_or_else(refuse)?)?;
    let name =
        RelPath::parse_os(path.file_name().ok_or_else(refuse)?).map_err(|e| refuse().details([e.to_string()]))?;
    if !apply::restore(&overlay, &root, &name, &bytes)? {
        return Err(Failure::new(Exit::No, "exists", format!("{} exists already", path.display()))
            .hint("name a file that is not there with `--to`"));
    }
    if ui.is_json() {
        ui.json(&serde_json::json!({ "path": path.to_string_lossy(), "sha256": Digest::of(&bytes) }));
    } else {
        ui.line(format!("restored {}", printable(&path.to_string_lossy())));
    }
    Ok(Exit::Done)
}

/// A kept content by the beginning of its hash, or of a conflict's id: then the side that lost.
fn content(overlay: &Overlay, id: &str) -> Result<Vec<u8>> {
    let unknown = || {
        Failure::not_found(format!("nothing is kept under `{id}`"))
            .hint("see `overlay-sync conflicts` and `overlay-sync log --json`")
    };
    let conflicts = overlay.store.conflicts()?;
    let named: Vec<_> = conflicts.iter().filter(|c| !id.is_empty() && c.id.starts_with(id)).collect();
    let digest = match named.as_slice() {
        [conflict] => {
            if conflict.winner == "workspace" {
                conflict.overlay
            } else {
                conflict.here
            }
        }
        [] => match overlay
            .store
            .objects()?
            .iter()
            .filter(|d| !id.is_empty() && d.to_string().starts_with(id))
            .collect::<Vec<_>>()
            .as_slice()
        {
            [digest] => **digest,
            [] => return Err(unknown()),
            _ => return Err(Failure::usage(format!("`{id}` is the beginning of several")).hint("write more of it")),
        },
        _ => return Err(Failure::usage(format!("`{id}` is the beginning of several")).hint("write more of it")),
    };
    overlay.store.content(&digest)?.ok_or_else(unknown)
}

pub fn log(ui: &Ui, env: &Env, place: &Place) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    for event in overlay.store.events()? {
        if ui.is_json() {
            ui.json(&event);
        } else {
            ui.line(format!(
                "{} {} {} ({})",
                event.time,
                event.rule,
                printable(&event.path.to_string()),
                printable(&event.workspace)
            ));
        }
    }
    Ok(Exit::Done)
}
