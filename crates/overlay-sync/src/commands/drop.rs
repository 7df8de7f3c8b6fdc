//! `drop`: an entry goes, from the overlay and from every workspace.

use std::path::Path;

use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use super::sync::{converge, exit_for, print};
use crate::apply;
use crate::apply::disk::Disk;
use crate::apply::ground::{Ground, Side};
use crate::cli::{OverlayFlags, WorkspaceArgs};
use crate::facts::Overlay;
use crate::merge::{EntryPath, FileType, Grow, entries, strip};

pub fn run(ui: &Ui, env: &Env, place: &OverlayFlags, path: &Path, entry: &str) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, place)?;
    let path = RelPath::parse_os(path.as_os_str())
        .map_err(|why| Failure::usage(format!("{}: {why}", path.display())).hint("name the file as `status` does"))?;
    let kind = FileType::from_path(path.as_path());
    let entry = EntryPath::parse(kind, entry).ok_or_else(|| {
        Failure::usage(format!("`{entry}` is no entry"))
            .hint("write a key path such as permissions.allow.\"Bash(rm:*)\"")
    })?;
    overlay.require()?;
    let lock = if place.dry_run { None } else { Some(overlay.lock()?) };
    let mut disk = Disk::open(env, &overlay, lock)?;
    let mut workspaces = overlay.workspaces(ui, env, &WorkspaceArgs::default())?;
    if !place.dry_run {
        // What workspaces have of their own comes first, so that the entry is there to be dropped.
        let before = converge(env, &overlay, &mut disk, &mut workspaces)?;
        print(ui, &before);
    }
    let Ok(Some(file)) = disk.read(Side::Overlay, &path)? else {
        return Err(
            Failure::not_found(format!("there is no file {path} in the overlay")).hint("see `overlay-sync status`")
        );
    };
    match entry.count(kind, &file.bytes) {
        1 => {}
        0 => {
            return Err(
                Failure::not_found(format!("`{entry}` is not in {path}")).hint("write it as it stands in the file")
            );
        }
        n => {
            return Err(Failure::new(Exit::No, "ambiguous", format!("`{entry}` is in {path} {n} times"))
                .hint("edit the overlay's file"));
        }
    }
    let cannot = || Failure::failed(format!("cannot take `{entry}` out of {path}")).hint("edit the overlay's file");
    let bytes = strip(kind, &file.bytes, std::slice::from_ref(&entry)).ok_or_else(cannot)?;
    if place.dry_run {
        ui.line(format!("would drop {} from {}", printable(&entry.to_string()), printable(&path.to_string())));
        return Ok(Exit::Done);
    }
    // Remembered first: killed in between, it waits for a person rather than coming back.
    let left = entries(kind, Grow::All, &bytes);
    let mut removed = disk.removed()?;
    let gone = entries(kind, Grow::All, &file.bytes).into_iter().filter(|entry| !left.contains(entry));
    removed.entries.entry(path.clone()).or_default().extend(gone);
    removed.entries.retain(|_, entries| !entries.is_empty());
    disk.save_removed(&removed)?;
    apply::edit(&disk, &path, &file, &bytes)?;
    // A person took it away: no gate is needed, however much that is.
    for workspace in &mut workspaces {
        workspace.accepted.entry(path.clone()).or_default().insert(Digest::of(&bytes));
        disk.save(workspace)?;
    }
    let outcome = converge(env, &overlay, &mut disk, &mut workspaces)?;
    apply::forget_accepted(&disk, &path)?;
    print(ui, &outcome);
    if ui.is_json() {
        ui.json(&serde_json::json!({ "path": path, "entry": entry.to_string(), "dropped": true }));
    } else {
        ui.line(format!("dropped {} from {}", printable(&entry.to_string()), printable(&path.to_string())));
    }
    Ok(exit_for(&outcome, &path))
}
