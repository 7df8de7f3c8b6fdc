//! `drop`: an entry is removed from the overlay and from every workspace.

use std::path::PathBuf;

use serde::Serialize;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::apply::disk::Disk;
use crate::apply::edits;
use crate::apply::report::{exit_for, print};
use crate::apply::sync::sync;
use crate::facts::overlay::Overlay;
use crate::flags::OverlayFlags;
use crate::ground::{Ground, ReadFile, Side};
use crate::manifest::Workspace;
use crate::merge::{EntryPath, FileType, Grow, entries, strip};
use crate::refusal::Refusal;

/// Remove an entry of a file everywhere: a key path, a variable, an item of a list, a whole line
///
/// Exits 1 when the entry is missing or occurs more than once. An entry that a workspace brings back
/// later is held.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Example:\n  overlay-sync drop .claude/settings.local.json 'permissions.allow.\"Bash(rm:*)\"'\n  overlay-sync drop .env TOKEN"
)]
pub struct Args {
    /// The file, relative to the overlay
    path: PathBuf,
    /// A key path separated by dots (a part may be quoted as in JSON), a variable, or a line
    entry: String,
}

#[derive(Serialize)]
struct DropAnswer<'a> {
    path: &'a RelPath,
    entry: String,
    dropped: bool,
}

pub fn run(ui: &Ui, env: &Env, flags: &OverlayFlags, args: &Args) -> Result<Exit> {
    let overlay = Overlay::find(ui, env, flags)?;
    let path = RelPath::parse_os(args.path.as_os_str()).map_err(|why| {
        Failure::usage(format!("{}: {why}", args.path.display()))
            .hint("write the path as `overlay-sync status` prints it")
    })?;
    let entry = EntryPath::parse(FileType::from_path(path.as_path()), &args.entry).ok_or_else(|| {
        Failure::usage(format!("`{}` is not an entry", args.entry))
            .hint("write a key path such as permissions.allow.\"Bash(rm:*)\"")
    })?;
    overlay.require()?;
    let lock = if ui.is_dry() { None } else { Some(overlay.lock()?) };
    let mut disk = Disk::open(env, &overlay, lock)?;
    let mut workspaces = overlay.workspaces(&[])?;
    if !ui.is_dry() {
        // Workspaces are synced first, so that the overlay has the entry if any of them does.
        let before = sync(env, &overlay, &mut disk, &mut workspaces)?;
        print(ui, &before);
    }
    let (file, bytes) = without_entry(&disk, &path, &entry)?;
    if ui.is_dry() {
        match ui.is_json() {
            true => ui.json(&DropAnswer { path: &path, entry: entry.to_string(), dropped: false }),
            false => {
                ui.line(format!("would drop {} from {}", printable(&entry.to_string()), printable(&path.to_string())));
            }
        }
        return Ok(Exit::Done);
    }
    drop_entry(&disk, &mut workspaces, &path, &file, &bytes)?;
    let outcome = sync(env, &overlay, &mut disk, &mut workspaces)?;
    edits::forget_accepted(&disk, &path)?;
    print(ui, &outcome);
    if ui.is_json() {
        ui.json(&DropAnswer { path: &path, entry: entry.to_string(), dropped: true });
    } else {
        ui.line(format!("dropped {} from {}", printable(&entry.to_string()), printable(&path.to_string())));
    }
    Ok(exit_for(&outcome, &path))
}

/// The overlay's file, and its text without the entry, which must occur in it once.
fn without_entry(disk: &Disk<'_>, path: &RelPath, entry: &EntryPath) -> Result<(ReadFile, Vec<u8>)> {
    let kind = FileType::from_path(path.as_path());
    let Ok(Some(file)) = disk.read(Side::Overlay, path)? else {
        let missing = Failure::not_found(format!("there is no file {path} in the overlay"));
        return Err(missing.hint("see `overlay-sync status`"));
    };
    match entry.count(kind, &file.bytes) {
        1 => {}
        0 => {
            let missing = Failure::not_found(format!("`{entry}` is not in {path}"));
            return Err(missing.hint("write the entry as it is in the file"));
        }
        n => {
            let several = Refusal::Ambiguous.failure(format!("`{entry}` is in {path} {n} times"));
            return Err(several.hint("edit the overlay's file by hand"));
        }
    }
    let cannot =
        || Failure::failed(format!("cannot take `{entry}` out of {path}")).hint("edit the overlay's file by hand");
    let bytes = strip(kind, &file.bytes, std::slice::from_ref(entry)).ok_or_else(cannot)?;
    Ok((file, bytes))
}

/// Replaces the overlay's text by `bytes`, and remembers which entries that removes.
fn drop_entry(
    disk: &Disk<'_>,
    workspaces: &mut [Workspace],
    path: &RelPath,
    file: &ReadFile,
    bytes: &[u8],
) -> Result<()> {
    let kind = FileType::from_path(path.as_path());
    // Remembered first: after a kill the entry waits for a person instead of coming back.
    let left = entries(kind, Grow::All, bytes);
    let mut removed = disk.removed()?;
    let gone = entries(kind, Grow::All, &file.bytes).into_iter().filter(|entry| !left.contains(entry));
    removed.entries.entry(path.clone()).or_default().extend(gone);
    removed.entries.retain(|_, entries| !entries.is_empty());
    disk.save_removed(&removed)?;
    edits::edit(disk, path, file, bytes)?;
    edits::accept_in_all(disk, workspaces, path, bytes)
}
