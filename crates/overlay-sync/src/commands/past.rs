//! `conflicts`, `show`, `restore`, `accept`, `reject`: what was decided, what waits, and every displaced text.

use std::collections::BTreeSet;
use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::Root;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::sync::{converge, exit, print};
use crate::TOOL;
use crate::apply;
use crate::apply::disk::Disk;
use crate::apply::ground::Ground;
use crate::cli::Place;
use crate::facts::Overlay;
use crate::look::{Known, Scope, look};
use crate::manifest::{Held, Workspace};
use crate::merge::{Kind, donate, strip};
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
        here: held.here.unwrap_or(held.text),
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
    let mut disk = Disk::open(env, &overlay, Some(overlay.lock()?))?;
    let mut workspaces = Workspace::load_all(&overlay.store.workspaces())?;
    let (root, path, held) = find_held(&workspaces, id)?;
    if accept {
        // A person's word is for the text, wherever it comes to.
        for workspace in &mut workspaces {
            workspace.accepted.insert(path.clone(), held.text);
            disk.save(workspace)?;
        }
    } else {
        take_back(&overlay, &disk, &mut workspaces, &root, &path, &held)?;
    }
    let outcome = converge(env, &overlay, &mut disk, &mut workspaces)?;
    print(ui, &outcome);
    if ui.is_json() {
        ui.json(&serde_json::json!({ "id": held.id(), "path": path, "accepted": accept }));
    } else {
        ui.line(format!("{} {}", if accept { "accepted" } else { "rejected" }, printable(&path.to_string())));
    }
    Ok(exit(&outcome))
}

/// What is held under the beginning of an id, and in which workspace.
fn find_held(workspaces: &[Workspace], id: &str) -> Result<(Digest, RelPath, Held)> {
    let all = workspaces.iter().flat_map(|w| w.held.iter().map(|(path, held)| (w.id, path.clone(), held.clone())));
    let named: Vec<_> = all.filter(|(_, _, held)| !id.is_empty() && held.id().starts_with(id)).collect();
    match named.as_slice() {
        [] => Err(Failure::not_found(format!("nothing is held under `{id}`")).hint("see `overlay-sync conflicts`")),
        [first, others @ ..] if others.iter().all(|other| other.2.text == first.2.text) => Ok(first.clone()),
        _ => Err(Failure::usage(format!("`{id}` is the beginning of several")).hint("write more of it")),
    }
}

/// Gives a workspace the overlay's text in place of the one that is held, but for what is its own.
fn take_back(
    overlay: &Overlay,
    disk: &Disk<'_>,
    workspaces: &mut [Workspace],
    id: &Digest,
    path: &RelPath,
    held: &Held,
) -> Result<()> {
    let changed = || {
        Failure::new(Exit::No, "changed", format!("{path} is not what was held any more"))
            .hint("run `overlay-sync sync`, then look at `overlay-sync conflicts`")
    };
    let workspace = workspaces.iter_mut().find(|w| w.id == *id).ok_or_else(changed)?;
    let only = BTreeSet::from([path.clone()]);
    let (known, managed) = (Known::read(disk)?, disk.overlay()?);
    let seen = look(disk, &overlay.settings, &known, &managed, workspace, Scope::Only(&only))?;
    let file = seen.iter().find(|seen| seen.barred.is_none()).ok_or_else(changed)?;
    let (Some(here), Some(theirs)) = (&file.here, &file.overlay) else { return Err(changed()) };
    let is_held = match held.part {
        // The rest of it has travelled: only what waits is taken back.
        true => {
            Some(here.sha256) == held.here && file.decision.part.as_ref().map(|part| part.digest) == Some(held.text)
        }
        false => here.sha256 == held.text,
    };
    if !is_held {
        return Err(changed());
    }
    let (kind, local) = (Kind::of(path.as_path()), &file.policy.local);
    let text = match local.is_empty() {
        true => Some(theirs.bytes.to_vec()),
        false => strip(kind, &theirs.bytes, local).and_then(|shared| match strip(kind, &here.bytes, local) {
            Some(_) => donate(kind, &shared, local, &here.bytes),
            None => Some(shared),
        }),
    };
    if !apply::reject(disk, workspace, file, &text.ok_or_else(changed)?)? {
        return Err(changed());
    }
    disk.save(workspace)
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
    let staging = overlay.repo.worktree_state(TOOL).join("tmp-restore");
    if !apply::restore(&staging, &root, &name, &bytes)? {
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
