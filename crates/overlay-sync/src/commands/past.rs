//! `conflicts`, `show`, `restore`, `accept`, `reject`: what was decided, what waits, and every displaced text.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::Root;
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::sync::{converge, exit_for, print};
use crate::TOOL;
use crate::apply;
use crate::apply::disk::Disk;
use crate::apply::ground::Ground;
use crate::cli::OverlayFlags;
use crate::facts::Overlay;
use crate::look::{RunContext, Scope, look};
use crate::manifest::{HeldText, Workspace};
use crate::merge::{FileType, donate, strip};
use crate::store::ConflictRecord;

pub fn conflicts(ui: &Ui, env: &Env, place: &OverlayFlags) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    if !overlay.is_unmade() {
        overlay.require()?;
    }
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
pub fn held_conflict(workspace: &Workspace, path: &RelPath, held: &HeldText) -> ConflictRecord {
    let base = workspace.files.get(path).map(|base| base.sha256);
    ConflictRecord {
        v: 1,
        id: held.id(path),
        time: held.since.clone(),
        path: path.clone(),
        workspace: workspace.root.to_string_lossy().into_owned(),
        base,
        overlay: held.overlay.or(base).unwrap_or(held.text),
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
pub fn settle(ui: &Ui, env: &Env, place: &OverlayFlags, id: &str, accept: bool) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    overlay.require()?;
    if place.dry_run {
        let (_, path, held) = find_held(&Workspace::load_all(&overlay.store.workspaces())?, id)?;
        let what = if accept { "accept" } else { "reject" };
        ui.line(format!("would {what} {}: {}", printable(&path.to_string()), printable(&held.why)));
        return Ok(Exit::Done);
    }
    let mut disk = Disk::open(env, &overlay, Some(overlay.lock()?))?;
    let mut workspaces = Workspace::load_all(&overlay.store.workspaces())?;
    let (_, path, held) = find_held(&workspaces, id)?;
    // What is held may be another text by now: nobody has spoken of that one.
    print(ui, &converge(env, &overlay, &mut disk, &mut workspaces)?);
    let (root, path, held) = find_held(&workspaces, &held.id(&path)).map_err(|_| {
        Failure::new(Exit::No, "changed", format!("{path} is not what was held any more"))
            .hint("look at `overlay-sync conflicts`")
    })?;
    if accept {
        // A person's word is for the text, wherever it comes to.
        for workspace in &mut workspaces {
            workspace.accepted.entry(path.clone()).or_default().insert(held.text);
            disk.save(workspace)?;
        }
    } else {
        take_back(&overlay, &disk, &mut workspaces, &root, &path, &held)?;
    }
    let outcome = converge(env, &overlay, &mut disk, &mut workspaces)?;
    apply::forget_accepted(&disk, &path)?;
    print(ui, &outcome);
    if ui.is_json() {
        ui.json(&serde_json::json!({ "id": held.id(&path), "path": path, "accepted": accept }));
    } else {
        ui.line(format!("{} {}", if accept { "accepted" } else { "rejected" }, printable(&path.to_string())));
    }
    Ok(exit_for(&outcome, &path))
}

/// What is held under the beginning of an id, and in which workspace.
fn find_held(workspaces: &[Workspace], id: &str) -> Result<(Digest, RelPath, HeldText)> {
    let all = workspaces.iter().flat_map(|w| w.held.iter().map(|(path, held)| (w.id, path.clone(), held.clone())));
    let named: Vec<_> = all.filter(|(_, path, held)| !id.is_empty() && held.id(path).starts_with(id)).collect();
    match named.as_slice() {
        [] => Err(Failure::not_found(format!("nothing is held under `{id}`")).hint("see `overlay-sync conflicts`")),
        [first, others @ ..] if others.iter().all(|other| (&other.1, other.2.text) == (&first.1, first.2.text)) => {
            Ok(first.clone())
        }
        _ => Err(several(id)),
    }
}

fn several(id: &str) -> Failure {
    Failure::usage(format!("`{id}` is the beginning of several")).hint("write more of it")
}

/// Gives a workspace the overlay's text in place of the one that is held, but for what is its own.
fn take_back(
    overlay: &Overlay,
    disk: &Disk<'_>,
    workspaces: &mut [Workspace],
    id: &Digest,
    path: &RelPath,
    held: &HeldText,
) -> Result<()> {
    let changed = || {
        Failure::new(Exit::No, "changed", format!("{path} is not what was held any more"))
            .hint("run `overlay-sync sync`, then look at `overlay-sync conflicts`")
    };
    let workspace = workspaces.iter_mut().find(|w| w.id == *id).ok_or_else(changed)?;
    let only = BTreeSet::from([path.clone()]);
    let (known, managed) = (RunContext::read(disk)?, disk.overlay()?);
    let seen = look(disk, &overlay.settings, &known, &managed, workspace, Scope::Only(&only))?;
    let file = seen.iter().find(|seen| seen.barred.is_none()).ok_or_else(changed)?;
    let Some(here) = &file.here else { return Err(changed()) };
    let Some(theirs) = &file.overlay else {
        // There is nothing to give back: it is a file that is not to enter.
        let mut removed = disk.removed()?;
        removed.files.insert(path.clone());
        disk.save_removed(&removed)?;
        workspace.held.remove(path);
        return disk.save(workspace);
    };
    if Some(held.text) == held.overlay && held.here != held.overlay {
        return Err(Failure::new(Exit::No, "overlay_held", format!("it is the overlay's text of {path} that is held"))
            .hint(format!("mend {}, or `overlay-sync accept` it", overlay.dir.join(path.as_path()).display())));
    }
    // Of a part the rest has travelled: only what waits is taken back.
    let waits = file.decision.part.as_ref().map(|part| part.digest);
    let is_held = Some(here.sha256) == held.here && (!held.part || waits == Some(held.text));
    if !is_held {
        return Err(changed());
    }
    let (kind, local) = (FileType::from_path(path.as_path()), &file.policy.local);
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

pub fn show(ui: &Ui, env: &Env, place: &OverlayFlags, id: &str) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    ui.answer(&content(&overlay, id)?);
    Ok(Exit::Done)
}

/// Writes a displaced text to a new file, or puts it back where it was: then it is an edit of this
/// workspace, and what stands there is kept.
pub fn restore(ui: &Ui, env: &Env, place: &OverlayFlags, id: &str, to: Option<&Path>) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    let bytes = content(&overlay, id)?;
    if place.dry_run {
        let where_to = to.map_or("where it was".into(), |to| printable(&to.to_string_lossy()));
        ui.line(format!("would restore {} bytes to {where_to}", bytes.len()));
        return Ok(Exit::Done);
    }
    let path = match to {
        Some(to) => restore_to(&overlay, &env.cwd.join(to), &bytes)?,
        None => put_back(env, &overlay, id, &bytes)?,
    };
    if ui.is_json() {
        ui.json(&serde_json::json!({ "path": path.to_string_lossy(), "sha256": Digest::of(&bytes) }));
    } else {
        ui.line(format!("restored {}", printable(&path.to_string_lossy())));
    }
    Ok(Exit::Done)
}

fn restore_to(overlay: &Overlay, path: &Path, bytes: &[u8]) -> Result<PathBuf> {
    let refuse = || Failure::usage(format!("cannot restore to {}", path.display()));
    let root = Root::open(path.parent().ok_or_else(refuse)?)?;
    let name =
        RelPath::parse_os(path.file_name().ok_or_else(refuse)?).map_err(|e| refuse().details([e.to_string()]))?;
    let staging = overlay.repo.worktree_state(TOOL).join("tmp-restore");
    if !apply::restore(&staging, &root, &name, bytes)? {
        return Err(Failure::new(Exit::No, "exists", format!("{} exists already", path.display()))
            .hint("name a file that is not there with `--to`"));
    }
    Ok(path.to_path_buf())
}

/// Puts a text back into the workspace we stand in, under the path that it is known to have had.
fn put_back(env: &Env, overlay: &Overlay, id: &str, bytes: &[u8]) -> Result<PathBuf> {
    let disk = Disk::open(env, overlay, Some(overlay.lock()?))?;
    let top = overlay.repo.require_worktree()?;
    let attached = Workspace::load_all(&overlay.store.workspaces())?.into_iter().find(|w| w.root == *top);
    let unknown = |what: &str| Failure::not_found(what.to_owned()).hint("name a file with `--to`");
    let workspace = attached.ok_or_else(|| unknown("this workspace is not attached"))?;
    let digest = Digest::of(bytes);
    let spoken = overlay.store.conflicts()?.into_iter().filter(|c| c.id.starts_with(id) || c.speaks_of(&digest));
    let mut paths: BTreeSet<RelPath> = spoken.map(|conflict| conflict.path).collect();
    let events = overlay.store.events(0)?.0.into_iter();
    paths.extend(
        events.flatten().filter(|event| [event.from, event.to].contains(&Some(digest))).map(|event| event.path),
    );
    let [path] = paths.iter().collect::<Vec<_>>()[..] else {
        return Err(unknown("it is not known, or not clear, which file it was"));
    };
    disk.sweep(&workspace)?;
    let only = BTreeSet::from([path.clone()]);
    if disk.barred(&workspace, &only)?.contains_key(path) {
        return Err(Failure::new(Exit::No, "not_ignored", format!("git does not ignore {path} here"))
            .hint("name a file with `--to`"));
    }
    if !apply::put_back(&disk, &workspace, path, bytes)? {
        return Err(Failure::new(Exit::No, "changed", format!("{path} is no file, or changed just now"))
            .hint("name a file with `--to`"));
    }
    Ok(workspace.root.join(path.as_path()))
}

/// A kept content by the beginning of its hash, or of a conflict's id: then the side that lost.
fn content(overlay: &Overlay, id: &str) -> Result<Vec<u8>> {
    let unknown = || {
        Failure::not_found(format!("nothing is kept under `{id}`"))
            .hint("see `overlay-sync conflicts` and `overlay-sync log --json`")
    };
    let workspaces = Workspace::load_all(&overlay.store.workspaces())?;
    if let Ok((_, _, held)) = find_held(&workspaces, id) {
        return overlay.store.content(&held.here.filter(|_| held.part).unwrap_or(held.text))?.ok_or_else(unknown);
    }
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
            _ => return Err(several(id)),
        },
        _ => return Err(several(id)),
    };
    overlay.store.content(&digest)?.ok_or_else(unknown)
}
